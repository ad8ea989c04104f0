"""The walk over a matrix, the matrices that are cached, and a walk over a real graph."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest
from tests.conformance.graphs import at, memory, read_all
from tests.conformance.samples import OWNER, fill
from tests.recall_contexts import recall_context, with_walker

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.walkers.matrix import Matrix, WalkStart, build, walk
from recollect.adapters.walkers.pagerank import PageRank
from recollect.core.graph.model import GraphPath, GraphSnapshot
from recollect.core.graph.walk import MAX_MEMORIES, Walked
from recollect.core.memory.memory import Scope
from recollect.core.recall.context import PhaseShares, RecallContext
from recollect.core.recall.fusion import Fused
from recollect.core.recall.request import Candidate, Declined, LegPlace, RecallRequest
from recollect.ports.graph import Walk, Walker
from recollect.settings import load
from recollect.usecases.context import Context
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why
from recollect.wiring.context import build_context

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONCEPT = 1_000


def snapshot(
    *mentioned: Sequence[int], kinds: Mapping[int, str] | None = None, version: int = 1
) -> GraphSnapshot:
    """Return a graph in which memory i mentions the concepts of the i-th sequence."""
    count = 1 + max((max(each) for each in mentioned if each), default=-1)
    pairs = [(i, concept) for i, each in enumerate(mentioned) for concept in each]
    return GraphSnapshot(
        version,
        tuple(UUID(int=i) for i in range(len(mentioned))),
        tuple(UUID(int=CONCEPT + i) for i in range(count)),
        tuple(f"c{i}" for i in range(count)),
        tuple((kinds or {}).get(i, "name") for i in range(count)),
        array("i", [i for i, _ in pairs]),
        array("i", [concept for _, concept in pairs]),
        array("f", [1.0]) * len(pairs),
    )


def walk_matrix(
    matrix: Matrix, begun: Mapping[int, float], named: Sequence[int] = ()
) -> list[Walked]:
    memories = {UUID(int=i): mass for i, mass in begun.items()}
    concepts = [UUID(int=CONCEPT + i) for i in named]
    return walk(matrix, WalkStart(memories, concepts, 0.5, 100, 10))


def test_walk_moves_mass_from_memory_to_concept_to_memory() -> None:
    found = walk_matrix(build(snapshot([0], [0], [])), {0: 1.0, 2: 1.0})
    scores = {visited.id.int: visited.score for visited in found}
    # Half of the mass on a node stays. Memories 0 and 1 share their concept: of the half that 0
    # begins with, 1/2 stays, 1/4 is then at the concept, 1/8 reaches each of the two, and so on.
    series = sum(0.5 ** (2 * step) / 2 for step in range(1, 30)) / 2
    assert scores[0] == pytest.approx(0.25 + series / 2, abs=1e-3)
    assert scores[1] == pytest.approx(series / 2, abs=1e-3)
    assert scores[2] == pytest.approx(0.25)
    assert [visited.id.int for visited in found] == [0, 2, 1]


def test_walk_is_personalised_pagerank() -> None:
    """The result is that of solving for the stationary mass of the whole matrix."""
    chance = np.random.default_rng(3)
    matrix = build(snapshot(*[chance.choice(12, 4, replace=False).tolist() for _ in range(30)]))
    size = len(matrix.starts) - 1
    moves = np.zeros((size, size))
    for row in range(size):
        for link in range(matrix.starts[row], matrix.starts[row + 1]):
            moves[matrix.targets[link], row] += matrix.shares[link]
    begun = np.zeros(size)
    begun[[0, 7]] = 0.5
    exact = np.linalg.solve(np.eye(size) - 0.5 * moves, 0.5 * begun)
    found = walk_matrix(matrix, {0: 1.0, 7: 1.0})
    assert len(found) == 30
    for visited in found:
        assert visited.score == pytest.approx(exact[visited.id.int], abs=2e-3)


def test_matrix_leaves_out_what_links_nothing_or_everything() -> None:
    crowd = [[0] for _ in range(MAX_MEMORIES + 1)]
    assert {visited.id.int for visited in walk_matrix(build(snapshot(*crowd)), {0: 1.0})} == {0}
    assert len(walk_matrix(build(snapshot(*crowd[:-1])), {0: 1.0})) == MAX_MEMORIES
    assert build(snapshot(*crowd)).find_walkable([UUID(int=CONCEPT)]) == []
    assert build(snapshot(*crowd[:-1])).find_walkable([UUID(int=CONCEPT)]) == [UUID(int=CONCEPT)]
    assert {visited.id.int for visited in walk_matrix(build(snapshot([0], [1])), {0: 1.0})} == {0}


def test_matrix_leaves_out_phrases() -> None:
    matrix = build(snapshot([0], [0], kinds={0: "phrase"}))
    assert {visited.id.int for visited in walk_matrix(matrix, {0: 1.0})} == {0}
    assert matrix.find_walkable([UUID(int=CONCEPT)]) == []


def test_walk_follows_relationships_between_concepts() -> None:
    plain = snapshot([0], [0], [1], [1])
    assert {visited.id.int for visited in walk_matrix(build(plain), {0: 1.0})} == {0, 1}
    related = replace(
        plain,
        edge_sources=array("i", [0]),
        edge_targets=array("i", [1]),
        edge_weights=array("f", [1.0]),
    )
    assert {visited.id.int for visited in walk_matrix(build(related), {0: 1.0})} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("by_model", "near", "reached"),
    [(1.0, 1, {0, 1}), (0.6, 1, {0, 1}), (0.5, 1, {0}), (0.0, 1, {0}), (1.0, 0, {0})],
)
def test_matrix_links_near_names_that_a_language_model_has_read(
    by_model: float, near: int, reached: set[int]
) -> None:
    """Each of the two concepts is mentioned once, so neither links anything by itself."""
    joined = replace(
        snapshot([0], [1]),
        edge_sources=array("i", [0]),
        edge_targets=array("i", [1]),
        edge_weights=array("f", [0.9]),
        near=near,
        by_model=by_model,
    )
    assert {visited.id.int for visited in walk_matrix(build(joined), {0: 1.0})} == reached


def test_matrix_leaves_out_a_near_name_that_links_everything() -> None:
    hub = snapshot([0], *[[1]] * (MAX_MEMORIES + 1))
    joined = replace(
        hub,
        edge_sources=array("i", [0]),
        edge_targets=array("i", [1]),
        edge_weights=array("f", [0.9]),
        near=1,
        by_model=1.0,
    )
    assert [visited.id.int for visited in walk_matrix(build(joined), {0: 1.0})] == [0]


def test_walk_returns_the_path_to_each_memory() -> None:
    matrix = build(snapshot([0], [0, 1], [1], [2], [2]))
    paths = {visited.id.int: visited.path for visited in walk_matrix(matrix, {0: 1.0}, named=[2])}
    assert paths[1] == (str(UUID(int=0)), "c0")
    assert paths[2] == (str(UUID(int=0)), "c0", str(UUID(int=1)), "c1")
    assert paths[3] == ("c2",)


def test_walk_reaches_nothing_from_an_empty_graph_or_unknown_memories() -> None:
    assert walk_matrix(build(GraphSnapshot(0)), {0: 1.0}) == []
    assert walk_matrix(build(snapshot([0], [0])), {77: 1.0}, named=[5]) == []


class Graph:
    """A concept graph that counts how often it is read, and whose reads can be delayed."""

    def __init__(self, *mentioned: Sequence[int]) -> None:
        self.mentioned = mentioned
        self.present = 1
        self.reads = 0
        self.may_read = asyncio.Event()
        self.may_read.set()

    async def version(self, owner: str) -> int:
        return self.present

    async def snapshot(self, owner: str, as_of: datetime | None = None) -> GraphSnapshot:
        self.reads += 1
        version = self.present
        await self.may_read.wait()
        return snapshot(*self.mentioned, version=version)

    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]:
        return {"anna": UUID(int=CONCEPT)} if "anna" in keys else {}

    async def written(self, owner: str, keys: Collection[str]) -> dict[str, tuple[UUID, str]]:
        return {"anna berg": (UUID(int=CONCEPT), "Anna Berg")} if "anna berg" in keys else {}

    async def paths(
        self, owner: str, from_ids: Collection[UUID], memory_id: UUID
    ) -> list[GraphPath]:
        raise NotImplementedError


FUSED = [
    Fused(Candidate(UUID(int=0), 1.0, 0.5, NOW), 1.0, {"lexical": LegPlace(1, 1.0, 1.0)}),
]


async def ask(walker: Walker, query: str = "about Anna", owner: str = "me") -> Sequence[int] | str:
    request = RecallRequest(query, weights={"graph": 1.0})
    walk = await walker.prepare(recall_context(request, owner=owner))
    if isinstance(walk, Declined):
        return walk.note
    return [reached.id.int for reached in await walk(FUSED)]


async def test_pagerank_declines_a_query_that_names_nothing_known() -> None:
    graph = Graph([0], [0])
    async with PageRank(graph) as walker:
        assert "names no concept" in str(await ask(walker, "what else is there"))
        assert "that the graph knows" in str(await ask(walker, "about Zanzibar"))
        assert "names no concept" in str(await ask(walker, "about anna"))
    assert graph.reads == 0


@pytest.mark.parametrize("query", ["about anna berg", "about anna_b and anna berg", "ANNA BERG?"])
async def test_pagerank_finds_names_in_any_case(query: str) -> None:
    async with PageRank(Graph([0], [0])) as walker:
        await walker.ready("me")
        assert await ask(walker, query) == [0, 1]


async def test_pagerank_builds_a_matrix_once_until_the_graph_changes() -> None:
    graph = Graph([0], [0])
    async with PageRank(graph, rest=0.0) as walker:
        await walker.ready("me")
        assert await ask(walker) == [0, 1]
        assert await ask(walker) == [0, 1]
        assert graph.reads == 1
        graph.mentioned = ([0], [0], [0])
        graph.present = 2
        graph.may_read.clear()
        assert await ask(walker) == [0, 1]  # the older one is used while the new one is read
        assert await ask(walker) == [0, 1]
        graph.may_read.set()
        await walker.ready("me")
        assert await ask(walker) == [0, 1, 2]
        assert graph.reads == 2


async def test_pagerank_does_not_wait_for_the_first_matrix() -> None:
    graph = Graph([0], [0])
    graph.may_read.clear()
    async with PageRank(graph) as walker:
        assert "being read" in str(await ask(walker))
        graph.may_read.set()
        await walker.ready("me")
        assert await ask(walker) == [0, 1]
    assert graph.reads == 1


async def test_pagerank_drops_the_least_recently_used_matrix() -> None:
    graph = Graph([0], [0])
    async with PageRank(graph, max_bytes=1) as walker:
        for owner in ("me", "you", "me"):
            await walker.ready(owner)
            assert await ask(walker, owner=owner) == [0, 1]
    assert graph.reads == 3


@pytest.fixture
async def store(emptied_database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(emptied_database_url) as opened:
        yield opened


@pytest.fixture
async def context(store: PostgresStore) -> AsyncIterator[Context]:
    """Babbage leads from the first memory to the second, which has no word of the query."""
    await fill(
        store,
        memory(1, "Ada Lovelace dreamt of an engine with Charles Babbage", project="engines"),
        memory(2, "Charles Babbage hated street music", project="habits"),
        memory(3, "Rain all day"),
    )
    await read_all(store)
    async with PageRank(store.graph) as pagerank:
        await pagerank.ready(OWNER)
        yield with_walker(build_context(store, load()), pagerank)


async def find(context: Context, request: RecallRequest) -> list[int]:
    return [hit.memory.id.int for hit in (await recall(context, OWNER, request)).hits]


QUERY = "what did Ada Lovelace dream of?"


async def test_recall_finds_what_only_the_graph_reaches(context: Context) -> None:
    without = await recall(context, OWNER, RecallRequest(QUERY, weights={"graph": 0.0}))
    assert [hit.memory.id.int for hit in without.hits] == [1]
    assert without.legs["graph"].status == "skipped"
    answer = await recall(context, OWNER, RecallRequest(QUERY))
    assert (answer.legs["graph"].status, answer.degraded) == ("ran", ())
    first, second = answer.hits
    assert (first.memory.id.int, second.memory.id.int) == (1, 2)
    assert set(second.legs) == {"graph"}
    assert second.fused == pytest.approx(second.legs["graph"].contribution)
    assert second.legs["graph"].path == (str(UUID(int=1)), "Charles Babbage")


async def test_recall_walks_for_a_query_in_lower_case(context: Context) -> None:
    assert await find(context, RecallRequest(QUERY.lower())) == [1, 2]
    assert await find(context, RecallRequest("what did lovelace dream of?")) == [1]


async def test_graph_leg_obeys_scope_exclude_and_order(context: Context) -> None:
    assert await find(context, RecallRequest(QUERY)) == [1, 2]
    assert await find(context, RecallRequest(QUERY, exclude=frozenset({UUID(int=2)}))) == [1]
    assert await find(context, RecallRequest(QUERY, scope=Scope(project="engines"))) == [1]
    assert await find(context, RecallRequest(QUERY, sort_by="recency")) == [1]


async def test_graph_leg_drops_what_became_sensitive_or_forgotten(context: Context) -> None:
    """The matrix may be older than the memory: the store decides."""
    second = memory(2, "Charles Babbage hated street music", project="habits")
    assert await context.store.replace(replace(second, version=2, is_sensitive=True), based_on=1)
    assert await find(context, RecallRequest(QUERY)) == [1]
    gone = replace(second, version=3, deleted_at=NOW)
    assert await context.store.replace(gone, based_on=2)
    assert await find(context, RecallRequest(QUERY)) == [1]


class Broken:
    async def prepare(self, context: RecallContext) -> Walk | Declined:
        raise RuntimeError


class Late:
    async def prepare(self, context: RecallContext) -> Walk | Declined:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize("walker", [Broken(), Late()])
async def test_recall_keeps_the_fused_order_when_a_walk_fails_or_is_late(
    context: Context, walker: Walker
) -> None:
    # The walk gets almost no time, the rest as long as a busy machine takes.
    hurried = replace(with_walker(context, walker), shares=PhaseShares(second_phase=0.005))
    answer = await recall(hurried, OWNER, RecallRequest(QUERY))
    assert answer.degraded == ("graph",)
    assert answer.legs["graph"].note
    assert [hit.memory.id.int for hit in answer.hits] == [1]


async def test_why_explains_the_graph_leg(context: Context) -> None:
    report = await why(context, OWNER, str(UUID(int=2)), RecallRequest(QUERY))
    assert (report.recalled, report.place) == (True, 2)
    assert (report.legs["graph"].facts.status, report.legs["graph"].facts.rank) == ("ran", 2)
    far = await why(context, OWNER, str(UUID(int=3)), RecallRequest(QUERY))
    assert (far.recalled, far.legs["graph"].facts.rank) == (False, None)


async def test_recall_as_of_a_moment_walks_over_what_was_mentioned_then(
    store: PostgresStore,
) -> None:
    """The first memory no longer mentions Babbage, and the second was forgotten; the fourth, which
    mentions him now, did not then, and the fifth is sensitive now.
    """
    first = memory(1, "Ada Lovelace dreamt of an engine with Charles Babbage")
    second = memory(2, "Charles Babbage hated street music")
    fourth = memory(4, "Rain all day")
    fifth = memory(5, "Charles Babbage is secretly a cook")
    await fill(store, first, second, memory(3, "Charles Babbage ate little"), fourth, fifth)
    await read_all(store)
    for changed in (
        replace(first, content="Ada Lovelace dreamt of an engine"),
        replace(second, deleted_at=at(60)),
        replace(fourth, content="Charles Babbage in the rain"),
        replace(fifth, is_sensitive=True),
    ):
        assert await store.replace(replace(changed, version=2, updated_at=at(60)), based_on=1)
    await read_all(store)
    mentioning = (await store.graph.snapshot(OWNER, at(30))).memories
    assert {id.int for id in mentioning} == {1, 2, 3}
    async with PageRank(store.graph) as walker:
        context = with_walker(build_context(store, load()), walker)
        then = RecallRequest(QUERY, as_of=at(30))
        answer = await recall(context, OWNER, then)
        assert answer.legs["graph"].status == "ran"
        assert {hit.memory.id.int for hit in answer.hits} == {1, 2, 3}
        assert answer.hits[0].memory.content == first.content
        assert await find(context, RecallRequest(QUERY)) == [1]
