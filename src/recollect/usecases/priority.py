"""Which calls are being answered in this process, so that background work yields to them.

A worker inside a server shares the processor, and one lock of the interpreter, with calls that
store or recall. A low priority alone makes that worse, since a thread that is preempted while it
holds the lock blocks all others. So such work pauses between two of its small steps instead. It
does not wait for ever: a server that is never quiet still embeds. See docs/adr/0030.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Final

Yield = Callable[[], Awaitable[None]]
"""Awaited before each small step of work that can wait."""

MAX_YIELD_SECONDS: Final = 0.2
"""Seconds that a step waits at the most."""
_is_awaited: Final = ContextVar("_is_awaited", default=False)
# Calls that follow each other as closely as this are one caller at work.
_QUIET: Final = 0.01


async def no_yield() -> None:
    """For a process that answers no calls."""


@contextmanager
def awaited_by_callers() -> Iterator[None]:
    """While entered, this task does not yield: callers wait for what it does."""
    before = _is_awaited.set(True)
    try:
        yield
    finally:
        _is_awaited.reset(before)


class Callers:
    """Counts the calls that are being answered."""

    def __init__(self) -> None:
        self._calls = 0
        self._last = -inf

    @contextmanager
    def answering(self) -> Iterator[None]:
        """While entered, a caller waits."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._last = asyncio.get_running_loop().time()

    async def yield_to_callers(self) -> None:
        """Return when no caller has waited for a moment, or when this step has waited enough."""
        if _is_awaited.get():
            return
        clock = asyncio.get_running_loop().time
        until = clock() + MAX_YIELD_SECONDS
        while (self._calls or clock() - self._last < _QUIET) and clock() < until:  # noqa: ASYNC110  # no event tells that a moment was quiet
            await asyncio.sleep(_QUIET)
