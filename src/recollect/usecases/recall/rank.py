"""From the fused order to the ranked one: exact-match bonus and prior.

Texts are read from the store only for what is shown, unless a stage has to look at more of them.
No event loop is imported here: the hooks' fast recall ranks with it (docs/adr/0020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from recollect.core.recall.decisions import (
    exact_bonuses,
    rank_candidates,
    rewards_exact_matches,
    texts_to_read,
)
from recollect.core.recall.successors import Fetched

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.fusion import Fused
    from recollect.core.recall.ranking import Ranked
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
    owner, as_of = context.owner, context.request.as_of
    if rewards_exact_matches(context):
        fetched = await store.fetch(owner, [entry.candidate.id for entry in fused], as_of)
        bonuses = exact_bonuses(context, fetched.memories)
        return Ranking(rank_candidates(context, fused, bonuses), fetched)
    order = rank_candidates(context, fused, None)
    first = [ranked.id for ranked in order[: texts_to_read(context)]]
    return Ranking(order, await store.fetch(owner, first, as_of))
