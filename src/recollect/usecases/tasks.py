"""Running and cancelling background tasks, analyzing long texts, and measuring time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

from recollect.core.errors import StoreUnavailable

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MAX_CHARS_ON_LOOP: Final = 1_000
"""Analyzing more takes over ten milliseconds, which would block the event loop."""


async def analyze_text(chars: int, work: Callable[[*Ts], T], *arguments: *Ts) -> T:
    """Run `work` on texts of this total length: in a thread if they are long."""
    if chars <= MAX_CHARS_ON_LOOP:
        return work(*arguments)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_text_threads(), partial(work, *arguments))


@cache
def _text_threads() -> ThreadPoolExecutor:
    """Two threads: the work is pure Python, and more would delay the event loop."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(2, "analyze-text")


async def cancel_and_wait(*tasks: asyncio.Task[Any], cancel_again: float = 10.0) -> None:
    """Cancel tasks that run forever, and wait until they have ended. Those still running after
    `cancel_again` seconds are cancelled again: before Python 3.12 `asyncio.wait_for`, which
    libraries use, loses a cancellation that arrives together with the result. `cancel_again` must
    be longer than a cancelled task needs to clean up.
    """
    running = {task for task in tasks if not task.done()}
    while running:
        for task in running:
            task.cancel()
        _, running = await asyncio.wait(running, timeout=cancel_again)


@asynccontextmanager
async def repeating(work: Callable[[], Awaitable[None]], seconds: float) -> AsyncIterator[None]:
    """Inside the block, run `work` every `seconds`, and once more at the end."""

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


def measure_ms(started: float) -> float:
    return (perf_counter() - started) * 1000
