"""How work that nobody waits for any more is ended, and how long it took."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import Any

from recollect.core.errors import StoreUnavailable


def give_up(task: asyncio.Task[Any]) -> None:
    """End a task that still runs, and look at how it ends: asyncio logs what nobody looked at."""
    task.cancel()
    task.add_done_callback(error_of)


def error_of(task: asyncio.Task[Any]) -> BaseException | None:
    if task.cancelled():
        return StoreUnavailable("it was interrupted", remedy="Try again.")
    return task.exception()


def ms_since(started: float) -> float:
    return (perf_counter() - started) * 1000
