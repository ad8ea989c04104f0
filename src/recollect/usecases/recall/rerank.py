"""The second stage with a cross-encoder: a model reads the query together with each of the first
hits, within a hard time limit. If it takes longer, or the model fails, the fused order is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from math import isfinite
from time import perf_counter
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.decisions import second_stage
from recollect.core.recall.ranking import Ranked, rearrange
from recollect.core.recall.request import RerankReport
from recollect.usecases.recall.legs import must_stay
from recollect.usecases.tasks import cancel, exception_of, measure_ms

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.context import RecallContext
    from recollect.ports.recall import Reranker
    from recollect.usecases.recall.steps import Ranking

_NO_MODEL: Final = (
    "no reranking model is configured; name one in RECOLLECT_RERANKER where recall runs, or do"
    " without: `recollect settings set second_stage late`"
)


async def rerank(context: RecallContext, reranker: Reranker | None, ranking: Ranking) -> Ranking:
    """Rerank with the cross-encoder if that is the second stage, and add its report."""
    if second_stage(context) != "cross-encoder":
        return ranking
    depth = context.settings.rerank_depth
    first, report = await _rerank_first(
        context, reranker, ranking.order[:depth], ranking.fetched.memories
    )
    return ranking._replace(order=[*first, *ranking.order[depth:]], rerank=report)


async def _rerank_first(
    context: RecallContext,
    reranker: Reranker | None,
    order: Sequence[Ranked],
    memories: Mapping[UUID, Memory],
) -> tuple[Sequence[Ranked], RerankReport]:
    """Rerank the first hits. Sensitive memories are not sent to the model and keep their places."""
    request = context.request
    if reranker is None:
        return order, RerankReport("absent", note=_NO_MODEL)
    if reranker.is_hosted and await must_stay(request):
        note = "the query is sensitive, and the reranker runs on another machine"
        return order, RerankReport("skipped", note=note)
    texts = {
        ranked.id: memory.content
        for ranked in order
        if (memory := memories.get(ranked.id)) is not None and not memory.is_sensitive
    }
    if not texts:
        return order, RerankReport("ran")
    started = perf_counter()
    seconds = min(context.settings.rerank_timeout_ms / 1000, context.deadline.left_for_rerank)
    work = reranker.scores(request.query, list(texts.values()))
    scoring = asyncio.ensure_future(work)
    try:
        await asyncio.wait({scoring}, timeout=seconds)
    finally:  # a model that ignores cancellation must not hold the recall up
        cancel(scoring)
    took_ms = measure_ms(started)
    if not scoring.done():
        note = f"not done within {seconds * 1000:.0f} ms: the fused order stands"
        return order, RerankReport("late", took_ms, note=note)
    if (error := exception_of(scoring)) is not None:
        return order, RerankReport("failed", took_ms, note=safe_message(error))
    scores = scoring.result()
    if len(scores) != len(texts) or not all(map(isfinite, scores)):
        note = "the model did not answer with one number for each text"
        return order, RerankReport("failed", took_ms, note=note)
    judged = dict(zip(texts, scores, strict=True))
    return rearrange(order, judged), RerankReport("ran", took_ms, len(judged))
