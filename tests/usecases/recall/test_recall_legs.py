"""Legs that fail, hang or are interrupted: named in the answer, left out, and cleaned up after."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Collection, Mapping
from dataclasses import replace
from uuid import UUID

import pytest
from tests.usecases.conftest import build_context
from tests.usecases.legs import Hanging, Raising, Saying, candidates

from recollect.core.errors import StoreUnavailable
from recollect.core.memory.memory import Draft
from recollect.core.recall.context import RecallContext
from recollect.core.recall.request import LegName, RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.core.recall.successors import AsOf, Fetched
from recollect.ports.recall import Leg
from recollect.usecases.admin.settings import change_settings
from recollect.usecases.context import Context
from recollect.usecases.memory.change import forget
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio

REQUEST = RecallRequest("staging")
SHORT_MS = 200


async def with_legs(context: Context, **legs: Leg) -> Context:
    """Return a context with one memory that the lexical leg finds, and with other legs."""
    await remember(context, "me", Draft("staging is frozen"))
    named: dict[LegName, Leg] = {**context.legs, **legs}  # type: ignore[dict-item]  # keywords are str
    return replace(context, legs=named)


async def test_recall_names_and_skips_a_failing_leg(context: Context) -> None:
    context = await with_legs(
        context,
        dense=Raising(StoreUnavailable("the model is gone", remedy="Start it.")),
        graph=Raising(KeyError("a secret that the error quotes")),
    )
    answer = await recall(context, "me", REQUEST)
    assert [list(hit.legs) for hit in answer.hits] == [["lexical"]]
    assert {name: (leg.status, leg.note) for name, leg in answer.legs.items()} == {
        "lexical": ("ran", None),
        "dense": ("failed", "the model is gone"),
        "graph": ("failed", "KeyError"),
    }
    assert answer.degraded == ("dense", "graph")


async def test_recall_skips_a_late_leg(context: Context) -> None:
    slow = Hanging()
    answer = await recall(await with_legs(context, dense=slow), "me", REQUEST)
    assert len(answer.hits) == 1
    assert answer.legs["dense"].status == "late"
    assert "no answer within" in str(answer.legs["dense"].note)
    assert answer.degraded == ("dense",)
    await slow.ended.wait()


async def test_recall_reports_a_cancelled_leg_as_failed(context: Context) -> None:
    """The leg cancelled itself: that must not look like a cancellation of the recall."""
    context = await with_legs(context, dense=Raising(asyncio.CancelledError()))
    answer = await recall(context, "me", REQUEST)
    assert len(answer.hits) == 1
    assert (answer.legs["dense"].status, answer.legs["dense"].note) == (
        "failed",
        "the operation was cancelled",
    )


async def test_recall_runs_legs_side_by_side(context: Context) -> None:
    """Each of two legs answers only once the other has begun."""
    first, second = asyncio.Event(), asyncio.Event()

    def make_meeting_leg(mine: asyncio.Event, other: asyncio.Event) -> Leg:
        async def leg(context: RecallContext) -> list[object]:
            mine.set()
            await other.wait()
            return []

        return leg  # type: ignore[return-value]  # an empty answer has no candidates to type

    legs = {"dense": make_meeting_leg(first, second), "graph": make_meeting_leg(second, first)}
    answer = await recall(await with_legs(context, **legs), "me", REQUEST)
    assert [leg.status for leg in answer.legs.values()] == ["ran", "ran", "ran"]


async def test_recall_takes_an_empty_answer_for_an_answer(context: Context) -> None:
    context = await with_legs(context, lexical=Saying(), dense=Raising(OSError()))
    answer = await recall(context, "me", REQUEST)
    assert answer.hits == ()
    assert answer.degraded == ("dense",)


async def test_recall_fails_when_every_leg_failed(context: Context) -> None:
    """An empty answer would claim that nothing is known."""
    gone = StoreUnavailable("the database is gone", remedy="Start it.")
    context = await with_legs(context, lexical=Raising(gone), dense=Hanging())
    with pytest.raises(StoreUnavailable) as failed:
        await recall(context, "me", REQUEST)
    assert failed.value is gone


async def test_recall_fails_when_every_leg_is_late(context: Context) -> None:
    context = await with_legs(context, lexical=Hanging())
    await change_settings(context, "me", {"deadline_ms": SHORT_MS})
    with pytest.raises(StoreUnavailable, match=f"deadline of {SHORT_MS} ms") as late:
        await recall(context, "me", REQUEST)
    assert "deadline_ms" in late.value.remedy


async def test_recall_cancels_its_legs_when_it_is_cancelled(context: Context) -> None:
    leg = Hanging()
    task = asyncio.create_task(recall(await with_legs(context, lexical=leg), "me", REQUEST))
    await leg.begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await leg.ended.wait()


async def test_recall_logs_nothing_when_a_late_leg_fails_afterwards(context: Context) -> None:
    """asyncio reports errors that were never retrieved; a hook's stderr must stay empty."""
    shouted: list[Mapping[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: shouted.append(context))
    leg = Hanging(last_words=OSError("connection lost"))
    await recall(await with_legs(context, dense=leg), "me", REQUEST)
    await leg.ended.wait()
    await asyncio.sleep(0)
    gc.collect()
    assert shouted == []


async def test_recall_keeps_the_deadline_while_texts_are_fetched() -> None:
    class StuckStore(InMemoryStore):
        async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
            await asyncio.Event().wait()
            return Fetched()

    context = await with_legs(build_context(StuckStore()))
    await change_settings(context, "me", {"deadline_ms": SHORT_MS})
    with pytest.raises(StoreUnavailable, match=f"deadline of {SHORT_MS} ms"):
        # The settings' deadline, not the default's, which is longer.
        async with asyncio.timeout(30):
            await recall(context, "me", REQUEST)


async def test_recall_keeps_the_deadline_while_settings_are_read() -> None:
    class StuckStore(InMemoryStore):
        async def read_settings(self) -> Mapping[str, object]:
            await asyncio.Event().wait()
            return {}

    with pytest.raises(StoreUnavailable, match=f"deadline of {RecallSettings().deadline_ms} ms"):
        await recall(build_context(StuckStore()), "me", REQUEST)


async def test_recall_does_not_show_a_memory_forgotten_since_its_leg_ran(context: Context) -> None:
    gone = await remember(context, "me", Draft("staging was frozen"))
    kept = await remember(context, "me", Draft("staging is frozen"))
    await forget(context, "me", str(gone.id))
    context = replace(context, legs={"lexical": Saying(candidates(gone, kept))})
    answer = await recall(context, "me", REQUEST)
    assert [hit.memory for hit in answer.hits] == [kept]
