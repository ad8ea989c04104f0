"""The floor of a recall: what has nothing to do with the query is no hit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.usecases.setups import TwoLegs

from recollect.adapters.in_memory import InMemoryStore
from recollect.core.recall.request import RecallRequest, Recollection
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why

pytestmark = pytest.mark.anyio


class Setup(TwoLegs):
    async def recall(self, query: str, **fields: Any) -> Recollection:
        return await recall(self.context, "me", replace(RecallRequest(query), **fields))


@pytest.fixture
def setup(store: InMemoryStore) -> Setup:
    return Setup.on(store)


async def test_recall_returns_nothing_that_no_leg_has_evidence_for(setup: Setup) -> None:
    car = await setup.remember("automobile")
    await setup.remember("lunch")  # its cosine with the query is 0
    answer = await setup.recall("car")
    assert [hit.memory for hit in answer.hits] == [car]
    assert answer.legs["dense"].found == 2


async def test_recall_may_find_nothing(setup: Setup) -> None:
    await setup.remember("lunch")
    assert (await setup.recall("car")).hits == ()


async def test_min_relevance_0_returns_everything_that_was_found(setup: Setup) -> None:
    await setup.remember("lunch")
    await change_settings(setup.context, "me", {"min_relevance": 0})
    assert len((await setup.recall("car")).hits) == 1


async def test_why_names_the_floor(setup: Setup) -> None:
    lunch = await setup.remember("lunch")
    report = await why(setup.context, "me", str(lunch.id), RecallRequest("car"))
    (obstacle,) = (each for each in report.kept_out if each.leg is None)
    assert obstacle.kind == "below_relevance"
    assert "min_relevance" in obstacle.remedy


async def test_why_names_the_memory_that_says_the_same(setup: Setup) -> None:
    first = await setup.remember("car")
    other = replace(first, id=type(first.id)(int=first.id.int + 1), project="elsewhere")
    await setup.context.store.add(other)
    (hit,) = (await setup.recall("car")).hits
    assert hit.duplicates == (other.id,)
    report = await why(setup.context, "me", str(other.id), RecallRequest("car"))
    assert [each.kind for each in report.kept_out if each.leg is None] == ["duplicate"]
