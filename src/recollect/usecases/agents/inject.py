"""The memories for a prompt: the relevant ones of its project, then global ones.

Recall itself is left to the caller: a hook that starts again for every prompt has no time to import
an event loop (ADR 0020), and a session has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple
from uuid import UUID

from recollect.core.agents.injection import fitting, without_injections
from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.relevance import Measure, choose_relevant
from recollect.core.recall.request import Hit, RecallRequest
from recollect.core.text.analysis import clean_query

# More than fit the budget: some are below the floor, and some are too long.
LIMIT: Final = 30
_MAX_PROMPT: Final = 200_000


class Injection(NamedTuple):
    """What is injected, and what became of the rest: `found` by recall, of which some were
    `sensitive`, `below` the floor, or did not fit. `duplicates` say the same as what is injected.
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
    """What to recall for a prompt; None where it asks nothing."""
    if len(prompt) > _MAX_PROMPT:  # what is asked is said at its beginning or its end
        prompt = f"{prompt[: _MAX_PROMPT // 2]}\n{prompt[-_MAX_PROMPT // 2 :]}"
    asked = clean_query(without_injections(prompt))
    if not asked or asked.startswith("/"):  # a command to the agent, not a question
        return None
    scope = Scope(project=project, with_global=True)
    return RecallRequest(asked, limit=LIMIT, scope=scope, exclude=exclude)


def choose(
    asked: str,
    hits: Sequence[Hit],
    measure: Measure = Measure(),  # noqa: B008  # a tuple
) -> Injection:
    """The memories for a prompt, best first, the project's before global ones. What is injected
    goes to the agent's model, usually on another machine: no sensitive memory is included.
    """
    open_hits = [hit for hit in hits if not hit.memory.is_sensitive]
    clear = choose_relevant(asked, open_hits, measure.floor, measure.meaning_floor)
    # What resolves a memory belongs beside it, whatever the floor says about its own words.
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
