"""How work that nobody waits for any more is ended, and how long it took."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any, Final

from recollect.core.errors import StoreUnavailable

# Longer than what is cancelled takes for its last word.
_AGAIN_SECONDS: Final = 10.0


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks that run for ever, and wait until they have ended. They are told again while
    they go on: before Python 3.12 `asyncio.wait_for`, by which libraries wait, loses a cancellation
    that comes together with what it waits for.
    """
    running = {task for task in tasks if not task.done()}
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=_AGAIN_SECONDS)


def cancel(task: asyncio.Future[Any]) -> None:
    """End a task that still runs, and look at how it ends: asyncio logs what nobody looked at."""
    task.cancel()
    task.add_done_callback(error_of)


def error_of(task: asyncio.Future[Any]) -> BaseException | None:
    if task.cancelled():
        return StoreUnavailable("it was interrupted", remedy="Try again.")
    return task.exception()


def ms_since(started: float) -> float:
    return (perf_counter() - started) * 1000
