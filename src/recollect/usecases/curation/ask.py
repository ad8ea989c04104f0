"""Ask a language model about a pair of memories that the rules decide nothing about.

A pair is asked about once, and never with a sensitive memory in it. An answer that is not exactly
what was asked for is dropped. Without a model, and without calls left for the day, the rules decide
alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from recollect.core.curation.answers import (
    SCHEMA,
    TASK,
    UnusableAnswer,
    describe_pair,
    read_answer,
)
from recollect.core.curation.pairs import Decision
from recollect.core.errors import ModelUnavailable
from recollect.core.memory.memory import Memory
from recollect.core.privacy.secrets.detect import looks_sensitive
from recollect.ports.curation import CurationStore
from recollect.ports.language import AskedModel
from recollect.usecases.context import Context
from recollect.usecases.tasks import analyze_text


class Attempt(Protocol):
    """Does the work unless its model is backing off; None then, and when it fails."""

    async def __call__(
        self, work: Callable[[], Awaitable[Decision | None]], /
    ) -> Decision | None: ...


@dataclass(slots=True)
class CountedModel:
    """Asks a model about pairs, and counts how often, and how many answers were dropped."""

    model: AskedModel
    asked: int = 0
    dropped: int = 0

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, newer: Memory, older: Memory) -> Decision | None:
        self.asked += 1
        try:
            return await ask_model(self.model, newer.content, older.content)
        except UnusableAnswer:
            self.dropped += 1
            return None


@dataclass(frozen=True, slots=True)
class LimitedModel:
    """Asks a model about the pairs of one owner, up to `calls` times a day."""

    context: Context
    store: CurationStore
    owner: str
    model: CountedModel
    calls: int
    attempt: Attempt

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, newer: Memory, older: Memory) -> Decision | None:
        return await self.attempt(lambda: self._ask(newer, older))

    async def _ask(self, newer: Memory, older: Memory) -> Decision | None:
        if not await self._are_current(newer, older):
            return None
        if not await self.store.spend(self.calls):
            raise ModelUnavailable(
                f"today's {self.calls} calls to the language model are used up",
                remedy="Wait until tomorrow, or raise RECOLLECT_CURATION_CALLS.",
            )
        return await self.model(newer, older)

    async def _are_current(self, *memories: Memory) -> bool:
        """A batch takes minutes: by now a memory may be sensitive, and it must not be sent."""
        ids = [memory.id for memory in memories]
        current = await self.context.store.get_many(self.owner, ids)
        return all(current.get(memory.id) == memory for memory in memories)


async def ask_model(model: AskedModel, newer: str, older: str) -> Decision | None:
    """What the newer text is to the older one; None if they are unrelated, or if one contains a
    credential and would leave this machine. UnusableAnswer if the answer cannot be used.
    """
    if not model.is_here:
        for text in (newer, older):
            if await analyze_text(len(text), looks_sensitive, text) is not None:
                return None
    answer = await model.ask(TASK, describe_pair(newer, older), schema=SCHEMA)
    return read_answer(answer, newer, older)
