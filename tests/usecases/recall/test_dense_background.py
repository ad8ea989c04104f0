"""A recall does not wait for the background of unrelated texts, and does not lose it either."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.conformance.samples import memory
from tests.recall_contexts import recall_context
from tests.usecases.vectors import AllVectors, MeaningEmbedder, OneEmbedder

from recollect.adapters.files.home_files import BackgroundFile
from recollect.core.errors import ModelUnavailable
from recollect.core.recall.context import Deadline, RecallContext
from recollect.core.recall.request import UNKNOWN_EVIDENCE, Declined, RecallRequest
from recollect.core.recall.space import Space
from recollect.ports.recall import Leg
from recollect.usecases.recall.dense import Backgrounds, dense_leg
from recollect.usecases.tasks import cancel_and_wait
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio


@dataclass
class SlowEmbedder(MeaningEmbedder):
    """Embeds documents only once it may; `batches` counts the calls."""

    began: asyncio.Event = field(default_factory=asyncio.Event)
    may_go: asyncio.Event = field(default_factory=asyncio.Event)
    batches: int = 0
    fails: bool = False

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.batches += 1
        self.began.set()
        await self.may_go.wait()
        if self.fails:
            raise ModelUnavailable("busy", remedy="Try again.")
        return await super().embed_documents(texts)


@dataclass
class HalfNearEmbedder(SlowEmbedder):
    """Half of all documents are about cars."""

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        await super().embed_documents(texts)
        return [[1.0, 0.0, 0.0] if n % 2 else [0.0, 1.0, 0.0] for n in range(len(texts))]


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


def make_expired_context() -> RecallContext:
    """Return a context without any time left."""
    deadline = Deadline(started=0.0, seconds=1.0, clock=lambda: 2.0)
    return replace(recall_context(RecallRequest("car")), deadline=deadline)


async def test_a_recall_out_of_time_leaves_the_background_to_the_next(vectors: AllVectors) -> None:
    model = SlowEmbedder()
    leg = dense_leg(vectors, OneEmbedder(model))
    assert await evidence(leg, make_expired_context()) == [UNKNOWN_EVIDENCE]
    assert await evidence(leg, make_expired_context()) == [UNKNOWN_EVIDENCE]
    assert model.batches == 1
    model.may_go.set()
    (measured,) = await evidence(leg, recall_context(RecallRequest("car")))
    assert measured > UNKNOWN_EVIDENCE
    assert model.batches == 1


async def test_the_spread_of_unrelated_texts_goes_into_the_search(vectors: AllVectors) -> None:
    model = HalfNearEmbedder()
    leg = dense_leg(vectors, OneEmbedder(model))
    await leg(make_expired_context())
    model.may_go.set()
    await leg(recall_context(RecallRequest("car")))
    early, late = (query.spread for query in vectors.queries)
    assert early == 0.0, "it is not known yet"
    assert late == pytest.approx(0.5, abs=0.01)


async def test_a_background_that_failed_is_embedded_again(vectors: AllVectors) -> None:
    model = SlowEmbedder(fails=True)
    model.may_go.set()
    leg = dense_leg(vectors, OneEmbedder(model))
    assert await evidence(leg, recall_context(RecallRequest("car"))) == [UNKNOWN_EVIDENCE]
    model.fails = False
    (measured,) = await evidence(leg, recall_context(RecallRequest("car")))
    assert measured > UNKNOWN_EVIDENCE


async def test_a_background_may_fail_after_everyone_has_gone() -> None:
    model = SlowEmbedder(fails=True)
    backgrounds = Backgrounds()
    others = asyncio.all_tasks()
    waiting = asyncio.create_task(backgrounds.prepare(model))
    await model.began.wait()
    await cancel_and_wait(waiting)
    model.may_go.set()
    await asyncio.wait(asyncio.all_tasks() - others)
    del backgrounds, waiting
    gc.collect()  # an error that nobody has retrieved would now fail the test


async def test_processes_share_a_background(vectors: AllVectors, tmp_path: Path) -> None:
    context = recall_context(RecallRequest("car"))
    answers, batches = [], []
    for _ in range(2):
        model = SlowEmbedder()
        model.may_go.set()
        backgrounds = Backgrounds(BackgroundFile(tmp_path / "background"))
        await backgrounds.prepare(model)
        answers.append(await evidence(dense_leg(vectors, OneEmbedder(model), backgrounds), context))
        batches.append(model.batches)
    assert batches == [1, 0]
    assert answers[0] == pytest.approx(answers[1])
    assert answers[0] > [UNKNOWN_EVIDENCE]


def test_background_file_keeps_spaces_and_texts_apart(tmp_path: Path) -> None:
    file = BackgroundFile(tmp_path / "background")
    space, other = Space("compass", "1", 2), Space("compass", "2", 2)
    assert file.read(space, ["north"]) is None
    file.write(space, ["north", "east"], [[0.0, 1.0], [1.0, 0.0]])
    assert file.read(space, ["north", "east"]) == [[0.0, 1.0], [1.0, 0.0]]
    assert file.read(other, ["north", "east"]) is None
    assert file.read(space, ["north", "west"]) is None
    (kept,) = (tmp_path / "background").iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    assert file.read(space, ["north", "east"]) is None


def test_background_file_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "background").write_text("no folder")
    file = BackgroundFile(tmp_path / "background")
    file.write(Space("compass", "1", 2), ["north"], [[0.0, 1.0]])
    assert file.read(Space("compass", "1", 2), ["north"]) is None
