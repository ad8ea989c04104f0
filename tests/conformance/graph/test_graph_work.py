"""The worker of the concept graph, on real stores: it reads, compares names, and continues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import pytest
from tests.conformance.graphs import BEGAN, around, concept, memory
from tests.conformance.samples import OWNER, fill
from tests.conformance.stores import SPACE, FullStore, Place, opened, rows
from tests.usecases.queues import Time

from recollect.core.errors import ModelBusy, ModelUnavailable
from recollect.core.graph.extraction import Extraction, ExtractionJob, read_by_rules
from recollect.core.recall.space import Space
from recollect.usecases.graph.extract import Extracted, GraphContext, extract_batch
from recollect.usecases.graph.manage import LocalGraph
from recollect.usecases.workers.steps import GraphStep
from recollect.usecases.workers.worker import Worker

pytestmark = pytest.mark.anyio

# On a circle: the angles decide which names are near each other.
ANGLES = {
    "Mont Blanc": (1.0, 0.0),
    "Mount Blanc": (0.999, 0.045),
    "Monte Bianco": (0.93, 0.37),
    "Zermatt": (-1.0, 0.1),
    "Mont Blanc 2": (1.0, 0.001),
}


@dataclass
class Compass:
    """An embedder whose vectors are those of ANGLES."""

    asked: list[str] = field(default_factory=list)
    fails: bool = False
    space: Space = SPACE
    is_hosted: bool = False
    most: int = 1000
    busy: int = 0

    def at_once(self, texts: Sequence[str]) -> int:
        return min(len(texts), self.most)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if self.fails:
            raise ModelUnavailable("no needle", remedy="Find one.")
        if self.busy:
            self.busy -= 1
            raise ModelBusy("it spins", seconds=7.0, remedy="Wait.")
        assert len(texts) <= self.most
        self.asked += texts
        return [list(ANGLES.get(text, (0.0, -1.0))) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        return (await self.embed_documents([text]))[0]

    async def embedder(self, name: str) -> Compass:
        return self


@pytest.fixture
async def store(place: Place) -> AsyncIterator[FullStore]:
    async with opened(place) as (store, vectors):
        await vectors.open_space("compass", SPACE)
        yield store


async def work_off(store: FullStore, compass: Compass | None = None) -> None:
    await Worker(GraphStep(GraphContext(store.graph, embedders=compass))).work_off()


async def test_names_that_are_nearly_the_same_become_one_concept(store: FullStore) -> None:
    await fill(store, memory(1, "We saw Mont Blanc"), memory(2, "We climbed Mount Blanc"))
    await work_off(store, Compass())
    assert await concept(store, "Mount Blanc") == await concept(store, "Mont Blanc")
    found = await around(store, "mount blanc")
    assert {found.concept.name, *found.concept.aliases} == {"Mont Blanc", "Mount Blanc"}
    assert found.concept.mentions == 2
    assert (await store.graph.progress(1)).to_compare == 0


async def test_names_that_are_only_near_stay_two_and_are_joined(store: FullStore) -> None:
    await fill(store, memory(1, "We saw Mont Blanc"), memory(2, "Then came Monte Bianco"))
    await fill(store, memory(3, "They left Zermatt"))
    await work_off(store, Compass())
    found = await around(store, "Mont Blanc")
    assert [(name, round(near, 2)) for name, near in found.near] == [("Monte Bianco", 0.93)]
    assert (await around(store, "Zermatt")).near == ()
    assert len((await store.graph.snapshot(OWNER)).edge_sources) == 1


async def test_a_batch_of_names_of_two_owners_is_compared_with_each_ones_own(
    store: FullStore,
) -> None:
    await fill(store, memory(1, "We saw Mont Blanc"), memory(2, "Then came Monte Bianco"))
    await fill(store, memory(3, "We climbed Mount Blanc", owner="you"))
    await fill(store, memory(4, "They left Zermatt", owner="you"))
    await work_off(store, Compass())
    theirs = await store.graph.snapshot("you")
    assert sorted(theirs.labels) == ["Mount Blanc", "Zermatt"]
    assert theirs.near == 0
    assert [name for name, _ in (await around(store, "Mont Blanc")).near] == ["Monte Bianco"]


async def test_another_number_is_another_thing_however_near(store: FullStore) -> None:
    await fill(store, memory(1, "We saw Mont Blanc"), memory(2, "We climbed Mont Blanc 2"))
    await work_off(store, Compass())
    assert await concept(store, "Mont Blanc 2") != await concept(store, "Mont Blanc")


async def test_names_go_as_many_together_as_the_model_takes(store: FullStore) -> None:
    """The others are read again: meanwhile their memory may have become sensitive."""
    await fill(store, memory(1, "We saw Mont Blanc"), memory(2, "Then came Monte Bianco"))
    await work_off(store, Compass(most=1))
    assert [name for name, _ in (await around(store, "Mont Blanc")).near] == ["Monte Bianco"]
    assert (await store.graph.progress(1)).to_compare == 0


async def test_a_busy_model_is_waited_for(store: FullStore) -> None:
    await fill(store, memory(1, "We saw Mont Blanc"))
    time = Time()
    context = GraphContext(store.graph, embedders=Compass(busy=2))
    await Worker(GraphStep(context), sleep=time.sleep, now=time.now).work_off()
    assert time.slept == [7.0, 14.0]
    assert (await store.graph.progress(1)).to_compare == 0


async def test_a_name_is_compared_once(store: FullStore) -> None:
    compass = Compass()
    await fill(store, memory(1, "We saw Mont Blanc"))
    await work_off(store, compass)
    await fill(store, memory(2, "We saw Mont Blanc"))
    await work_off(store, compass)
    assert compass.asked.count("Mont Blanc") == 1


async def test_tags_and_keywords_are_given_to_no_model(store: FullStore) -> None:
    compass = Compass()
    await fill(store, memory(1, "nothing", tags=("Mont Blanc",), expanded_keywords=("Zermatt",)))
    await work_off(store, compass)
    assert await concept(store, "Zermatt") is not None
    assert compass.asked == []


async def test_a_decision_by_hand_wins_over_what_comes_later(store: FullStore) -> None:
    second = memory(2, "We climbed Mount Blanc")
    await fill(store, memory(1, "We saw Mont Blanc"), second)
    await work_off(store, Compass())
    graph = LocalGraph(store.graph, OWNER)
    await graph.split("Mont Blanc", "Mount Blanc")
    assert await concept(store, "Mount Blanc") != await concept(store, "Mont Blanc")
    assert await store.replace(replace(second, deleted_at=BEGAN, version=2), based_on=1)
    await rows(store, "update concepts set compared_in = null")
    await fill(store, memory(3, "Again Mount Blanc"))
    await work_off(store, Compass())
    assert await concept(store, "Mount Blanc") != await concept(store, "Mont Blanc")
    await graph.merge("Mont Blanc", "Mount Blanc")
    assert await concept(store, "Mount Blanc") == await concept(store, "Mont Blanc")


async def test_reading_goes_on_where_no_name_can_be_compared(store: FullStore) -> None:
    await fill(store, memory(1, "We saw Mont Blanc"))
    with pytest.raises(ModelUnavailable):
        await work_off(store, Compass(fails=True))
    assert await concept(store, "Mont Blanc") is not None
    await fill(store, memory(2, "They left Zermatt"))
    await work_off(store)
    assert await concept(store, "Zermatt") is not None


async def test_a_text_that_cannot_be_read_does_not_stop_the_others(store: FullStore) -> None:
    def stumble(job: ExtractionJob) -> Extraction:
        if "odd" in job.content:
            raise ValueError("odd text of a memory")
        return read_by_rules(job)

    await fill(store, memory(1, "an odd one"), memory(2, "They left Zermatt"))
    await Worker(GraphStep(GraphContext(store.graph, rules=stumble))).work_off()
    assert await concept(store, "Zermatt") is not None
    progress = await store.graph.progress(1)
    assert (progress.extracted, progress.waiting, progress.last_error) == (1, 1, "ValueError")


async def test_what_cannot_be_begun_in_time_is_given_back(store: FullStore) -> None:
    """One memory is read, however little time there is."""
    await fill(store, *(memory(number, f"They left Zermatt {number}") for number in range(1, 4)))
    context = GraphContext(store.graph)
    for left in (2, 1, 0):
        assert await extract_batch(context, seconds=0.0) == Extracted(1)
        assert (await store.graph.progress(1)).waiting == left
    assert await extract_batch(context, seconds=0.0) is None


async def test_storing_a_memory_wakes_a_graph_worker(store: FullStore) -> None:
    done = asyncio.Event()
    worker = Worker(GraphStep(GraphContext(store.graph), lambda _: done.set()))
    running = asyncio.create_task(worker.run())
    try:
        await fill(store, memory(1, "They left Zermatt"))
        async with asyncio.timeout(60):
            await done.wait()
    finally:
        running.cancel()
        await asyncio.wait([running])
    assert await concept(store, "Zermatt") is not None
