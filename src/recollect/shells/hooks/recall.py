"""`recollect hook recall`: inject the memories that a prompt needs, before each prompt.

If a process holds the model, the hook only prints that process's answer (`answer_call.py`). This
module is the rest: the way of a prompt from its event to the reply, and the hook's own search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.core.agents.injection import RECALL_SENTENCE, block
from recollect.core.errors import RecollectError
from recollect.core.recall.request import Hit
from recollect.settings import Settings, load
from recollect.shells.hooks.events import Event, render
from recollect.shells.hooks.session_answer import SessionAnswer
from recollect.shells.hooks.watchdog import Watchdog
from recollect.usecases.agents.inject import Injection, choose, request_for
from recollect.wire.hook_call import HookReply
from recollect.wiring.fast_recall import FastRecall
from recollect.wiring.hooks import note_recalls, open_hook_files
from recollect.wiring.project import current_project


class Prompt:
    """A prompt, from its event to the reply. `request` is None if there is nothing to recall."""

    def __init__(
        self, event: Event, environ: Mapping[str, str], settings: Settings, *, as_text: bool
    ) -> None:
        self.settings = settings
        self._event = event
        self._as_text = as_text
        self._file = open_hook_files(environ).session(event.session_key)
        self._injection = Injection()
        self.request = request_for(
            event.prompt, current_project(event.folder, environ), self._file.state().injected
        )

    def reply(self, hits: Sequence[Hit], note: str) -> HookReply:
        """Return what to print and to log. `note` says where the hits come from."""
        if self.request is not None:
            self._injection = choose(self.request.query, hits, self.settings.measure)
        injection = self._injection
        text = render(
            self._event.name or "UserPromptSubmit",
            block(RECALL_SENTENCE, injection.memories),
            as_text=self._as_text,
        )
        counts = (
            f"injected={len(injection.memories)} found={injection.found} below={injection.below}"
            f" sensitive={injection.sensitive} unfit={injection.unfit}"
        )
        return HookReply(text, counts, note)

    def note_shown(self) -> None:
        """Record that the reply was printed: its texts are not injected into this session again."""
        shown = tuple(memory.id for memory in self._injection.memories)
        if shown:
            self._file.note_injected((*shown, *self._injection.duplicates))
            note_recalls(self.settings, shown)


def recall(
    event: Event,
    environ: Mapping[str, str],
    watchdog: Watchdog,
    resident: SessionAnswer,
    *,
    as_text: bool,
) -> str:
    """Print the reply, record its memories, and return the outcome for the log."""
    settings = load(environ)
    prompt = Prompt(event, environ, settings, as_text=as_text)
    find = FastRecall(settings, watchdog.until)
    reply: HookReply | RecollectError
    try:
        hits = [] if prompt.request is None else find(prompt.request)
        # Rendered before the wait below, which leaves little more time than printing takes.
        reply = prompt.reply(hits, find.note)
    except RecollectError as error:
        reply = error
    if find.by_words:
        notes = [find.note] if find.note else []
        resident.wait_late(notes)
        if isinstance(reply, HookReply):
            reply.note = ", ".join([*notes, resident.note])
    if isinstance(reply, RecollectError):
        raise reply
    watchdog.answer(reply.text, reply.outcome)
    prompt.note_shown()
    return reply.outcome
