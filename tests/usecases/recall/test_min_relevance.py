"""The floor of a recall: a memory that is unrelated to the query is not a hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.usecases.setups import TwoLegs

from recollect.core.recall.context import RecallContext
from recollect.core.recall.request import Candidate, RecallRequest, Recollection
from recollect.ports.recall import Leg
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why
from recollect_bench.in_memory import InMemoryStore

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


async def test_a_memory_that_answers_part_of_a_long_prompt_is_a_hit(setup: Setup) -> None:
    """In a prompt about many other things, no memory holds a tenth of the words."""
    halibut = await setup.remember("The staging database Halibut listens on port 5544")
    prompt = f"{' '.join(f'word{number}' for number in range(200))} Halibut staging database port"
    assert [hit.memory for hit in (await setup.recall(prompt)).hits] == [halibut]


async def test_the_graph_walks_only_from_what_is_relevant(setup: Setup) -> None:
    await setup.remember("lunch")
    walked_from: list[int] = []

    class Recorded:
        async def prepare(self, context: RecallContext) -> Leg:
            async def leg(context: RecallContext) -> Sequence[Candidate]:
                walked_from.append(len(context.fused))
                return ()

            return leg

    setup.context = replace(setup.context, second_phase={"graph": Recorded()})
    answer = await setup.recall("car")
    assert answer.hits == ()
    assert answer.legs["graph"].reason == "nothing_found"
    await setup.remember("automobile")
    assert len((await setup.recall("car")).hits) == 1
    assert walked_from == [1]


async def test_hits_that_are_not_clearly_about_the_query_are_called_weak(setup: Setup) -> None:
    await setup.remember("The staging database Halibut listens on port 5544")
    assert not (await setup.recall("Halibut port")).is_weak
    assert (await setup.recall("Halibut fishing season opens tomorrow morning")).is_weak
    assert not (await setup.recall("car")).is_weak  # no hits
