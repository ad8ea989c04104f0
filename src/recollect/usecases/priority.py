"""Which calls are being answered in this process, so that background work yields to them.

A worker inside a server shares the processor and the interpreter lock with calls that store or
recall. A low priority alone makes that worse, since a thread that is preempted while it holds the
lock blocks all others. So background work pauses between its small steps instead. It does not wait
forever: a server that is never quiet still embeds. See docs/adr/0030.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Final

Yield = Callable[[], Awaitable[None]]
"""Awaited before each small step of background work."""

MAX_YIELD_SECONDS: Final = 0.2
"""How long a step waits at most."""
_is_awaited: Final = ContextVar("_is_awaited", default=False)
# Calls that follow each other within this time belong to one active caller.
_QUIET_SECONDS: Final = 0.01


async def no_yield() -> None:
    """For a process that answers no calls."""


@contextmanager
def awaited_by_callers() -> Iterator[None]:
    """Keep this task from yielding inside the block: callers wait for its result."""
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
        """Count a call as being answered inside the block."""
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._last = asyncio.get_running_loop().time()

    async def yield_to_callers(self) -> None:
        """Return once no caller has waited for a moment, or after `MAX_YIELD_SECONDS`."""
        if _is_awaited.get():
            return
        clock = asyncio.get_running_loop().time
        until = clock() + MAX_YIELD_SECONDS
        while (self._calls or clock() - self._last < _QUIET_SECONDS) and clock() < until:  # noqa: ASYNC110  # no event reports a quiet moment
            await asyncio.sleep(_QUIET_SECONDS)
