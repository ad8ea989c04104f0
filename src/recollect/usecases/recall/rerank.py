"""The second stage: a model reads the query together with each of the first hits, within a hard
limit of time. Past it, or when anything is wrong with the model, the fused order stands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from math import isfinite
from time import perf_counter
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.ranking import Ranked, rearrange
from recollect.core.recall.request import RecallRequest, RerankReport
from recollect.core.text.analysis import clean_query
from recollect.usecases.workers.tasks import cancel, error_of, ms_since

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.ports.recall import Reranker


async def rerank(
    reranker: Reranker | None,
    request: RecallRequest,
    order: Sequence[Ranked],
    memories: Mapping[UUID, Memory],
    seconds: float,
) -> tuple[list[Ranked], RerankReport]:
    """`order` in the second stage's order, and what became of it. Sensitive memories are not shown
    to the model and keep their places.
    """
    fused = list(order)
    if reranker is None:
        return fused, RerankReport("absent", note="no model for it: RECOLLECT_RERANKER names one")
    if reranker.is_hosted and request.must_stay:
        note = "the query is sensitive, and the reranker runs on another machine"
        return fused, RerankReport("skipped", note=note)
    texts = {
        one.id: memory.content
        for one in fused
        if (memory := memories.get(one.id)) is not None and not memory.is_sensitive
    }
    if not texts:
        return fused, RerankReport("ran")
    started = perf_counter()
    work = reranker.scores(clean_query(request.query), list(texts.values()))
    judging = asyncio.ensure_future(work)
    try:
        await asyncio.wait({judging}, timeout=max(seconds, 0.0))
    finally:  # a model that does not listen to cancellation must not hold the recall up
        cancel(judging)
    took_ms = ms_since(started)
    if not judging.done():
        note = f"not done within {seconds * 1000:.0f} ms: the fused order stands"
        return fused, RerankReport("late", took_ms, note=note)
    if (error := error_of(judging)) is not None:
        return fused, RerankReport("failed", took_ms, note=safe_message(error))
    scores = judging.result()
    if len(scores) != len(texts) or not all(map(isfinite, scores)):
        note = "the model did not answer with one number for each text"
        return fused, RerankReport("failed", took_ms, note=note)
    judged = dict(zip(texts, scores, strict=True))
    return rearrange(fused, judged), RerankReport("ran", took_ms, len(judged))
