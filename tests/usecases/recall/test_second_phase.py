"""How a recall runs the legs of its second phase: they prepare while the first phase runs, start
from what it found, and end with the recall.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.usecases.legs import Raising

from recollect.core.errors import StoreError
from recollect.core.memory.memory import Draft
from recollect.core.recall.context import RecallContext
from recollect.core.recall.request import Candidate, Declined, RecallRequest, Recollection
from recollect.ports.recall import Leg, SecondPhaseLeg
from recollect.usecases.context import Context
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall

pytestmark = pytest.mark.anyio


@dataclass
class Reversing:
    """Reverses the order it is given. `prepared` is set when it has prepared; with `holds`, its
    preparation does not end.
    """

    prepared: asyncio.Event = field(default_factory=asyncio.Event)
    holds: bool = False
    was_cancelled: bool = False
    orders: list[list[str]] = field(default_factory=list)

    async def prepare(self, context: RecallContext) -> Leg | Declined:
        assert context.fused == ()
        self.prepared.set()
        try:
            if self.holds:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return self._reverse

    async def _reverse(self, context: RecallContext) -> Sequence[Candidate]:
        found = [entry.candidate for entry in context.fused]
        self.orders.append([str(candidate.id) for candidate in found])
        scored = [candidate._replace(score=1.0 + n) for n, candidate in enumerate(found)]
        return scored[::-1]


@dataclass
class Answering:
    """A second-phase leg with nothing to prepare that answers like `leg`, or declines."""

    leg: Leg | Declined

    async def prepare(self, context: RecallContext) -> Leg | Declined:
        return self.leg


@dataclass
class WaitingFor:
    """A leg that answers like `then` once the other has prepared."""

    other: Reversing
    then: Leg

    async def __call__(self, context: RecallContext) -> Sequence[Candidate] | Declined:
        await self.other.prepared.wait()
        return await self.then(context)


async def recall_with(context: Context, leg: Reversing, **request: Any) -> Recollection:
    for text in ("a harbour", "a harbour by a river"):
        await remember(context, "me", Draft(text))
    lexical = WaitingFor(leg, context.legs["lexical"])
    asked = replace(context, second_phase={"graph": leg}, legs={"lexical": lexical})
    return await recall(asked, "me", RecallRequest(**{"query": "harbour", **request}))


def contents(answer: Recollection) -> list[str]:
    return [hit.memory.content for hit in answer.hits]


async def test_a_second_phase_leg_prepares_during_the_first_phase_and_reorders_its_hits(
    context: Context,
) -> None:
    answer = await recall_with(context, Reversing())
    assert contents(answer) == ["a harbour by a river", "a harbour"]
    assert (answer.legs["graph"].status, answer.legs["graph"].found) == ("ran", 2)


async def test_a_second_phase_leg_is_skipped_when_nothing_was_found(context: Context) -> None:
    leg = Reversing(holds=True)
    answer = await recall_with(context, leg, query="mountain")
    assert answer.hits == ()
    assert (answer.legs["graph"].status, answer.legs["graph"].reason) == (
        "skipped",
        "nothing_found",
    )
    await asyncio.sleep(0)
    assert leg.was_cancelled


async def test_a_second_phase_leg_ends_with_a_recall_that_fails(context: Context) -> None:
    leg = Reversing(holds=True)
    gone = Raising(StoreError("gone", remedy="Wait."))
    asked = replace(context, second_phase={"graph": leg}, legs={"lexical": WaitingFor(leg, gone)})
    with pytest.raises(StoreError, match="gone"):
        await recall(asked, "me", RecallRequest("harbour"))
    await asyncio.sleep(0)
    assert leg.was_cancelled


@pytest.mark.parametrize(
    ("request_", "reason"),
    [({"sort_by": "recency"}, "other_order"), ({"weights": {"graph": 0.0}}, None)],
)
async def test_a_second_phase_leg_is_not_prepared_when_it_does_not_count(
    context: Context, request_: dict[str, Any], reason: str | None
) -> None:
    leg = Reversing()
    await remember(context, "me", Draft("a harbour"))
    asked = replace(context, second_phase={"graph": leg})
    answer = await recall(asked, "me", RecallRequest("harbour", **request_))
    assert len(answer.hits) == 1
    assert (answer.legs["graph"].status, answer.legs["graph"].reason) == ("skipped", reason)
    assert not leg.prepared.is_set()


async def test_second_phase_legs_run_one_after_another_on_the_order_before(
    context: Context,
) -> None:
    first, second = Reversing(), Reversing()
    for text in ("a harbour", "a harbour by a river", "a harbour on an island"):
        await remember(context, "me", Draft(text))
    plain = await recall(context, "me", RecallRequest("harbour"))
    asked = replace(context, second_phase={"graph": second, "dense": first})
    answer = await recall(asked, "me", RecallRequest("harbour"))
    assert second.orders == [first.orders[0][::-1]]
    assert contents(answer) == contents(plain)
    assert [list(hit.legs) for hit in answer.hits] == [["lexical", "dense", "graph"]] * 3


async def test_the_order_is_unchanged_when_a_second_phase_leg_fails_hangs_or_declines(
    context: Context,
) -> None:
    for text in ("a harbour", "a harbour by a river"):
        await remember(context, "me", Draft(text))
    plain = await recall(context, "me", RecallRequest("harbour"))
    legs: dict[str, SecondPhaseLeg] = {
        "failed": Answering(Raising(StoreError("gone", remedy="Wait."))),
        "late": Reversing(holds=True),
        "absent": Answering(Declined("absent", "the graph is being read", "being_read")),
    }
    for status, leg in legs.items():
        asked = replace(context, second_phase={"graph": leg})
        answer = await recall(asked, "me", RecallRequest("harbour"))
        assert contents(answer) == contents(plain)
        assert answer.legs["graph"].status == status
        assert answer.legs["graph"].note
