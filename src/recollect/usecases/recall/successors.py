"""From the final order to the hits that are shown: links are followed after ranking, so they can
put one memory in another's place and never move anything up.

What is to be followed is known from what is read anyway; only then one more question is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.memory.links import targets
from recollect.core.recall.request import Hit, RecallRequest
from recollect.core.recall.successors import Fetched, resolve_successors

if TYPE_CHECKING:
    from recollect.core.recall.ranking import Ranked
    from recollect.ports.stores import MemoryStore
    from recollect.usecases.recall.rank import RankedHits


async def build_hits(
    store: MemoryStore, owner: str, request: RecallRequest, arranged: RankedHits
) -> tuple[Hit, ...]:
    """The first hits of an order, as many as were asked for. Where several of them are one now,
    others move up.
    """
    first, rest = arranged.order[: request.limit], arranged.order[request.limit :]
    hits, superseded = _hits(first, arranged.fetched), arranged.fetched.superseded
    shown = await follow(store, owner, request, hits, superseded)
    if rest and len(shown) < len(hits):
        more = await store.fetch(owner, [one.id for one in rest], request.as_of)
        hits, superseded = [*hits, *_hits(rest, more)], superseded | more.superseded
        shown = await follow(store, owner, request, hits, superseded)
    return tuple(shown[: request.limit])


async def follow(
    store: MemoryStore,
    owner: str,
    request: RecallRequest,
    hits: Sequence[Hit],
    superseded: AbstractSet[UUID],
) -> list[Hit]:
    """The hits with what their links lead to."""
    old = [hit.memory.id for hit in hits if hit.memory.id in superseded]
    named = {target for hit in hits for target in targets(hit.memory.links)}
    if not old and not named:
        return [*hits]
    return resolve_successors(request, hits, await store.follow(owner, old, named, request.as_of))


def _hits(order: Sequence[Ranked], fetched: Fetched) -> list[Hit]:
    """A memory forgotten since its leg ran is not shown."""
    return [
        Hit(
            fetched.memories[one.id],
            one.score,
            one.fused.score,
            one.prior,
            one.fused.legs,
            one.bonus,
            one.rerank,
        )
        for one in order
        if one.id in fetched.memories
    ]
