"""Whether the store answers, checked at most once a second however many ask.

Health needs no key and no slot, so it must not open the database to everyone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from recollect.usecases.tasks import exception_of

_SECONDS: Final = 1.0


class SharedProbe:
    """Runs the check, and shares its result or error with everyone who asks within a second."""

    def __init__(self, ask: Callable[[], Awaitable[object]]) -> None:
        self._ask = ask
        self._asked: asyncio.Task[None] | None = None
        self._until = 0.0

    async def __call__(self) -> None:
        now = asyncio.get_running_loop().time()
        asked = self._asked
        if asked is None or (asked.done() and now >= self._until):
            asked = self._asked = asyncio.create_task(self._run(), name="probe")
            # If everyone who waited is gone, nothing else would retrieve its error.
            asked.add_done_callback(exception_of)
            self._until = now + _SECONDS
        await asyncio.shield(asked)

    async def _run(self) -> None:
        await self._ask()
