"""Check whether the store answers, at most once a second however many requests ask.

The health endpoint needs no key and no slot, so it must not open the database to everyone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from recollect.usecases.tasks import exception_of

_SECONDS: Final = 1.0
T = TypeVar("T")


class SharedProbe(Generic[T]):
    """Runs a check, and shares its result or error with all calls within a second."""

    def __init__(self, check: Callable[[], Awaitable[T]]) -> None:
        self._check = check
        self._latest: asyncio.Task[T] | None = None
        self._until = 0.0

    async def __call__(self) -> T:
        now = asyncio.get_running_loop().time()
        latest = self._latest
        if latest is None or (latest.done() and now >= self._until):
            latest = self._latest = asyncio.create_task(self._run(), name="probe")
            # If all waiting callers are gone, nothing else would retrieve its error.
            latest.add_done_callback(exception_of)
            self._until = now + _SECONDS
        return await asyncio.shield(latest)

    async def _run(self) -> T:
        return await self._check()
