"""From the legs' answers to the final order: fusion, exact-match bonus, prior, second stage.

Texts are read from the store only for what is shown, unless a stage has to look at more of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from recollect.core.fusion import Answers, Weights
from recollect.core.memory import Memory
from recollect.core.ranking import Ranked, exactness, rank
from recollect.core.recall import RecallRequest, RerankReport
from recollect.core.recall_settings import RecallSettings
from recollect.usecases.parts import Parts
from recollect.usecases.rerank import rerank


@dataclass(frozen=True, slots=True)
class Arranged:
    """The whole order, best first, with the memories of at least as many as were asked for; one
    that was forgotten since its leg ran has none.
    """

    order: Sequence[Ranked]
    memories: Mapping[UUID, Memory]
    rerank: RerankReport | None


async def arrange(
    parts: Parts,
    owner: str,
    request: RecallRequest,
    settings: RecallSettings,
    weights: Weights,
    answers: Answers,
    *,
    until: float,
) -> Arranged:
    """`until` is the moment of the event loop's clock at which the second stage must be over."""
    fused = await parts.fuser(answers, weights, settings.fusion, settings.constant)
    memories: dict[UUID, Memory] = {}
    bonuses: dict[UUID, float] | None = None
    if settings.exact_bonus > 0.0 and request.sort_by != "recency":
        memories = await parts.store.get_many(owner, [one.candidate.id for one in fused])
        bonuses = {
            id: 1.0 + settings.exact_bonus * exactness(request.query, memory.content)
            for id, memory in memories.items()
        }
    order = rank(fused, request.sort_by, bonuses, settings.prior_strength)
    reranking = settings.rerank and request.sort_by == "relevance"
    wanted = max(request.limit, settings.rerank_depth) if reranking else request.limit
    if bonuses is None:
        memories = await parts.store.get_many(owner, [one.id for one in order[:wanted]])
    if not reranking:
        return Arranged(order, memories, None)
    left = until - asyncio.get_running_loop().time()
    first, report = await rerank(
        parts.reranker,
        request,
        order[: settings.rerank_depth],
        memories,
        min(settings.rerank_timeout_ms / 1000, max(left, 0.0)),
    )
    return Arranged([*first, *order[settings.rerank_depth :]], memories, report)
