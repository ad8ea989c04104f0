"""Report what an owner has stored, and how far the worker is with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.core.recall.space import EmbeddingStats

if TYPE_CHECKING:
    from recollect.core.admin.stats import Stats
    from recollect.ports.embedding import EmbeddingQueue
    from recollect.usecases.context import Context


async def stats(context: Context, owner: str) -> Stats:
    counted = await context.store.stats(owner)
    if context.graph_progress is not None:
        counted = replace(counted, graph=await context.graph_progress(owner))
    if context.queue is None:
        return counted
    return replace(counted, embedding=await embedding_stats(context.queue, owner))


async def embedding_stats(queue: EmbeddingQueue, owner: str) -> EmbeddingStats | None:
    """How far the active space is; None if there is none yet."""
    active = next((space for space in await queue.spaces() if space.state == "active"), None)
    if active is None:
        return None
    progress = await queue.progress(active, owner)
    return EmbeddingStats(
        space=active.space.name,
        embedded=progress.embedded,
        waiting=progress.waiting,
        parked=progress.parked,
        last_error=progress.last_error,
        languages=tuple(sorted(active.space.languages)),
    )
