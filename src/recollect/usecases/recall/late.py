"""The second stage by late interaction: the query's tokens against those of the first hits
(`core/recall/late.py`), in one fetch and one computation, within a hard time limit.

The dense leg has already embedded the query with the model that wrote the memories' tokens. If that
leg was late or off, if the model has no tokens or does not know the query's language, or if
anything fails, the fused order is kept and the report says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.core.privacy.redaction import safe_message
from recollect.core.recall.late import Comparison, combine, similar_words
from recollect.core.recall.ranking import Ranked, rearrange
from recollect.core.recall.request import RerankReport, StageStatus
from recollect.ports.embedding import TokenEmbedder
from recollect.usecases.tasks import measure_ms

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.late import TokenVectors
    from recollect.core.recall.space import StoredSpace
    from recollect.core.text.passages import Span
    from recollect.ports.embedding import Embedders, TokenCodec
    from recollect.ports.recall import TokenIndex

_NOT_EMBEDDED: Final = "the query was not embedded"
_NO_TOKENS: Final = "none of the first hits has token vectors"


class LateStage:
    """Implements `LateInteraction` over one index of tokens, with the models that this process can
    run.
    """

    def __init__(self, tokens: TokenIndex, embedders: Embedders) -> None:
        self._tokens = tokens
        self._embedders = embedders

    async def rescore(
        self, context: RecallContext, order: Sequence[Ranked]
    ) -> tuple[Sequence[Ranked], RerankReport]:
        """Return the order with its first hits reranked, and the stage's report. A memory without
        tokens keeps its place.
        """
        started = perf_counter()
        depth = context.settings.rerank_depth
        seconds = min(context.settings.rerank_timeout_ms / 1000, context.deadline.left_for_rerank)
        try:
            async with asyncio.timeout(seconds):
                found = await self._compare(context, order[:depth])
        except TimeoutError:
            note = f"not done within {seconds * 1000:.0f} ms: the fused order stands"
            return order, _report("late", started, note=note)
        except Exception as error:  # noqa: BLE001  # whatever fails, the fused order is there
            return order, _report("failed", started, note=safe_message(error))
        if isinstance(found, str):
            return order, RerankReport("skipped", note=found, stage="late")
        first = _rearrange(context, order[:depth], found)
        return [*first, *order[depth:]], _report("ran", started, reranked=len(found))

    async def _compare(
        self, context: RecallContext, first: Sequence[Ranked]
    ) -> dict[UUID, Comparison] | str:
        """Compare the query's tokens with each memory's; return a note if there is nothing to
        compare. A long text is judged by the passage that the dense leg found: somewhere in a
        hundred pages there is a word similar to each word of the query.
        """
        space, tokens = context.encoded.space, context.encoded.tokens
        if space is None:
            return _NOT_EMBEDDED
        if tokens is None:
            return f"{space.embedder} has no token vectors"
        if not tokens.spans:
            return "the query has no words"
        if context.encoded.trust == 0.0:
            return f"{space.embedder} does not know the query's language"
        codec = await self._codec(space)
        if codec is None:
            return f"{space.embedder} has no token vectors"
        passages = {ranked.id: _passage(ranked) for ranked in first}
        stored = await self._tokens.token_vectors(context.owner, space, passages)
        if not stored:
            return _NO_TOKENS
        query = context.request.query
        compared = await asyncio.to_thread(_compare, codec, query, tokens, stored)
        return compared or _NO_TOKENS

    async def _codec(self, space: StoredSpace) -> TokenCodec | None:
        embedder = await self._embedders.embedder(space.embedder)
        return embedder.codec if isinstance(embedder, TokenEmbedder) else None


def _report(
    status: StageStatus, started: float, *, reranked: int = 0, note: str | None = None
) -> RerankReport:
    return RerankReport(status, measure_ms(started), reranked, note, "late")


def _passage(ranked: Ranked) -> Span | None:
    place = ranked.fused.legs.get("dense")
    return None if place is None else place.passage


def _compare(
    codec: TokenCodec,
    query: str,
    tokens: TokenVectors,
    stored: Mapping[UUID, bytes],
) -> dict[UUID, Comparison]:
    compared = codec.compare(query, tokens, list(stored.values()))
    return {
        id: comparison
        for id, comparison in zip(stored, compared, strict=True)
        if comparison is not None
    }


def _rearrange(
    context: RecallContext, first: Sequence[Ranked], compared: Mapping[UUID, Comparison]
) -> list[Ranked]:
    judged = [ranked for ranked in first if ranked.id in compared]
    scores = combine(
        [ranked.score for ranked in judged],
        [compared[ranked.id].score for ranked in judged],
        context.encoded.trust,
    )
    by_id = {ranked.id: score for ranked, score in zip(judged, scores, strict=True)}
    query = context.request.query
    return [
        ranked
        if ranked.rerank is None or place >= context.request.limit
        else ranked._replace(
            rerank=ranked.rerank._replace(words=similar_words(query, compared[ranked.id].matches))
        )
        for place, ranked in enumerate(rearrange(first, by_id))
    ]
