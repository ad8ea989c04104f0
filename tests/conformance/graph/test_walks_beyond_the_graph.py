"""Memories that the concept graph does not contain: a walk does not reach them, and they keep the
place that the other legs gave them.
"""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from tests.conformance.graphs import memory, read_all
from tests.conformance.samples import OWNER, fill
from tests.conformance.stores import FullStore, Place, open_store
from tests.recall_contexts import with_walker

from recollect.adapters.walkers.matrix import WalkStart, build, walk
from recollect.adapters.walkers.pagerank import PageRank
from recollect.core.graph.model import GraphSnapshot
from recollect.core.recall.request import RecallRequest
from recollect.settings import load
from recollect.usecases.context import Context
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why
from recollect.wiring.context import build_context

pytestmark = pytest.mark.anyio

ANNA = UUID(int=1_000)


def test_walk_keeps_the_mass_of_an_unknown_memory() -> None:
    known, unknown = UUID(int=1), UUID(int=2)
    graph = GraphSnapshot(
        1,
        (known, UUID(int=3)),
        (ANNA,),
        ("Anna",),
        ("name",),
        array("i", [0, 1]),
        array("i", [0, 0]),
        array("f", [1.0, 1.0]),
    )
    found = walk(build(graph), WalkStart({known: 1.0, unknown: 2.5}, [ANNA], 0.5, 100, 10))
    assert [(candidate.id.int, candidate.is_known) for candidate in found] == [
        (2, False),
        (1, True),
        (3, True),
    ]
    # 4 began in all: 1 and 2.5 on the memories and 1/2 on the concept that two memories mention.
    assert found[0].score == pytest.approx(0.5 * 2.5 / 4)
    assert (found[0].path, found[2].path) == ((), ("Anna",))


@pytest.fixture
async def context(
    place: Place,
) -> AsyncIterator[tuple[Context, PageRank, FullStore]]:
    """The best answer to the query is a memory that names nothing, or one that is sensitive."""
    async with open_store(place) as store:
        await fill(
            store,
            memory(1, "Verena moved to Porto"),
            memory(2, "Verena likes Nadia"),
            memory(3, "we keep the bassoon in the cellar"),
            memory(4, "Verena hides the ladder behind the old barn", is_sensitive=True),
        )
        await read_all(store)
        async with PageRank(store.graph) as pagerank:
            await pagerank.ready(OWNER)
            yield with_walker(build_context(store, load()), pagerank), pagerank, store


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("does Verena keep the bassoon in the cellar?", 3),
        ("does Verena hide the ladder behind the old barn?", 4),
    ],
)
async def test_recall_keeps_the_best_answer_first_when_the_graph_does_not_know_it(
    context: tuple[Context, PageRank, FullStore], query: str, best: int
) -> None:
    answer = await recall(context[0], OWNER, RecallRequest(query))
    assert answer.legs["graph"].status == "ran"
    assert answer.hits[0].memory.id == UUID(int=best)
    for hit in answer.hits:
        assert hit.fused == pytest.approx(sum(leg.contribution for leg in hit.legs.values()))
    report = await why(context[0], OWNER, str(UUID(int=best)), RecallRequest(query))
    assert (report.recalled, report.place, report.score) == (True, 1, answer.hits[0].score)


async def test_recall_finds_a_memory_that_is_not_read_yet(
    context: tuple[Context, PageRank, FullStore],
) -> None:
    asked, pagerank, store = context
    fresh = memory(5, "Verena bought a violet accordion in Trieste")
    await fill(store, fresh)
    request = RecallRequest("which accordion did Verena buy?")
    assert (await recall(asked, OWNER, request)).hits[0].memory.id == fresh.id
    await read_all(store)
    await pagerank.ready(OWNER)
    assert (await recall(asked, OWNER, request)).hits[0].memory.id == fresh.id
