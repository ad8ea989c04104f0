"""The worker's step that examines changed memories and proposes what to do about them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from recollect.usecases.curation.examine import CurationContext, Examined, examine_batch
from recollect.usecases.workers.backoff import BackoffEvent, Backoffs

OnCuration = Callable[[Examined | BackoffEvent], None]


class CurationStep:
    """A batch at a time. It yields to callers, and waits until a burst of stores is over. While the
    language model backs off, the rules decide alone: no memory waits for it.
    """

    quiet_seconds = 0.2

    def __init__(self, curation: CurationContext, on_event: OnCuration = lambda _: None) -> None:
        self._curation = curation
        self._on_event = on_event
        self._asking = Backoffs(self.report, time.monotonic)

    async def work(self, backoffs: Backoffs) -> bool:  # noqa: ARG002  # nothing waits for a model
        attempt = partial(self._asking.attempt, "model", "language model")
        done = await examine_batch(self._curation, attempt)
        if done is None:
            return False
        self._on_event(done)
        return True

    async def wait_for_work(self, seconds: float) -> None:
        await self._curation.store.wait_for_work(seconds)

    async def count_left(self) -> tuple[int, int]:
        return await self._curation.store.count_unexamined(), 0

    def report(self, event: BackoffEvent) -> None:
        self._on_event(event)
