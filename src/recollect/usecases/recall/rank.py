"""From the fused order to the final one: exact-match bonus, prior, second stage.

Texts are read from the store only for what is shown, unless a stage has to look at more of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.recall.ranking import Ranked, exactness, rank
from recollect.core.recall.successors import Fetched
from recollect.usecases.recall.rerank import rerank

if TYPE_CHECKING:
    from recollect.core.recall.fusion import Fused
    from recollect.core.recall.request import RecallRequest, RerankReport
    from recollect.core.recall.settings import RecallSettings
    from recollect.usecases.context import Context


@dataclass(frozen=True, slots=True)
class RankedHits:
    """The whole order, best first, with the memories of at least as many as were asked for; one
    that was forgotten since its leg ran has none.
    """

    order: Sequence[Ranked]
    fetched: Fetched
    rerank: RerankReport | None


async def rank_hits(
    context: Context,
    owner: str,
    request: RecallRequest,
    settings: RecallSettings,
    fused: Sequence[Fused],
    *,
    until: float,
) -> RankedHits:
    """`until` is the moment of the event loop's clock at which the second stage must be over."""
    fetched = Fetched()
    bonuses: dict[UUID, float] | None = None
    if settings.exact_bonus > 0.0 and request.sort_by != "recency":
        everything = [one.candidate.id for one in fused]
        fetched = await context.store.fetch(owner, everything, request.as_of)
        bonuses = {
            id: 1.0 + settings.exact_bonus * exactness(request.query, memory.content)
            for id, memory in fetched.memories.items()
        }
    order = rank(fused, request.sort_by, bonuses, settings.prior_strength)
    reranking = settings.rerank and request.sort_by == "relevance"
    wanted = max(request.limit, settings.rerank_depth) if reranking else request.limit
    if bonuses is None:
        first_ids = [one.id for one in order[:wanted]]
        fetched = await context.store.fetch(owner, first_ids, request.as_of)
    if not reranking:
        return RankedHits(order, fetched, None)
    left = until - asyncio.get_running_loop().time()
    first, report = await rerank(
        context.reranker,
        request,
        order[: settings.rerank_depth],
        fetched.memories,
        min(settings.rerank_timeout_ms / 1000, max(left, 0.0)),
    )
    return RankedHits([*first, *order[settings.rerank_depth :]], fetched, report)
