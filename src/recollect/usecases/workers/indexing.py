"""The worker's step that builds indexes of vectors for owners whose memories have become many."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from recollect.ports.embedding import Spaces
from recollect.usecases.workers.backoff import BackoffEvent, Backoffs
from recollect.usecases.workers.worker import Sleep

CHECK_SECONDS: Final = 300.0
"""Until its index is built, an owner's recall is complete, only slower."""


class IndexStep:
    """Keeps the indexes of the active space up to date. A space that is being filled gets its own
    before it is activated (`reembed`): one by one, vectors go into an index slowly.
    """

    quiet_seconds = 0.0

    def __init__(
        self,
        spaces: Spaces,
        on_backoff: Callable[[BackoffEvent], None] = lambda _: None,
        *,
        sleep: Sleep = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spaces = spaces
        self._on_backoff = on_backoff
        self._sleep = sleep
        self._now = now
        self._next_check = now()

    async def work(self, _backoffs: Backoffs) -> bool:
        if self._now() >= self._next_check:
            self._next_check = self._now() + CHECK_SECONDS
            for space in await self._spaces.spaces():
                if space.state == "active":
                    await self._spaces.build_indexes(space)
        return False

    async def wait_for_work(self, seconds: float) -> None:
        await self._sleep(seconds)

    async def count_left(self) -> tuple[int, int]:
        return 0, 0

    def report(self, event: BackoffEvent) -> None:
        self._on_backoff(event)
