"""The worker's step that brings the engine of the search up to date with the store."""

from __future__ import annotations

from collections.abc import Callable

from recollect.ports.embedding import VectorOutbox
from recollect.usecases.workers.backoff import BackoffEvent, Backoffs


class OutboxStep:
    """Sends changes as long as there are any. While the engine cannot be reached, the worker backs
    off: what waits is in the store.
    """

    quiet_seconds = 0.0

    def __init__(
        self, outbox: VectorOutbox, on_backoff: Callable[[BackoffEvent], None] = lambda _: None
    ) -> None:
        self._outbox = outbox
        self._on_backoff = on_backoff

    async def work(self, _backoffs: Backoffs) -> bool:
        return await self._outbox.drain() > 0

    async def wait_for_work(self, seconds: float) -> None:
        await self._outbox.wait_for_changes(seconds)

    async def count_left(self) -> tuple[int, int]:
        return await self._outbox.unsent(), 0

    def report(self, event: BackoffEvent) -> None:
        self._on_backoff(event)
