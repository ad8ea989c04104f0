"""The dense leg: finds meaning, compares inside one space only, and never breaks a recall."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.usecases.setups import TwoLegs
from tests.usecases.vectors import SPACE

from recollect.core.errors import ModelUnavailable
from recollect.core.memory.memory import Scope
from recollect.core.recall.request import LegReport, RecallRequest, Recollection
from recollect.core.recall.settings import RecallSettings
from recollect.core.recall.space import Space, StoredSpace
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.recall.recall import recall
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio
VOTE, DENSE = RecallSettings().vote, RecallSettings().dense_weight


class Setup(TwoLegs):
    async def recall(self, query: str, **fields: Any) -> Recollection:
        request = replace(RecallRequest(query), **fields)
        return await recall(self.context, "me", request)

    async def dense(self, query: str, **fields: Any) -> LegReport:
        return (await self.recall(query, **fields)).legs["dense"]


@pytest.fixture
def setup(store: InMemoryStore) -> Setup:
    return Setup.on(store)


async def test_dense_leg_finds_a_memory_that_shares_no_word(setup: Setup) -> None:
    car = await setup.remember("automobile")
    await setup.remember("lunch")
    answer = await setup.recall("car")
    first = answer.hits[0]
    assert first.memory == car
    assert list(first.legs) == ["dense"]
    assert first.legs["dense"].rank == 1
    assert first.legs["dense"].score == pytest.approx(0.9 / (0.9**2 + 0.1**2) ** 0.5)
    assert first.fused == 4 + VOTE  # the other is at the floor: one of two stands out by 4
    assert answer.legs["dense"].found == 2


async def test_a_memory_found_by_words_and_meaning_counts_twice(setup: Setup) -> None:
    both = await setup.remember("car")
    await setup.remember("automobile")
    first, second = (await setup.recall("car")).hits
    assert first.memory == both
    words, meaning = 1.0 / (1.0 + DENSE), DENSE / (1.0 + DENSE)
    # The cosines are nearly equal: closer than the minimum deviation, 0.01 of the way from −1.
    height = (1.0 - 0.9 / (0.9**2 + 0.1**2) ** 0.5) / (0.01 * 2.0)
    assert first.fused == pytest.approx(words * (2.5 + VOTE) + meaning * (height**2 + VOTE))
    assert second.fused == meaning * (0 + VOTE)


@pytest.mark.parametrize("where", ["settings", "request"])
async def test_dense_leg_embeds_and_asks_nothing_at_weight_0(setup: Setup, where: str) -> None:
    await setup.remember("automobile")
    if where == "settings":
        await change_settings(setup.context, "me", {"dense_weight": 0})
        answer = await setup.recall("car")
    else:
        answer = await setup.recall("car", weights={"dense": 0.0})
    assert (setup.model.asked, setup.vectors.queries) == ([], [])
    assert (answer.legs["dense"].status, answer.hits, answer.degraded) == ("skipped", (), ())
    await setup.recall("car", weights={"dense": 0.01})
    assert (len(setup.model.asked), len(setup.vectors.queries)) == (1, 1)


@pytest.mark.parametrize("query", ["", "  ", "\x00"])
async def test_dense_leg_does_not_embed_a_query_without_text(setup: Setup, query: str) -> None:
    assert (await setup.dense(query)).status == "ran"
    assert setup.model.asked == []


async def test_dense_leg_is_absent_without_a_space_and_says_what_to_run(setup: Setup) -> None:
    setup.vectors.stored = None
    report = await setup.dense("car")
    assert report.status == "absent"
    assert "recollect worker" in (report.note or "")
    assert (await setup.recall("car")).degraded == ()


async def test_recall_is_empty_when_its_only_leg_is_absent(setup: Setup) -> None:
    """Nothing is broken, so nothing is raised."""
    setup.vectors.stored = None
    answer = await setup.recall("car", weights={"lexical": 0.0})
    assert (answer.hits, answer.degraded) == ((), ())


async def test_an_unavailable_model_fails_the_dense_leg_and_not_the_recall(setup: Setup) -> None:
    found = await setup.remember("car")
    setup.vectors.stored = StoredSpace(1, "mpnet", SPACE, "active")
    answer = await setup.recall("car")
    assert [hit.memory for hit in answer.hits] == [found]
    assert answer.degraded == ("dense",)
    assert answer.legs["dense"].note == "there is no model mpnet"


async def test_a_failing_model_fails_the_dense_leg_only(setup: Setup) -> None:
    await setup.remember("car")
    setup.model.error = ModelUnavailable("the service is down", remedy="Wait.")
    answer = await setup.recall("car")
    assert (len(answer.hits), answer.legs["dense"].note) == (1, "the service is down")


@pytest.mark.parametrize(
    "other", [Space("meanings", "2", 3), Space("other", "1", 3), Space("meanings", "1", 4)]
)
async def test_dense_leg_never_compares_vectors_of_two_spaces(setup: Setup, other: Space) -> None:
    await setup.remember("automobile")
    setup.model.space = other
    report = await setup.dense("car")
    assert report.status == "failed"
    assert "recollect reembed --model meanings" in (report.note or "")
    assert other.name in (report.note or "")
    assert (setup.model.asked, setup.vectors.queries) == ([], [])


async def test_dense_leg_accepts_another_query_prefix_in_the_same_space(setup: Setup) -> None:
    await setup.remember("automobile")
    setup.model.space = replace(SPACE, query_instruction="Represent this: ")
    assert (await setup.dense("car")).found == 1


SECRET = "AKIA" + "Q3EGV7YJ5TLWX2PN"
HOSTED = [
    ("car", True, "skipped"),
    ("car", False, "ran"),
    # A secret in the query counts like the caller's own flag.
    (f"car with {SECRET}", False, "skipped"),
]


@pytest.mark.parametrize(("query", "is_sensitive", "status"), HOSTED)
async def test_dense_leg_does_not_send_a_sensitive_query_to_a_hosted_model(
    setup: Setup, query: str, is_sensitive: bool, status: str
) -> None:
    setup.model.is_hosted = True
    answer = await setup.recall(query, is_sensitive=is_sensitive)
    assert answer.legs["dense"].status == status
    assert setup.model.asked == ([query] if status == "ran" else [])
    if status == "skipped":
        assert "sensitive" in (answer.legs["dense"].note or "")
        assert answer.degraded == ()


async def test_dense_leg_gives_a_sensitive_query_to_a_local_model(setup: Setup) -> None:
    assert (await setup.dense("car", is_sensitive=True)).status == "ran"
    assert setup.model.asked == ["car"]


async def test_dense_leg_gives_no_place_to_excluded_memories(setup: Setup) -> None:
    """At depth 1 the second best is found when the best is excluded."""
    best = await setup.remember("car")
    second = await setup.remember("automobile")
    await change_settings(setup.context, "me", {"depth": 1})
    answer = await setup.recall(
        "car", limit=1, exclude=frozenset([best.id]), weights={"lexical": 0.0}
    )
    assert [hit.memory for hit in answer.hits] == [second]
    assert setup.vectors.queries[-1].exclude == {best.id}


@pytest.mark.parametrize(("depth", "limit", "asked"), [(50, 10, 50), (5, 10, 10)])
async def test_dense_leg_asks_the_index_for_the_depth_or_the_limit(
    setup: Setup, depth: int, limit: int, asked: int
) -> None:
    await change_settings(setup.context, "me", {"depth": depth})
    await setup.recall("car", limit=limit)
    assert setup.vectors.queries[-1].depth == asked


async def test_dense_leg_stays_in_the_scope(setup: Setup) -> None:
    inside = await setup.remember("automobile", project="shop")
    await setup.remember("vehicle", project="home")
    answer = await setup.recall("car", scope=Scope(project="shop"))
    assert [hit.memory for hit in answer.hits] == [inside]


async def test_dense_leg_declines_a_question_about_the_past(setup: Setup) -> None:
    car = await setup.remember("automobile")
    answer = await setup.recall("automobile", as_of=car.created_at)
    report = answer.legs["dense"]
    assert (report.status, report.found) == ("skipped", 0)
    assert "current texts" in (report.note or "")
    assert [hit.memory for hit in answer.hits] == [car]
    assert (setup.model.asked, setup.vectors.queries) == ([], [])
