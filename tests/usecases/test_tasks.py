"""How tasks that run for ever are ended."""

from __future__ import annotations

import asyncio

import pytest

from recollect.usecases import tasks

pytestmark = pytest.mark.anyio


async def test_cancel_and_wait_cancels_a_task_again_that_lost_a_cancellation() -> None:
    cancelled = 0

    async def lose_cancellations() -> None:
        nonlocal cancelled
        while cancelled < 3:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                cancelled += 1

    task = asyncio.create_task(lose_cancellations())
    await asyncio.sleep(0)
    await tasks.cancel_and_wait(task, cancel_again=0.01)
    assert task.done()
    assert cancelled == 3


async def test_cancel_and_wait_ignores_what_has_ended() -> None:
    task = asyncio.create_task(asyncio.sleep(0, "answer"))
    await task
    await tasks.cancel_and_wait(task)
    assert task.result() == "answer"
    await tasks.cancel_and_wait()
