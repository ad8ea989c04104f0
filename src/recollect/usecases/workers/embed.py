"""Embed some of what has no vector yet, and see to it that nothing stands in the way of the rest.

A text that its model cannot read is counted against that text alone, and parked when it failed too
often. A model that cannot work at all is another matter: no text is blamed for it. What was claimed
when anything struck is still in the queue: the queue is the data (docs/adr/0008).

A text that was claimed may be changed, forgotten or made sensitive while others are embedded. So it
is looked at again before each further request, and no text is held while waiting: a model
that is busy or slow gets nothing more, and the caller of the batch decides when to retry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import hypot, isfinite
from typing import Final
from uuid import UUID

from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import (
    ModelBusy,
    ModelSlow,
    ModelUnavailable,
    RecollectError,
    StoreError,
)
from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.space import EmbeddingJob, StoredSpace
from recollect.ports.embedding import Embedder, Embedders, EmbeddingQueue
from recollect.usecases.workers.backoff import BackoffEvent

# A model that takes a second for a text must be done with a batch before its claim lapses.
BATCH: Final = 32
# A text that every model can read: when it fails, the model is at fault and not the text.
_PROBE: Final = "recollect"
# What is not begun so long after a claim is given back: a request may take 20 s
# (adapters/models/hosted/retries.py), and the vectors must be kept before the claim lapses.
BEGIN_SECONDS: Final = 25.0


@dataclass(frozen=True, slots=True)
class EmbeddingContext:
    """What embedding needs. `default` names the model of the first space a database gets."""

    queue: EmbeddingQueue
    embedders: Embedders
    default: str
    timeouts: Timeouts = TIMEOUTS


@dataclass(frozen=True, slots=True)
class Embedded:
    """A batch was worked on: so many vectors were kept, and these memories failed."""

    space: StoredSpace
    kept: int
    failed: tuple[UUID, ...] = ()


OnEmbedding = Callable[[Embedded | BackoffEvent], None]


async def embed_batch(
    context: EmbeddingContext, space: StoredSpace, *, known_to_work: bool
) -> Embedded | None:
    """Embed some of what a space needs; None when there is nothing to do just now.

    ModelUnavailable or InvalidInput when its model cannot work here: nothing is counted then.
    """
    embedder = await _ready_embedder(context, space, known_to_work=known_to_work)
    jobs = await context.queue.claim(space, BATCH)
    if not jobs:
        await context.queue.recovered(space)
        return None
    batch = _Batch(context.queue, space, embedder)
    try:
        await batch.embed(jobs)
    except asyncio.CancelledError:
        with suppress(RecollectError, TimeoutError):
            async with asyncio.timeout(context.timeouts.give_back):
                await context.queue.give_back(space, jobs)
        raise
    except RecollectError as error:
        await _keep(context.queue, space, batch)
        await context.queue.give_back(space, batch.untried(jobs), str(error))
        raise
    kept = await _keep(context.queue, space, batch)
    if untried := batch.untried(jobs):
        await context.queue.give_back(space, untried)
    return Embedded(space, kept, tuple(job.memory_id for job, _ in batch.failed))


@dataclass(slots=True)
class _Batch:
    """A batch on its way: what has a vector, and what failed by itself."""

    queue: EmbeddingQueue
    space: StoredSpace
    embedder: Embedder
    done: list[tuple[EmbeddingJob, Sequence[float]]] = field(default_factory=list)
    failed: list[tuple[EmbeddingJob, str]] = field(default_factory=list)
    is_fresh: bool = True  # nothing was asked since the claim

    async def embed(self, jobs: Sequence[EmbeddingJob]) -> None:
        """Halve what fails until the texts at fault are alone; raise when it is the model. Ends
        early when time is up.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + BEGIN_SECONDS
        waiting = [list(jobs)]
        while waiting and clock() < until:
            group = await self._next(waiting)
            if not group:
                continue
            try:
                vectors = await _vectors(self.embedder, [job.text for job in group])
            except Exception as error:  # whatever one text provokes, the others go on
                if isinstance(error, ModelBusy) or (isinstance(error, ModelSlow) and group[1:]):
                    raise  # later, or fewer at once, may do
                if clock() >= until:
                    return
                await _probe(self.embedder)
                if len(group) == 1:
                    self.failed.append((group[0], safe_message(error)))
                else:
                    middle = len(group) // 2
                    waiting += [group[middle:], group[:middle]]
            else:
                self.done.extend(zip(group, vectors, strict=True))

    async def _next(self, waiting: list[list[EmbeddingJob]]) -> list[EmbeddingJob]:
        """What goes into the next request, as it still is; the others wait on."""
        group = waiting.pop()
        if not self.is_fresh:
            group = await self.queue.unchanged(self.space, group)
        self.is_fresh = False
        most = self.embedder.at_once([job.text for job in group])
        if group[most:]:
            waiting.append(group[most:])
        return group[:most]

    def untried(self, jobs: Sequence[EmbeddingJob]) -> list[EmbeddingJob]:
        tried = {job for job, _ in (*self.done, *self.failed)}
        return [job for job in jobs if job not in tried]


