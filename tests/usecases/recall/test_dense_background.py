"""A recall does not wait for the background of unrelated texts, and does not lose it either."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from tests.conformance.samples import memory
from tests.recall_contexts import recall_context
from tests.usecases.vectors import AllVectors, MeaningEmbedder, OneEmbedder

from recollect.adapters.in_memory import InMemoryStore
from recollect.core.errors import ModelUnavailable
from recollect.core.recall.context import Deadline, RecallContext
from recollect.core.recall.request import Declined, RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.ports.recall import Leg
from recollect.usecases.recall.dense import UNKNOWN_EVIDENCE, dense_leg

pytestmark = pytest.mark.anyio


@dataclass
class SlowEmbedder(MeaningEmbedder):
    """Embeds documents only once it may; `batches` counts how often it was asked to."""

    may_go: asyncio.Event = field(default_factory=asyncio.Event)
    batches: int = 0
    fails: bool = False

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.batches += 1
        await self.may_go.wait()
        if self.fails:
            raise ModelUnavailable("busy", remedy="Try again.")
        return await super().embed_documents(texts)


@pytest.fixture
async def vectors(store: InMemoryStore) -> AllVectors:
    await store.add(memory(1, "automobile", owner="me"))
    index = AllVectors(store)
    await index.embed("me")
    return index


async def evidence(leg: Leg, context: RecallContext) -> list[float]:
    found = await leg(context)
    assert not isinstance(found, Declined)
    return [candidate.evidence for candidate in found]


def hurried() -> RecallContext:
    """No time is left."""
    deadline = Deadline(started=0.0, seconds=1.0, clock=lambda: 2.0)
    return RecallContext.create("me", RecallRequest("car"), RecallSettings(), deadline)


async def test_a_recall_out_of_time_leaves_the_background_to_the_next(vectors: AllVectors) -> None:
    model = SlowEmbedder()
    leg = dense_leg(vectors, OneEmbedder(model))
    assert await evidence(leg, hurried()) == [UNKNOWN_EVIDENCE]
    assert await evidence(leg, hurried()) == [UNKNOWN_EVIDENCE]
    assert model.batches == 1
    model.may_go.set()
    (measured,) = await evidence(leg, recall_context(RecallRequest("car")))
    assert measured > UNKNOWN_EVIDENCE
    assert model.batches == 1


async def test_a_background_that_failed_is_embedded_again(vectors: AllVectors) -> None:
    model = SlowEmbedder(fails=True)
    model.may_go.set()
    leg = dense_leg(vectors, OneEmbedder(model))
    assert await evidence(leg, recall_context(RecallRequest("car"))) == [UNKNOWN_EVIDENCE]
    model.fails = False
    (measured,) = await evidence(leg, recall_context(RecallRequest("car")))
    assert measured > UNKNOWN_EVIDENCE


async def test_without_a_background_evidence_is_unknown(vectors: AllVectors) -> None:
    model = SlowEmbedder()
    leg = dense_leg(vectors, OneEmbedder(model), with_background=False)
    assert await evidence(leg, recall_context(RecallRequest("car"))) == [UNKNOWN_EVIDENCE]
    assert model.batches == 0
