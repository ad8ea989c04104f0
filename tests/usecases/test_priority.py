"""Work that can wait lets whoever is being answered go first, and is not kept waiting for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.strategies import MOMENT
from tests.usecases.conftest import build_context

from recollect.adapters.in_memory import InMemoryStore
from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import Draft, Memory, Scope
from recollect.core.recall.request import Candidate, RecallRequest
from recollect.core.recall.settings import WordQuery
from recollect.ports.service import Service
from recollect.usecases.priority import MAX_YIELD_SECONDS, Callers
from recollect.usecases.service import LocalService

pytestmark = pytest.mark.anyio


async def waited(work: Awaitable[object]) -> float:
    clock = asyncio.get_running_loop().time
    begun = clock()
    await work
    return clock() - begun


async def call(callers: Callers, seconds: float) -> None:
    with callers.answering():
        await asyncio.sleep(seconds)


async def test_where_nobody_calls_nothing_waits() -> None:
    assert await waited(Callers().yield_to_callers()) == 0.0


async def test_a_step_waits_until_a_call_is_answered_and_a_moment_longer() -> None:
    callers = Callers()
    calling = asyncio.create_task(call(callers, 0.05))
    await asyncio.sleep(0)
    assert 0.06 <= await waited(callers.yield_to_callers()) < 0.09
    assert calling.done()
    assert await waited(callers.yield_to_callers()) == 0.0


async def test_a_call_that_failed_is_over() -> None:
    callers = Callers()
    with pytest.raises(ValueError, match="no"), callers.answering():
        raise ValueError("no")
    await asyncio.sleep(1.0)
    assert await waited(callers.yield_to_callers()) == 0.0


async def test_calls_that_follow_each_other_closely_hold_up_no_step_for_ever() -> None:
    callers = Callers()

    async def storing() -> None:
        while True:
            await call(callers, 0.002)
            await asyncio.sleep(0.004)

    calling = asyncio.create_task(storing())
    await asyncio.sleep(0)
    assert await waited(callers.yield_to_callers()) == pytest.approx(MAX_YIELD_SECONDS, abs=0.011)
    calling.cancel()


class SlowStore(InMemoryStore):
    """Takes a while for what is asked of it here."""

    async def add(self, memory: Memory) -> None:
        await asyncio.sleep(0.05)
        await super().add(memory)

    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        await asyncio.sleep(0.05)
        return await super().search_words(owner, scope, query)

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        await asyncio.sleep(0.05)
        return await super().replace(memory, based_on=based_on)


ID = uuid7(MOMENT, bytes(10))


@pytest.mark.parametrize(
    "ask",
    [
        lambda mine: mine.remember(Draft("the river, too")),
        lambda mine: mine.recall(RecallRequest("harbour")),
        lambda mine: mine.update(str(ID), {"importance": 0.5}),
    ],
    ids=["remember", "recall", "update"],
)
async def test_the_calls_that_people_wait_for_are_counted(
    ask: Callable[[Service], Awaitable[object]],
) -> None:
    context = build_context(SlowStore())
    mine = LocalService(context, "me")
    await mine.remember(Draft("the harbour freezes in January", id=ID))
    await asyncio.sleep(1.0)
    asking = asyncio.ensure_future(ask(mine))
    await asyncio.sleep(0)
    assert await waited(context.callers.yield_to_callers()) >= 0.05
    await asking
