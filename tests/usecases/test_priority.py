"""Background work yields to callers, except work that they wait for."""

from __future__ import annotations

import asyncio

import pytest

from recollect.usecases.priority import MAX_YIELD_SECONDS, Callers, awaited_by_callers

pytestmark = pytest.mark.anyio


async def test_work_yields_to_callers_unless_they_wait_for_it() -> None:
    clock, callers = asyncio.get_running_loop().time, Callers()
    with callers.answering():
        begun = clock()
        with awaited_by_callers():
            await asyncio.create_task(callers.yield_to_callers())
        assert clock() == begun
        await callers.yield_to_callers()
        assert clock() - begun >= MAX_YIELD_SECONDS
