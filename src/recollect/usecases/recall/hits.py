"""From the final order to the hits that are shown: links are followed after ranking, so they can
put one memory in another's place and never move anything up.

What is to be followed is known from what is read anyway; only then one more question is asked. No
event loop is imported here: the hooks' fast recall uses it too (docs/adr/0020).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from recollect.core.memory.links import targets
from recollect.core.recall.decisions import make_hits, merge_hits
from recollect.core.recall.passages import show_passages
from recollect.core.recall.same_texts import join_same_texts
from recollect.core.recall.successors import resolve_successors

if TYPE_CHECKING:
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.request import Hit, RecallRequest
    from recollect.ports.recall import RecallStore
    from recollect.usecases.recall.rank import Ranking


async def build_hits(
    context: RecallContext, store: RecallStore, ranking: Ranking
) -> tuple[Hit, ...]:
    """The first hits of an order, as many as were asked for. Where several of them are one now,
    others move up.
    """
    owner, request = context.owner, context.request
    first, rest = ranking.order[: request.limit], ranking.order[request.limit :]
    fetched = ranking.fetched
    hits, superseded = make_hits(first, fetched.memories), fetched.superseded
    shown = await follow_links(store, owner, request, hits, superseded)
    if rest and len(shown) < len(hits):
        more = await store.fetch(owner, [ranked.id for ranked in rest], request.as_of)
        hits, superseded = [*hits, *make_hits(rest, more.memories)], superseded | more.superseded
        shown = await follow_links(store, owner, request, hits, superseded)
    return tuple(shown[: request.limit])


async def show_hits(
    context: RecallContext, hits: Sequence[Hit], *, updates_first: bool = True
) -> tuple[Hit, ...]:
    """Long ones with the passage that matched, and updates before what they update."""
    from recollect.usecases.tasks import analyze_text  # a hook has no event loop to import

    query = context.request.query

    def show() -> tuple[Hit, ...]:
        shown = tuple(show_passages(hits, query))
        return put_updates_first(context, shown) if updates_first else shown

    return await analyze_text(len(query) + count_chars(hits), show)


def count_chars(hits: Sequence[Hit]) -> int:
    return sum(len(hit.memory.content) for hit in hits)


def put_updates_first(context: RecallContext, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """The hits with updates before what they update. A hook that recalls by words goes without: the
    rules would take a tenth of its time to import.
    """
    settings, request = context.settings, context.request
    if settings.newer_first == "off" or request.sort_by != "relevance" or not hits[1:]:
        return hits
    from recollect.core.curation.newer import put_newer_first

    return tuple(put_newer_first(hits))


async def follow_links(
    store: RecallStore,
    owner: str,
    request: RecallRequest,
    hits: Sequence[Hit],
    superseded: AbstractSet[UUID],
) -> list[Hit]:
    """The hits with what their links lead to, and each text once."""
    old = [hit.memory.id for hit in hits if hit.memory.id in superseded]
    named = {target for hit in hits for target in targets(hit.memory.links)}
    if not old and not named:
        return join_same_texts(hits)
    resolution = await store.follow(owner, old, named, request.as_of)
    return join_same_texts(resolve_successors(request, hits, resolution))


class BothAnswers(NamedTuple):
    """What the server and the local store found, and what the server does not have as it is here.
    `unsent` was read before the server was asked and again after: what was sent meanwhile would
    otherwise be in neither answer.
    """

    server: Sequence[Hit]
    local: Sequence[Hit]
    unsent: Collection[UUID]


async def merge_answers(
    store: RecallStore, owner: str, request: RecallRequest, answers: BothAnswers
) -> list[Hit]:
    """The server's hits, as far as they are still true here, and those it cannot know."""
    ids = [hit.memory.id for hit in answers.server]
    known = await store.fetch(owner, ids, request.as_of)
    merged = merge_hits(request, answers.server, answers.local, answers.unsent, known.memories)
    # Links that the server has not heard of are followed here.
    shown = await follow_links(store, owner, request, merged, known.superseded)
    return show_passages(shown[: request.limit], request.query)
