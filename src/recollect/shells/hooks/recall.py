"""`recollect hook recall`: before each prompt, the memories that it needs."""

from __future__ import annotations

from collections.abc import Mapping

from recollect.core.agents.injection import RECALL_SENTENCE, block
from recollect.shells.hooks.events import Event, rendered
from recollect.shells.hooks.wall import Wall
from recollect.usecases.agents.inject import inject
from recollect.wiring.fast_recall import FastRecall, read_settings
from recollect.wiring.hooks import note_recalls, open_hook_files
from recollect.wiring.project import current_project


def recall(event: Event, environ: Mapping[str, str], wall: Wall, *, as_text: bool) -> str:
    """Print the answer, remember what was in it, and say for the log what came of it."""
    settings = read_settings(environ)
    session = open_hook_files(settings.home).session(event.session_key)
    find = FastRecall(settings, wall.until)
    injection = inject(
        find,
        event.prompt,
        current_project(event.folder, environ),
        session.state().injected,
        settings.measure,
    )
    answer = rendered(
        event.name or "UserPromptSubmit",
        block(RECALL_SENTENCE, injection.memories),
        as_text=as_text,
    )
    outcome = (
        f"injected={len(injection.memories)} found={injection.found} below={injection.below}"
        f" sensitive={injection.sensitive} unfit={injection.unfit}"
        + (f" ({find.note})" if find.note else "")
    )
    if wall.answer(answer, outcome) and injection.memories:
        shown = tuple(memory.id for memory in injection.memories)
        session.note_injected(shown)
        note_recalls(settings, shown)
    return outcome
