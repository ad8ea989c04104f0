"""Running and cancelling background tasks, and measuring how long work took."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

from recollect.core.errors import StoreUnavailable


async def cancel_and_wait(*tasks: asyncio.Task[Any], cancel_again: float = 10.0) -> None:
    """Cancel tasks that run forever, and wait until they have ended. They are cancelled again
    while they go on: before Python 3.12 `asyncio.wait_for`, by which libraries wait, loses a
    cancellation that comes together with what it waits for. `cancel_again` is longer than a
    cancelled task takes to clean up.
    """
    running = {task for task in tasks if not task.done()}
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=cancel_again)


@asynccontextmanager
async def repeating(work: Callable[[], Awaitable[None]], seconds: float) -> AsyncIterator[None]:
    """While entered, do the work every so many seconds, and once more at the end."""

    async def repeat() -> None:
        while True:
            await asyncio.sleep(seconds)
            await work()

    running = asyncio.create_task(repeat(), name=work.__qualname__)
    try:
        yield
    finally:
        await cancel_and_wait(running)
        await work()


def cancel(task: asyncio.Future[Any]) -> None:
    """Cancel a task, and retrieve its error: asyncio logs errors that are never retrieved."""
    task.cancel()
    task.add_done_callback(exception_of)


def exception_of(task: asyncio.Future[Any]) -> BaseException | None:
    if task.cancelled():
        return StoreUnavailable("the operation was cancelled", remedy="Try again.")
    return task.exception()


def elapsed_ms(started: float) -> float:
    return (perf_counter() - started) * 1000
