"""Recall asked over and over while the model is changed, on the real store: every answer is
entirely from the old space or entirely from the new one, whatever the change is doing, and never
goes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import cos, sin

import pytest
from tests.conformance.samples import OWNER
from tests.conformance.stores import opened
from tests.waiting import DEFAULT_SETTINGS

from recollect.core.errors import ModelUnavailable
from recollect.core.memory.memory import Draft
from recollect.core.recall.request import LegName, RecallRequest, Recollection
from recollect.core.recall.space import Space
from recollect.ports.embedding import Embedder
from recollect.ports.recall import Leg
from recollect.usecases.context import Context
from recollect.usecases.recall.dense import dense_leg
from recollect.usecases.service import LocalService
from recollect.usecases.workers.embed import EmbeddingContext
from recollect.usecases.workers.reembed import reembed
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker
from recollect.wiring.context import SystemClock

pytestmark = pytest.mark.anyio

COUNT = 40
ASKED = RecallRequest("0", limit=COUNT)


@dataclass
class Circle:
    """Numbers lie on an arc, in their order or reversed, opposite to all other texts. Documents
    that are numbers wait at the `gate`, one by one.
    """

    name: str
    direction: int
    is_hosted: bool = False
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(2 * COUNT))

    @property
    def space(self) -> Space:
        return Space(self.name, "1", 2)

    def at_once(self, texts: Sequence[str]) -> int:
        return len(texts)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        for text in texts:
            if text.isdigit():
                await self.gate.acquire()
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        if not text.isdigit():
            return [-1.0, 0.0]
        number = int(text)
        # 0 is at one end of the arc in both; the text next to it is 1 here, COUNT - 1 there.
        place = number if self.direction > 0 else (COUNT - number) % COUNT
        return [cos(place / COUNT), sin(place / COUNT)]


@dataclass(frozen=True)
class Models:
    known: dict[str, Circle]

    async def embedder(self, name: str) -> Embedder:
        if name not in self.known:
            raise ModelUnavailable(name, remedy="Name another.")
        return self.known[name]


def _order(answer: Recollection) -> list[int]:
    assert answer.legs["dense"].status == "ran", answer.legs
    return [int(hit.memory.content) for hit in answer.hits]


async def test_recall_is_the_old_space_s_until_it_is_the_new_one_s(
    emptied_database_url: str,
) -> None:
    old, new = Circle("old", 1), Circle("new", -1, gate=asyncio.Semaphore(0))
    of_old = list(range(COUNT))
    of_new = [0, *range(COUNT - 1, 0, -1)]
    async with opened(emptied_database_url) as (store, vectors):
        models = Models({"old": old, "new": new})
        legs: dict[LegName, Leg] = {"dense": dense_leg(vectors, models)}
        context = Context(store, store, SystemClock(), legs, default_settings=DEFAULT_SETTINGS)
        recollect = LocalService(context, OWNER)
        for number in range(COUNT):
            await recollect.remember(Draft(str(number), importance=0.5))
        await Worker(EmbeddingStep(EmbeddingContext(vectors, models, "old"))).work_off()
        assert _order(await recollect.recall(ASKED)) == of_old

        changing = asyncio.create_task(
            reembed(EmbeddingContext(vectors, models, "new"), "new", sleep=_at_once)
        )
        seen: list[list[int]] = []
        while not changing.done():
            new.gate.release()  # one text further
            seen.append(_order(await recollect.recall(ASKED)))
        await changing
        seen.append(_order(await recollect.recall(ASKED)))
    switch = seen.index(of_new)
    assert seen == [of_old] * switch + [of_new] * (len(seen) - switch)
    assert switch >= COUNT  # recall also ran while the new space was filling


async def _at_once(_seconds: float) -> None:
    await asyncio.sleep(0)
