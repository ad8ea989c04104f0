"""Report what an owner has stored, and how far the worker has processed it."""

from __future__ import annotations

from dataclasses import astuple, replace
from typing import TYPE_CHECKING

from recollect.core.memory.listing import expiring
from recollect.core.recall.space import EmbeddingStats, StoredSpace

if TYPE_CHECKING:
    from recollect.core.admin.stats import Stats
    from recollect.ports.embedding import EmbeddingQueue
    from recollect.usecases.context import Context


async def stats(context: Context, owner: str) -> Stats:
    soon = await context.store.table(owner, expiring(context.clock.now()))
    counted = replace(
        await context.store.stats(owner),
        expiring=soon.total,
        former_names=await context.store.former_names(owner),
    )
    if context.graph_progress is not None:
        counted = replace(counted, graph=await context.graph_progress(owner))
    if context.curation_counts is not None:
        curation = await context.curation_counts(owner)
        counted = replace(counted, curation=curation if any(astuple(curation)) else None)
    if context.queue is None:
        return counted
    active = await _active_space(context.queue)
    if active is None:
        return counted
    embedding = await _embedding_stats(context.queue, active, owner)
    # Counted separately: the progress is also read by recalls, which do not need this.
    token_bytes = await context.queue.token_bytes(active, owner)
    return replace(counted, embedding=replace(embedding, token_bytes=token_bytes))


async def embedding_stats(queue: EmbeddingQueue, owner: str) -> EmbeddingStats | None:
    """Return the progress of the active space, or None if there is none yet."""
    active = await _active_space(queue)
    return None if active is None else await _embedding_stats(queue, active, owner)


async def _active_space(queue: EmbeddingQueue) -> StoredSpace | None:
    return next((space for space in await queue.spaces() if space.state == "active"), None)


async def _embedding_stats(
    queue: EmbeddingQueue, active: StoredSpace, owner: str
) -> EmbeddingStats:
    from recollect.ports.embedding import VectorOutbox

    progress = await queue.progress(active, owner)
    return EmbeddingStats(
        space=active.space.name,
        embedded=progress.embedded,
        waiting=progress.waiting,
        parked=progress.parked,
        last_error=progress.last_error,
        languages=tuple(sorted(active.space.languages)),
        unsent=await queue.unsent(owner) if isinstance(queue, VectorOutbox) else 0,
        embedder=active.embedder,
    )
