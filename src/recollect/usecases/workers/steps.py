"""The steps that `Worker` runs until it is stopped, one for each kind of work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final, Protocol

from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.recall.space import StoredSpace
from recollect.ports.embedding import Spaces, VectorOutbox
from recollect.usecases.curation.propose import CurationContext, Examined, examine_batch
from recollect.usecases.graph.extract import (
    Compared,
    Extracted,
    GraphContext,
    compare_batch,
    extract_batch,
    read_batch,
)
from recollect.usecases.workers.backoff import BackoffEvent, Backoffs
from recollect.usecases.workers.embed import (
    WHOLE_BATCH,
    Budget,
    Embedded,
    EmbeddingContext,
    OnEmbedding,
    embed_batch,
)
from recollect.usecases.workers.worker import Sleep

_BATCH: Final = 200

OnAnalysis = Callable[[int | BackoffEvent], None]


class Reanalyzing(Protocol):
    """A store that keeps the results of text analysis."""

    async def reanalyze(self, limit: int) -> int:
        """Reanalyze up to `limit` memories of an earlier analyzer version; return how many."""


class AnalysisStep:
    """Reanalyzes in batches, so that no writer waits long for the rows."""

    quiet_seconds = 0.0

    def __init__(self, store: Reanalyzing, on_event: OnAnalysis = lambda _: None) -> None:
        self._store = store
        self._on_event = on_event

    async def work(self, backoffs: Backoffs) -> bool:  # noqa: ARG002  # only the store can fail
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


OnCuration = Callable[[Examined | BackoffEvent], None]


class CurationStep:
    """Examines changed memories and proposes what to do about them, a batch at a time. It yields to
    callers, and waits until a burst of writes is over. While the language model backs off, the
    rules decide alone: no memory waits for it.
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


OnGraph = Callable[[Extracted | Compared | BackoffEvent], None]


class GraphStep:
    """Fills the concept graph: reads memories by rules, then with a language model, then compares
    names. One batch at a time, the most urgent first; no memory is begun after `seconds`.
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


CHECK_SECONDS: Final = 300.0
"""How often to check: until an owner's index is built, recall is complete, only slower."""


class IndexStep:
    """Builds vector indexes in the active space, for owners who now have many memories. A space
    that is being filled gets its indexes before it is activated (`reembed`): inserting vectors into
    an index one by one is slow.
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


class OutboxStep:
    """Sends the store's changes to the vector search engine. While that is unreachable, the worker
    backs off; unsent changes stay in the store.
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


class EmbeddingStep:
    """Embeds for every space that is active or filling. A space whose model does not work backs
    off; the others continue.
    """

    quiet_seconds = 0.1

    def __init__(
        self,
        context: EmbeddingContext,
        on_event: OnEmbedding = lambda _: None,
        budget: Budget = WHOLE_BATCH,
    ) -> None:
        self._context = context
        self._on_event = on_event
        self._budget = budget
        self._working: set[int] = set()  # spaces whose model is known to work

    async def work(self, backoffs: Backoffs) -> bool:
        """Embed one batch for each space, the active one first."""
        worked = False
        for space in await self._spaces(backoffs):
            embed = partial(self._embed, space)
            done = await backoffs.attempt(space.id, space.space.name, embed)
            if done is not None:
                self._on_event(done)
                worked = True
        return worked

    async def wait_for_work(self, seconds: float) -> None:
        await self._context.queue.wait_for_work(seconds)

    async def count_left(self) -> tuple[int, int]:
        queue = self._context.queue
        progress = [await queue.progress(space) for space in await _spaces_in_use(self._context)]
        return sum(part.waiting for part in progress), sum(part.failing for part in progress)

    def report(self, event: BackoffEvent) -> None:
        self._on_event(event)

    async def _embed(self, space: StoredSpace) -> Embedded | None:
        known_to_work = space.id in self._working
        self._working.discard(space.id)
        done = await embed_batch(
            self._context, space, known_to_work=known_to_work, budget=self._budget
        )
        self._working.add(space.id)
        return done

    async def _spaces(self, backoffs: Backoffs) -> list[StoredSpace]:
        spaces = await _spaces_in_use(self._context)
        if not any(space.state == "active" for space in spaces):
            default = self._context.default
            first = await backoffs.attempt(None, default, lambda: open_first_space(self._context))
            spaces += [] if first is None else [first]
        return sorted(spaces, key=lambda space: space.state != "active")


async def retry_parked(context: EmbeddingContext) -> int:
    """Retry what is parked or waiting after a failure, in every space in use."""
    spaces = await _spaces_in_use(context)
    return sum([await context.queue.retry_parked(space) for space in spaces])


async def open_first_space(context: EmbeddingContext) -> StoredSpace | None:
    """Open the space of the configured model in a database that has no active one; return None if
    no model is configured or another process was faster.
    """
    if context.default == NO_EMBEDDER:
        return None
    before = {space.id for space in await context.queue.spaces()}
    embedder = await context.embedders.embedder(context.default)
    opened = await context.queue.open_space(context.default, embedder.space)
    if opened.state == "active":
        return opened
    if opened.id not in before:  # a second space is not wanted
        await context.queue.drop_space(opened)
    return None


async def _spaces_in_use(context: EmbeddingContext) -> list[StoredSpace]:
    return [space for space in await context.queue.spaces() if space.state != "retired"]
