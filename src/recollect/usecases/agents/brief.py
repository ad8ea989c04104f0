"""What an agent should know before the first prompt: a project's most important and most recent
memories, as many as fit without cutting any.

There is no query yet, so nothing can be relevant. Memories are ranked by importance plus recency: a
day-old note of medium importance ranks next to an old one that is vital.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from recollect.core.agents.injection import BRIEF_SENTENCE, fitting, tokens
from recollect.core.memory.listing import MAX_PAGE
from recollect.core.memory.memory import EPISODE, Memory, Scope
from recollect.core.recall.successors import current
from recollect.core.text.analysis import counted
from recollect.ports.service import Service

# Recency counts half after this time.
HALF_LIFE: Final = timedelta(days=30)
# How many of the newest memories are considered: more would delay the start of a session.
MAX_CONSIDERED: Final = 2 * MAX_PAGE


@dataclass(frozen=True, slots=True)
class Brief:
    """The memories, best first, the project's before global ones. `left_out` is how many did not
    fit, `applied` how many proposals the curator accepted by itself and no one undid.
    """

    project: str | None
    memories: tuple[Memory, ...]
    left_out: int
    applied: int = 0

    @property
    def sentence(self) -> str:
        """What precedes the memories."""
        return BRIEF_SENTENCE + _report(self.applied)


async def brief(recollect: Service, scope: Scope, *, budget_tokens: int, now: datetime) -> Brief:
    """Return the memories of a scope that fit the budget. Sensitive ones are left out, because what
    an agent reads leaves the machine; so are superseded ones, which add nothing, those that are not
    valid now, and episodes, which mean little outside their conversation.
    """
    found: list[Memory] = []
    cursor: str | None = None
    while len(found) < MAX_CONSIDERED:
        page = await recollect.page(scope, cursor, MAX_PAGE)
        found.extend(memory for memory in page.memories if memory.is_valid_at(now))
        cursor = page.next_cursor
        if cursor is None:
            break
    eligible = [
        memory
        for memory in current(found)
        if not memory.is_sensitive and memory.category != EPISODE
    ]
    eligible.sort(key=lambda memory: (memory.project is None, -score(memory, now), memory.id))
    curation = await recollect.curation_counts()
    applied = 0 if curation is None else curation.applied
    chosen = fitting(eligible, budget_tokens - tokens(_report(applied)))
    return Brief(scope.project, chosen, len(eligible) - len(chosen), applied)


def _report(applied: int) -> str:
    if not applied:
        return ""
    memories = counted(applied, "memory")
    return (
        f" Curation replaced {memories} without asking; `recollect undo` brings the last one back."
    )


def score(memory: Memory, now: datetime) -> float:
    """Importance and recency, each from 0 to 1."""
    age = max(now - memory.updated_at, timedelta(0))
    return memory.importance + math.exp2(-(age / HALF_LIFE))
