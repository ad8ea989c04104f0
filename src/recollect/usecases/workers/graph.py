"""The worker's step that fills the concept graph: reads what is new, compares new names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf

from recollect.usecases.graph.extract import (
    Compared,
    Extracted,
    GraphContext,
    compare_batch,
    extract_batch,
)
from recollect.usecases.graph.read import read_batch
from recollect.usecases.workers.backoff import BackoffEvent, Backoffs

OnGraph = Callable[[Extracted | Compared | BackoffEvent], None]


class GraphStep:
    """Reads memories by rules, then with a language model, then compares names: the most urgent
    first, one batch at a time, of which no memory is begun after so many `seconds`.
    """

    quiet_seconds = 0.2

    def __init__(
        self,
        context: GraphContext,
        on_event: OnGraph = lambda _: None,
        seconds: float = inf,
    ) -> None:
        self._context = context
        self._on_event = on_event
        self._seconds = seconds

    async def work(self, backoffs: Backoffs) -> bool:
        done: Extracted | Compared | None = await extract_batch(self._context, self._seconds)
        if done is None:
            read = partial(read_batch, self._context)
            done = await backoffs.attempt("reader", "language model", read)
        if done is None:
            compare = partial(compare_batch, self._context)
            done = await backoffs.attempt("embedder", "embedder", compare)
        if done is None:
            return False
        self._on_event(done)
        return True

    async def wait_for_work(self, seconds: float) -> None:
        await self._context.store.wait_for_work(seconds)

    async def count_left(self) -> tuple[int, int]:
        progress = await self._context.progress()
        return progress.waiting, progress.failing

    def report(self, event: BackoffEvent) -> None:
        self._on_event(event)
