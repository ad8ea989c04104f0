"""How tasks that run for ever are ended."""

from __future__ import annotations

import asyncio

import pytest

from recollect.usecases.workers import tasks

pytestmark = pytest.mark.anyio


async def test_a_task_that_loses_a_cancellation_is_told_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "_AGAIN_SECONDS", 0.01)
    told = 0

    async def hard_of_hearing() -> None:
        nonlocal told
        while told < 3:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                told += 1

    task = asyncio.create_task(hard_of_hearing())
    await asyncio.sleep(0)
    await tasks.end(task)
    assert task.done()
    assert told == 3


async def test_what_has_ended_is_not_waited_for() -> None:
    task = asyncio.create_task(asyncio.sleep(0, "answer"))
    await task
    await tasks.end(task)
    assert task.result() == "answer"
    await tasks.end()
