"""From the fused order to the ranked one: exact-match bonus and prior.

Texts are read from the store only for what is shown, unless a stage has to look at more of them.
No event loop is imported here: the hooks' fast recall ranks with it (docs/adr/0020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from recollect.core.recall.decisions import (
    drop_irrelevant,
    exact_bonuses,
    rewards_exact_matches,
    uses_rerank,
)
from recollect.core.recall.ranking import Ranked, rank
from recollect.core.recall.successors import Fetched

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.fusion import Fused
    from recollect.core.recall.request import RerankReport
    from recollect.ports.recall import RecallStore


class Ranking(NamedTuple):
    """The whole order, best first, with the memories of at least as many as were asked for; one
    that was forgotten since its leg ran has none. `rerank` is there if the second stage is on.
    """

    order: Sequence[Ranked]
    fetched: Fetched
    rerank: RerankReport | None = None


async def rank_fused(context: RecallContext, store: RecallStore, fused: Sequence[Fused]) -> Ranking:
    owner, request, settings = context.owner, context.request, context.settings
    fused = drop_irrelevant(context, fused)
    if rewards_exact_matches(context):
        ids = [entry.candidate.id for entry in fused]
        fetched = await store.fetch(owner, ids, request.as_of)
        bonuses = exact_bonuses(context, fetched.memories)
        return Ranking(rank(fused, request.sort_by, bonuses, settings.prior_strength), fetched)
    order = rank(fused, request.sort_by, None, settings.prior_strength)
    wanted = max(request.limit, settings.rerank_depth) if uses_rerank(context) else request.limit
    first = [ranked.id for ranked in order[:wanted]]
    return Ranking(order, await store.fetch(owner, first, request.as_of))
