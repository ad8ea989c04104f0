"""What `why` reports about a memory that only the graph leads to: it agrees with the recall, and
what kept the memory out applies to the graph, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.recall_contexts import with_walker
from tests.usecases.conftest import build_context
from tests.usecases.walking import Walking, make_walking

from recollect.adapters.walkers.naming import NO_NAME, UNKNOWN
from recollect.core.memory.memory import Changes, Draft, Memory, Scope
from recollect.core.recall.explain import Obstacle, WhyReport
from recollect.core.recall.request import Declined, Hit, RecallRequest
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.context import Context
from recollect.usecases.memory.change import forget, update
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio
# The first is found by its word; the graph leads from there over one concept and over two; the last
# is unrelated.
TEXTS = ("the car is red", "Anna sings", "Anna cooks", "rain")


class Setup:
    def __init__(self, context: Context, memories: list[Memory]) -> None:
        self.walker = make_walking(memories, [0], [0, 1], [1], [])
        self.context = with_walker(context, self.walker)
        self.found, self.near, self.far, self.stranger = memories

    async def why(self, memory: Memory, **fields: Any) -> WhyReport:
        request = replace(RecallRequest("car"), **fields)
        return await why(self.context, "me", str(memory.id), request)

    async def recall_all(self, **fields: Any) -> dict[UUID, tuple[int, Hit]]:
        hits = (await recall(self.context, "me", replace(RecallRequest("car"), **fields))).hits
        return {hit.memory.id: (place, hit) for place, hit in enumerate(hits, start=1)}


@pytest.fixture
async def setup(store: InMemoryStore) -> Setup:
    context = build_context(store)
    memories = [await remember(context, "me", Draft(text, project="home")) for text in TEXTS]
    return Setup(context, memories)


def of_graph(report: WhyReport) -> Obstacle:
    (obstacle,) = [obstacle for obstacle in report.kept_out if obstacle.leg == "graph"]
    return obstacle


async def test_why_explains_a_memory_recalled_by_the_graph_alone(setup: Setup) -> None:
    hits = await setup.recall_all()
    assert len(hits) == 3
    for memory in (setup.found, setup.near, setup.far):
        place, hit = hits[memory.id]
        report = await setup.why(memory)
        assert (report.recalled, report.place, report.score) == (True, place, hit.score)
        facts = report.legs["graph"].facts
        assert (facts.rank, facts.score) == (hit.legs["graph"].rank, hit.legs["graph"].score)
        assert report.legs["graph"].obstacle is None
    assert setup.walker.depths[-1] == 100, "what is found is not looked for further"


async def test_why_gives_an_excluded_memory_the_place_it_would_have(setup: Setup) -> None:
    for memory in (setup.found, setup.near, setup.far):
        free = await setup.why(memory)
        report = await setup.why(memory, exclude=frozenset([memory.id, setup.stranger.id]))
        assert (report.recalled, report.kept_out[0].kind) == (False, "excluded")
        assert (report.place, report.score) == (free.place, free.score)
        assert report.legs["graph"] == free.legs["graph"]
        assert [obstacle.kind for obstacle in report.kept_out if obstacle.leg == "graph"] == []


async def test_why_gives_a_memory_out_of_scope_the_place_it_would_have(setup: Setup) -> None:
    await update(setup.context, "me", str(setup.near.id), {"project": "shop"})
    report = await setup.why(setup.near, scope=Scope(project="home"))
    assert [obstacle.kind for obstacle in report.kept_out] == [
        "out_of_scope",
        "no_match",
        "leg_absent",
    ]
    assert (report.place, report.legs["graph"].facts.rank) == (2, 2)
    others = await setup.recall_all(scope=Scope(project="home"))
    assert list(others) == [setup.found.id, setup.far.id], "no other memory comes in with it"


async def test_why_finds_the_graph_rank_beyond_the_depth(setup: Setup) -> None:
    await change_settings(setup.context, "me", {"depth": 1})
    report = await setup.why(setup.far, limit=1)
    assert (report.place, report.legs["graph"].facts.rank) == (None, 3)
    obstacle = of_graph(report)
    assert (obstacle.kind, obstacle.what) == (
        "below_depth",
        "it has rank 3 in the graph leg, which is asked for 1",
    )
    assert "depth 3" in obstacle.remedy
    await change_settings(setup.context, "me", {"depth": 3})
    assert setup.far.id in await setup.recall_all(limit=3)


async def test_why_says_when_the_graph_has_no_path(setup: Setup) -> None:
    report = await setup.why(setup.stranger)
    assert (report.place, report.legs["graph"].facts.rank) == (None, None)
    assert of_graph(report).kind == "no_match"


async def test_why_says_that_a_sensitive_memory_is_not_in_the_graph(setup: Setup) -> None:
    """The cached graph may be older than that."""
    changes: Changes = {"is_sensitive": True, "project": "shop"}
    await update(setup.context, "me", str(setup.near.id), changes)
    report = await setup.why(setup.near)
    assert (report.place, of_graph(report).kind) == (None, "sensitive")
    assert "tags" not in of_graph(report).remedy
    outside = await setup.why(setup.near, scope=Scope(project="home"))
    assert (outside.place, of_graph(outside).kind) == (None, "sensitive")


async def test_why_says_only_once_that_a_memory_is_forgotten(setup: Setup) -> None:
    await forget(setup.context, "me", str(setup.near.id))
    report = await setup.why(setup.near)
    assert [obstacle.kind for obstacle in report.kept_out] == ["forgotten", "leg_absent"]
    assert report.place is None


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [(NO_NAME, "Name someone"), (UNKNOWN, "`recollect graph show NAME`")],
)
async def test_why_asks_for_a_name_when_the_query_names_no_concept(
    setup: Setup, answer: Declined, remedy: str
) -> None:
    setup.walker.answer = answer
    obstacle = of_graph(await setup.why(setup.near))
    assert (obstacle.kind, obstacle.what) == (
        "leg_skipped",
        f"the graph leg was not asked: {answer.note}",
    )
    assert remedy in obstacle.remedy


async def test_why_says_that_the_graph_runs_only_by_relevance(setup: Setup) -> None:
    obstacle = of_graph(await setup.why(setup.near, sort_by="recency"))
    assert (obstacle.kind, obstacle.remedy) == ("leg_skipped", "Sort by relevance.")
    nothing = of_graph(await setup.why(setup.near, query="zebra"))
    assert (nothing.kind, nothing.remedy) == (
        "leg_skipped",
        "Ask with words that some memory contains.",
    )


async def test_why_reports_a_walk_that_fails_when_asked_again(
    setup: Setup,
) -> None:
    setup.walker.raises = RuntimeError("gone")
    assert of_graph(await setup.why(setup.stranger)).kind == "leg_failed"


async def test_why_gives_no_graph_rank_to_a_hit_the_walk_did_not_reach(setup: Setup) -> None:
    setup.context = with_walker(setup.context, Walking({setup.near.id: [0], setup.far.id: [0]}))
    _, hit = (await setup.recall_all())[setup.found.id]
    place = hit.legs["graph"]
    assert (place.rank, place.score) == (None, 0.0)
    assert hit.fused == pytest.approx(sum(place.contribution for place in hit.legs.values()))
    report = await setup.why(setup.found)
    assert report.legs["graph"].contribution == place.contribution
    assert report.legs["graph"].facts.rank is None
