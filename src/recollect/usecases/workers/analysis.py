"""The worker's step that analyzes memories again after the analyzer has changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from recollect.usecases.workers.backoff import BackoffEvent, Backoffs

_BATCH: Final = 200

OnAnalysis = Callable[[int | BackoffEvent], None]


class Reanalyzing(Protocol):
    """A store that keeps what memories are found by."""

    async def reanalyze(self, limit: int) -> int:
        """Analyze what an earlier version of the analyzer left, up to so many; how many it was."""


class AnalysisStep:
    """A batch at a time, so that no writer waits long for the rows."""

    quiet_seconds = 0.0

    def __init__(self, store: Reanalyzing, on_event: OnAnalysis = lambda _: None) -> None:
        self._store = store
        self._on_event = on_event

    async def work(self, backoffs: Backoffs) -> bool:  # noqa: ARG002  # nothing but the store fails
        done = await self._store.reanalyze(_BATCH)
        if done:
            self._on_event(done)
        return done > 0

    async def wait_for_work(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def count_left(self) -> tuple[int, int]:
        return 0, 0

    def report(self, event: BackoffEvent) -> None:
        self._on_event(event)
