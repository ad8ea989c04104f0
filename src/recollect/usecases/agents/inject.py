"""Choose the memories for a prompt: the relevant ones of its project, then global ones.

Recall itself is left to the caller: a hook is a new process for every prompt and has no time to
import an event loop (ADR 0020), while a session already has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple
from uuid import UUID

from recollect.core.agents.injection import fitting, remove_injections
from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.relevance import Measure, choose_relevant
from recollect.core.recall.request import Hit, RecallRequest
from recollect.core.text.analysis import clean_query

# More than the budget holds: some are below the floor, and some are too long.
LIMIT: Final = 30
_MAX_PROMPT: Final = 200_000


class Injection(NamedTuple):
    """The injected memories, and counts of the rest: `found` by recall, `sensitive`, `below` the
    floor, and `unfit` for the budget. `duplicates` say the same as what is injected.
    """

    memories: tuple[Memory, ...] = ()
    duplicates: tuple[UUID, ...] = ()
    found: int = 0
    sensitive: int = 0
    below: int = 0
    unfit: int = 0


def request_for(
    prompt: str, project: str | None, exclude: frozenset[UUID] = frozenset()
) -> RecallRequest | None:
    """Return what to recall for a prompt, or None if it asks nothing."""
    if len(prompt) > _MAX_PROMPT:  # the question is at its beginning or its end
        prompt = f"{prompt[: _MAX_PROMPT // 2]}\n{prompt[-_MAX_PROMPT // 2 :]}"
    asked = clean_query(remove_injections(prompt))
    if not asked or asked.startswith("/"):  # a command to the agent, not a question
        return None
    scope = Scope(project=project, with_global=True)
    return RecallRequest(asked, limit=LIMIT, scope=scope, exclude=exclude)


def choose(
    asked: str,
    hits: Sequence[Hit],
    measure: Measure = Measure(),  # noqa: B008  # a tuple
) -> Injection:
    """Choose the memories for a prompt, best first, the project's before global ones. What is
    injected goes to the agent's model, usually on another machine: no sensitive memory is included.
    """
    open_hits = [hit for hit in hits if not hit.memory.is_sensitive]
    clear = choose_relevant(asked, open_hits, measure.floor, measure.meaning_floor)
    # A memory that resolves another belongs next to it, even if its own words are below the floor.
    shown = {memory.id: memory for hit in clear for memory in (hit.memory, *hit.attached)}
    candidates = [memory for memory in shown.values() if not memory.is_sensitive]
    candidates.sort(key=lambda memory: memory.project is None)  # stable: each part stays best first
    excerpts = {
        hit.memory.id: replace(hit.memory, content=hit.passage.excerpt(len(hit.memory.content)))
        for hit in clear
        if hit.passage is not None
    }
    chosen = fitting(candidates, measure.tokens, excerpts)
    injected = {memory.id for memory in chosen}
    return Injection(
        memories=chosen,
        duplicates=tuple(
            same for hit in clear if hit.memory.id in injected for same in hit.duplicates
        ),
        found=len(hits),
        sensitive=len(hits) - len(open_hits),
        below=len(open_hits) - len(clear),
        unfit=len(candidates) - len(chosen),
    )
