"""`why` for memories that are recalled and for memories that are not, one obstacle at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.strategies import new_id
from tests.usecases.legs import Hanging, Raising
from tests.usecases.setups import TwoLegs
from tests.usecases.vectors import TableReranker

from recollect.core.errors import NotFound, StoreUnavailable
from recollect.core.memory.ids import short
from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.context import RecallContext
from recollect.core.recall.explain import WhyReport
from recollect.core.recall.request import Candidate, Declined, RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.memory.change import forget
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import SEARCH_DEPTH, why
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio
VOTE, DENSE = RecallSettings().vote, RecallSettings().dense_weight


class Setup(TwoLegs):
    search_depth = SEARCH_DEPTH

    async def why(self, memory: Memory, query: str = "car", **fields: Any) -> WhyReport:
        """Return the report after comparing it with the recall itself: the two must agree."""
        request = replace(RecallRequest(query), **fields)
        report = await why(self.context, "me", str(memory.id), request, self.search_depth)
        hits = {
            hit.memory.id: (place, hit)
            for place, hit in enumerate((await recall(self.context, "me", request)).hits, start=1)
        }
        assert report.recalled == (memory.id in hits)
        if report.recalled:
            place, hit = hits[memory.id]
            assert (report.place, report.score, report.fused) == (place, hit.score, hit.fused)
            assert {name: leg.contribution for name, leg in report.legs.items()} == {
                name: hit.legs[name].contribution if name in hit.legs else None
                for name in report.legs
            }
        return report


@pytest.fixture
def setup(store: InMemoryStore) -> Setup:
    return Setup.on(store)


def kinds(report: WhyReport) -> list[tuple[str, str | None]]:
    """Return the obstacles except the graph leg, which is absent here (see `test_why_graph.py`)."""
    graph = {obstacle.kind for obstacle in report.kept_out if obstacle.leg == "graph"}
    assert graph <= {"leg_absent", "sensitive"}
    return [
        (obstacle.kind, obstacle.leg) for obstacle in report.kept_out if obstacle.leg != "graph"
    ]


async def test_why_says_what_each_leg_gave_to_a_recalled_memory(setup: Setup) -> None:
    memory = await setup.remember("car")
    await setup.remember("automobile")
    report = await setup.why(memory)
    assert (report.recalled, report.place, report.kept_out) == (True, 1, ())
    # By words a single hit stands out by 2.5 at most, plus its vote; by meaning the two are nearly
    # equal: closer than the minimum deviation, 0.01 of the way from −1.
    words, meaning = 1.0 / (1.0 + DENSE), DENSE / (1.0 + DENSE)
    height = (1.0 - 0.9 / (0.9**2 + 0.1**2) ** 0.5) / (0.01 * 2.0)
    assert report.fused is not None
    assert report.fused == pytest.approx(words * (2.5 + VOTE) + meaning * (height**2 + VOTE))
    assert report.score == report.fused * (0.7 + 0.3 * 0.5)
    assert {name: leg.facts.rank for name, leg in report.legs.items()} == {
        "lexical": 1,
        "dense": 1,
        "graph": None,
    }


async def test_why_explains_a_memory_found_by_meaning_alone(setup: Setup) -> None:
    memory = await setup.remember("automobile")
    report = await setup.why(memory)
    assert report.recalled
    lexical = report.legs["lexical"]
    assert (lexical.facts.score, lexical.obstacle and lexical.obstacle.kind) == (None, "no_match")


async def test_why_names_the_condition_and_the_place_of_a_memory_out_of_scope(
    setup: Setup,
) -> None:
    memory = await setup.remember("car", project="home")
    await setup.remember("automobile car parks", project="shop")
    await setup.remember("automobile", project="shop")
    report = await setup.why(memory, scope=Scope(project="shop"))
    assert kinds(report) == [("out_of_scope", None)]
    assert (report.place, report.legs["dense"].facts.rank) == (1, 1)
    assert report.legs["lexical"].facts.rank in (1, 2)


async def test_why_explains_an_excluded_memory(setup: Setup) -> None:
    memory = await setup.remember("car")
    await setup.remember("automobile")
    report = await setup.why(memory, exclude=frozenset([memory.id]))
    assert kinds(report) == [("excluded", None)]
    assert (report.place, report.legs["dense"].facts.rank) == (1, 1)


async def test_why_explains_a_forgotten_memory(setup: Setup) -> None:
    memory = await setup.remember("car")
    await forget(setup.context, "me", str(memory.id))
    report = await setup.why(memory)
    assert kinds(report) == [("forgotten", None)]
    assert report.memory.deleted_at is not None


async def test_why_says_that_a_sensitive_memory_has_no_vector(setup: Setup) -> None:
    memory = await setup.remember("automobile", is_sensitive=True)
    report = await setup.why(memory)
    assert kinds(report) == [("no_match", "lexical"), ("sensitive", "dense")]
    assert report.kept_out[-1].kind == "sensitive"  # the graph, too


async def test_why_explains_a_memory_that_is_not_embedded_yet(setup: Setup) -> None:
    memory = await setup.remember("automobile")
    setup.vectors.vectors.clear()
    report = await setup.why(memory)
    assert kinds(report) == [("no_match", "lexical"), ("not_embedded", "dense")]


async def test_why_finds_the_rank_below_the_depth(setup: Setup) -> None:
    for _ in range(12):
        await setup.remember("car automobile", id=new_id())
    memory = await setup.remember("vehicle")
    await change_settings(setup.context, "me", {"depth": 5})
    report = await setup.why(memory, limit=5)
    assert kinds(report) == [("no_match", "lexical"), ("below_depth", "dense")]
    assert report.legs["dense"].facts.rank == 13
    assert "depth 13" in report.kept_out[1].remedy
    assert report.place is None


async def test_why_explains_a_place_below_the_limit(setup: Setup) -> None:
    for number in range(3):
        await setup.remember(f"car automobile {number}")
    memory = await setup.remember("vehicle")
    report = await setup.why(memory, limit=2)
    assert kinds(report) == [("below_limit", None), ("no_match", "lexical")]
    assert report.place == 4
    assert "limit of 4" in report.kept_out[0].remedy


async def test_why_names_no_remedy_that_cannot_be_tried(setup: Setup) -> None:
    """In the scope that it suggests, others may rank before it."""
    for _ in range(6):
        await setup.remember("car automobile", project="shop", id=new_id())
    memory = await setup.remember("vehicle", project="home")
    shop = Scope(project="shop")
    low = (await setup.why(memory, limit=2, scope=shop)).kept_out
    assert [obstacle.kind for obstacle in low[:2]] == ["out_of_scope", "below_limit"]
    assert low[1].remedy == "Ask more precisely, or within a narrower scope."
    await change_settings(setup.context, "me", {"depth": 5})
    deep = await setup.why(memory, limit=2, scope=shop)
    assert kinds(deep)[-1] == ("below_depth", "dense")
    assert deep.kept_out[-2].remedy == "Ask more precisely, or within a narrower scope."


async def test_why_has_a_remedy_for_a_leg_that_declines(setup: Setup) -> None:
    memory = await setup.remember("automobile")
    past = await setup.why(memory, as_of=memory.created_at)
    assert kinds(past) == [("no_match", "lexical"), ("leg_skipped", "dense")]
    assert past.kept_out[1].remedy == "Omit --as-of."
    setup.model.is_hosted = True
    secret = await setup.why(memory, is_sensitive=True)
    assert kinds(secret) == [("no_match", "lexical"), ("leg_skipped", "dense")]
    assert "local model" in secret.kept_out[1].remedy
    setup.vectors.stored = None
    assert "`recollect worker`" in (await setup.why(memory)).kept_out[1].remedy


async def test_why_gives_no_rank_beyond_the_search_depth(setup: Setup) -> None:
    setup.search_depth = 8
    for _ in range(12):
        await setup.remember("car automobile", id=new_id())
    memory = await setup.remember("vehicle")
    await change_settings(setup.context, "me", {"depth": 5})
    facts = (await setup.why(memory, limit=5)).legs["dense"].facts
    assert facts.score is not None
    assert (facts.rank, facts.searched) == (None, 8)
    outside = await setup.why(memory, limit=5, scope=Scope(project="other"))
    assert outside.legs["dense"].facts.rank == 1  # of no other memory in that scope


async def test_why_explains_a_leg_that_is_skipped_fails_or_hangs(setup: Setup) -> None:
    memory = await setup.remember("automobile")
    report = await setup.why(memory, weights={"dense": 0.0})
    assert kinds(report) == [("no_match", "lexical"), ("leg_skipped", "dense")]
    gone = StoreUnavailable("the index is gone", remedy="Mend it.")
    for leg, kind in ((Raising(gone), "leg_failed"), (Hanging(), "leg_late")):
        context = replace(setup.context, legs={**setup.context.legs, "dense": leg})
        report = await why(context, "me", str(memory.id), RecallRequest("car"))
        assert kinds(report) == [("no_match", "lexical"), (kind, "dense")]


async def test_why_reports_a_leg_that_fails_when_asked_again(
    setup: Setup,
) -> None:
    car, lunch = await setup.remember("car"), await setup.remember("lunch")
    dense, asked = setup.context.legs["dense"], 0

    async def fail_second_time(
        context: RecallContext,
    ) -> Sequence[Candidate] | Declined:
        nonlocal asked
        asked += 1
        if asked % 2 == 0:
            raise StoreUnavailable("the index is gone", remedy="Mend it.")
        found = await dense(context)
        assert not isinstance(found, Declined)
        return found[:1]

    context = replace(setup.context, legs={**setup.context.legs, "dense": fail_second_time})
    report = await why(context, "me", str(lunch.id), RecallRequest("car"))
    assert kinds(report) == [("no_match", "lexical"), ("leg_failed", "dense")]
    report = await why(context, "me", str(car.id), RecallRequest("car"))
    assert (report.recalled, report.legs["dense"].facts.rank) == (True, 1)


@pytest.mark.parametrize("query", ["", " \x00"])
async def test_why_does_not_call_a_memory_unembedded_when_the_query_is_empty(
    setup: Setup, query: str
) -> None:
    memory = await setup.remember("automobile")
    report = await setup.why(memory, query)
    assert kinds(report) == [("no_match", "lexical"), ("no_match", "dense")]
    assert "no text" in report.kept_out[1].what


async def test_why_embeds_nothing_at_weight_0(setup: Setup) -> None:
    memory = await setup.remember("automobile")
    await setup.why(memory, weights={"dense": 0.0})
    assert (setup.model.asked, setup.vectors.queries) == ([], [])


async def test_why_counts_the_second_stage(setup: Setup) -> None:
    for text in ("car", "car automobile"):
        await setup.remember(text)
    memory = await setup.remember("vehicle car parks")
    await change_settings(setup.context, "me", {"second_stage": "cross-encoder"})
    setup.context = replace(setup.context, reranker=TableReranker({"parks": 1.0}))
    report = await setup.why(memory)
    assert report.place == 1
    assert report.rerank is not None
    assert (report.rerank.score, report.rerank.former_place) == (1.0, 3)
    assert report.second_stage is not None
    assert (report.second_stage.status, report.second_stage.reranked) == ("ran", 3)


async def test_why_names_the_second_stage_when_it_kept_the_memory_out(setup: Setup) -> None:
    memory = await setup.remember("car")
    await setup.remember("vehicle parks")
    await change_settings(setup.context, "me", {"second_stage": "cross-encoder"})
    setup.context = replace(setup.context, reranker=TableReranker({"parks": 1.0}))
    (low,) = (await setup.why(memory, limit=1)).kept_out[:1]
    assert low.what == "it has place 2 in the second stage's order, and 1 were asked for"
    assert "settings set second_stage off" in low.remedy
    await change_settings(setup.context, "me", {"second_stage": "off"})
    assert (await setup.why(memory, limit=1)).recalled


async def test_why_explains_a_parked_memory(setup: Setup) -> None:
    memory = await setup.remember("automobile")
    setup.vectors.vectors.clear()

    async def get_parked_error(owner: str, id: UUID) -> str | None:
        return "the model choked" if (owner, id) == ("me", memory.id) else None

    setup.context = replace(setup.context, parked=get_parked_error)
    report = await setup.why(memory)
    assert kinds(report) == [("no_match", "lexical"), ("parked", "dense")]
    assert "the model choked" in report.kept_out[1].what
    other = await setup.remember("vehicle")
    setup.vectors.vectors.clear()
    assert kinds(await setup.why(other))[1] == ("not_embedded", "dense")


async def test_why_takes_an_id_prefix_of_the_owners_own_memories(setup: Setup) -> None:
    memory = await setup.remember("car")
    request = RecallRequest("car")
    assert (await why(setup.context, "me", str(memory.id)[:20], request)).memory == memory
    with pytest.raises(NotFound):
        await why(setup.context, "you", str(memory.id), request)


async def test_why_says_that_an_update_is_shown_before_what_it_updates(setup: Setup) -> None:
    old = await setup.remember("the car park API runs on port 8000")
    new = await setup.remember("the API moved to port 9000, says the car park")
    query = "car park API runs on port"
    gained, lost = await setup.why(new, query), await setup.why(old, query)
    assert (gained.place, lost.place) == (1, 2)
    assert gained.moved == (
        f"It is shown before {short(old.id)}, which it updates: 8000 became 9000."
    )
    assert lost.moved == f"{short(new.id)}, which updates it, is shown first: 8000 became 9000."
    await change_settings(setup.context, "me", {"newer_first": "off"})
    assert (await setup.why(old, query)).moved is None


async def test_recall_can_leave_updates_where_they_rank(setup: Setup) -> None:
    old = await setup.remember("the car park API runs on port 8000")
    new = await setup.remember("the API moved to port 9000, says the car park")
    request = RecallRequest("car park API runs on port")
    found = await recall(setup.context, "me", request, updates_first=False)
    assert [hit.memory.id for hit in found.hits] == [old.id, new.id]
    assert [hit.newer_than for hit in found.hits] == [None, None]
