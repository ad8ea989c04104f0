"""The second stage of recall: a model that reads query and text together, off the event loop.

It is slow, so recall gives it a hard time limit and drops it after that. A run that no one waits
for must not keep using the processor: it stops at the next pair, and if the runtime can be
interrupted, inside one.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, Self

from recollect.core.errors import ModelUnavailable

# A model that failed to load is not tried again at every recall.
_RETRY_SECONDS = 60.0


class Stop:
    """Asks a run in another thread to stop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requested = False
        self._then: list[Callable[[], None]] = []

    @property
    def requested(self) -> bool:
        return self._requested

    def request(self) -> None:
        with self._lock:
            self._requested = True
            for interrupt in self._then:
                interrupt()

    def then(self, interrupt: Callable[[], None]) -> None:
        """Call `interrupt` when the run is asked to stop, or at once if it already was."""
        with self._lock:
            self._then.append(interrupt)
            if self._requested:
                interrupt()


class PairModel(Protocol):
    """A loaded model. Pairs are read one at a time: on a processor a batch with its padding saves
    nothing, and a score must not depend on its neighbours.
    """

    def score(self, query: str, text: str, stop: Stop) -> float: ...


class CrossEncoder:
    """A reranker around a model that `load` loads when first needed. One thread runs everything:
    two runs at once would only delay both.
    """

    def __init__(
        self, load: Callable[[], PairModel], *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._load = load
        self._now = now
        self._model: PairModel | None = None
        self._failed: tuple[float, ModelUnavailable] | None = None
        self._running: set[Stop] = set()
        # The thread starts with the first pair, so that an unused reranker costs nothing.
        self._pool = ThreadPoolExecutor(1, "rerank")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for stop in self._running:
            stop.request()
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)

    @property
    def is_hosted(self) -> bool:
        """The model runs in this process, wherever it was downloaded from."""
        return False

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query; only the order of the numbers has a meaning.
        Cancelling it also stops the work. ModelUnavailable if there is no usable model.
        """
        stop = Stop()
        loop = asyncio.get_running_loop()
        self._running.add(stop)
        try:
            return await loop.run_in_executor(self._pool, self._run, query, tuple(texts), stop)
        finally:
            # Without effect on a run that is over.
            stop.request()
            self._running.discard(stop)

    def _run(self, query: str, texts: Sequence[str], stop: Stop) -> list[float]:
        if not texts:
            return []
        model = self._ensure_loaded()
        found: list[float] = []
        for text in texts:
            if stop.requested:
                # Only seen by a caller that still waits when the reranker is closed.
                raise ModelUnavailable("The reranker was closed", remedy="Ask again.")
            found.append(model.score(query, text, stop))
        return found

    def _ensure_loaded(self) -> PairModel:
        if self._model is not None:
            return self._model
        if self._failed is not None and self._now() < self._failed[0] + _RETRY_SECONDS:
            earlier = self._failed[1]
            raise ModelUnavailable(str(earlier), remedy=earlier.remedy)
        try:
            self._model = self._load()
        except ModelUnavailable as error:
            self._failed = (self._now(), error)
            raise
        return self._model
