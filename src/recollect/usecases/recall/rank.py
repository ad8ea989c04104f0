"""From the fused order to the ranked one: the importance prior and the second stage.

Texts are read from the store only for what is shown, unless a stage has to look at more of them.
No event loop is imported here: the hooks' fast recall ranks with it (docs/adr/0020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from recollect.core.recall.decisions import second_stage
from recollect.core.recall.ranking import Ranked, rank
from recollect.core.recall.successors import Fetched

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.fusion import Fused
    from recollect.core.recall.request import RerankReport
    from recollect.ports.recall import LateInteraction, RecallStore


class Ranking(NamedTuple):
    """The whole order, best first, with the memories of at least as many as were asked for; one
    that was forgotten since its leg ran has none. `rerank` is there if the second stage is on.
    """

    order: Sequence[Ranked]
    fetched: Fetched
    rerank: RerankReport | None = None


async def rank_fused(
    context: RecallContext,
    store: RecallStore,
    fused: Sequence[Fused],
    late: LateInteraction | None = None,
) -> Ranking:
    """`late` is the second stage that needs no texts, and so runs before they are read."""
    owner, request, settings = context.owner, context.request, context.settings
    stage = second_stage(context)
    order: Sequence[Ranked] = rank(fused, request.sort_by, settings.prior_strength)
    report = None
    if late is not None and stage == "late":
        order, report = await late.rescore(context, order)
    reads_texts = stage == "cross-encoder"
    wanted = max(request.limit, settings.rerank_depth) if reads_texts else request.limit
    first = [ranked.id for ranked in order[:wanted]]
    fetched = await store.fetch(owner, first, request.as_of)
    return Ranking(order, fetched, report)
