"""Hand-written legs: other implementations of the port, each with one behaviour."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from recollect.core.memory.memory import Memory
from recollect.core.recall.context import RecallContext
from recollect.core.recall.request import Candidate, RecallRequest


@dataclass
class Saying:
    """Answers with the same candidates every time, and remembers the requests."""

    found: Sequence[Candidate] = ()
    asked: list[RecallRequest] = field(default_factory=list)

    async def __call__(self, context: RecallContext) -> Sequence[Candidate]:
        self.asked.append(context.request)
        return self.found


@dataclass
class Raising:
    """Fails with `error`."""

    error: BaseException

    async def __call__(self, context: RecallContext) -> Sequence[Candidate]:
        raise self.error


@dataclass
class Hanging:
    """Never answers; `ended` is set when it is cancelled. It may then fail with `last_words`."""

    last_words: Exception | None = None
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, context: RecallContext) -> Sequence[Candidate]:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()
            if self.last_words is not None:
                raise self.last_words
        return ()


def candidates(*memories: Memory, best: float = 0.9) -> list[Candidate]:
    """Return these memories in this order, each scoring a little less than the one before."""
    return [
        Candidate(memory.id, best - place / 100, memory.importance, memory.created_at)
        for place, memory in enumerate(memories)
    ]