async def _keep(queue: EmbeddingQueue, space: StoredSpace, batch: _Batch) -> int:
    kept = await _finish(queue, space, batch.done, batch.failed)
    for job, error in batch.failed:
        await queue.fail(space, [job], error)
    return kept


async def _finish(
    queue: EmbeddingQueue,
    space: StoredSpace,
    done: Sequence[tuple[EmbeddingJob, Sequence[float]]],
    failed: list[tuple[EmbeddingJob, str]],
) -> int:
    """Keep the vectors; one that the store refuses must not keep the others out."""
    if not done:
        return 0
    try:
        return await queue.finish(space, done)
    except StoreError as error:
        if type(error) is not StoreError:  # unreachable, busy, full: no vector's fault
            raise
        if len(done) == 1:
            failed.append((done[0][0], str(error)))
            return 0
    middle = len(done) // 2
    kept = await _finish(queue, space, done[:middle], failed)
    return kept + await _finish(queue, space, done[middle:], failed)


async def _ready_embedder(
    context: EmbeddingContext, space: StoredSpace, *, known_to_work: bool
) -> Embedder:
    """The space's own model: one that has changed under its name writes another space."""
    try:
        embedder = await context.embedders.embedder(space.embedder)
        space.require(embedder.space)
        if not known_to_work and not embedder.is_hosted:
            # Brings the model into memory, which may take long, before any text is claimed.
            await _probe(embedder)
    except RecollectError as error:
        await context.queue.give_back(space, [], str(error))
        raise
    return embedder


async def _probe(embedder: Embedder) -> None:
    """ModelUnavailable when the model cannot embed even a plain word."""
    try:
        await _vectors(embedder, [_PROBE])
    except RecollectError:
        raise
    except Exception as error:
        raise ModelUnavailable(
            f"{embedder.space.model} fails with {type(error).__name__}",
            remedy="Fetch or export the model again, or choose another one.",
        ) from error


async def _vectors(embedder: Embedder, texts: Sequence[str]) -> list[list[float]]:
    vectors = await embedder.embed_documents(texts)
    dimensions = {len(vector) for vector in vectors}
    if len(vectors) != len(texts) or dimensions != {embedder.space.dimension}:
        raise ModelUnavailable(
            f"{embedder.space.model} made {len(vectors)} vectors of dimension "
            f"{sorted(dimensions)} for {len(texts)} texts, instead of dimension "
            f"{embedder.space.dimension}",
            remedy="Check the model's address or files: they belong to another model.",
        )
    if not all(
        isfinite(length) and length > 0.0 for length in (hypot(*vector) for vector in vectors)
    ):
        raise ModelUnavailable(
            f"{embedder.space.model} made a vector that has no direction",
            remedy="Fetch or export the model again, or choose another one.",
        )
    return vectors
