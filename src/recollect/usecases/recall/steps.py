"""The steps of a recall before and after its legs, independent of how the legs are run.

Texts are read from the store only for the hits that are shown, unless a stage needs more of them.
Links are followed after ranking, so they can replace one memory by another but never move one up.
This module must not import an event loop: a hook takes the same steps (docs/adr/0020).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from recollect.core.memory.links import targets
from recollect.core.recall.context import RecallContext
from recollect.core.recall.decisions import (
    join_same_texts,
    make_hits,
    merge_hits,
    second_stage,
)
from recollect.core.recall.passages import count_matched_words, show_passages
from recollect.core.recall.ranking import Ranked, rank
from recollect.core.recall.successors import Fetched, resolve_successors
from recollect.usecases.memory.projects import ProjectStore, resolve_scope

if TYPE_CHECKING:
    from recollect.core.recall.context import Deadline
    from recollect.core.recall.fusion import Fused
    from recollect.core.recall.request import Hit, RecallRequest, RerankReport
    from recollect.core.recall.settings import RecallSettings
    from recollect.ports.recall import LateInteraction, RecallStore


class Now(NamedTuple):
    """The moment of a recall, and its deadline."""

    moment: datetime
    deadline: Deadline


async def begin(
    store: ProjectStore, owner: str, request: RecallRequest, settings: RecallSettings, now: Now
) -> RecallContext:
    """Create the context of a recall. Requests are resolved only here."""
    scope = await resolve_scope(store, owner, request.scope)
    valid = replace(scope, valid_at=request.as_of or now.moment)
    return RecallContext.create(owner, request, valid, settings, now.deadline)


class Ranking(NamedTuple):
    """The whole order, best first. `fetched` holds the memories of at least the requested number of
    hits, except any that were forgotten since the legs ran. `rerank` is set if a second stage is
    on.
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
    """Rank with the importance prior. `late` is the second stage that needs no texts, and so runs
    before they are read.
    """
    owner, request, settings = context.owner, context.request, context.settings
    stage = second_stage(context)
    order: Sequence[Ranked] = rank(fused, request.sort_by, settings.prior_strength)
    report = None
    if late is not None and stage == "late":
        order, report = await late.rescore(context, order)
    reads_texts = stage == "cross-encoder"
    count = max(request.limit, settings.rerank_depth) if reads_texts else request.limit
    first = [ranked.id for ranked in order[:count]]
    fetched = await store.fetch(owner, first, request.as_of)
    return Ranking(order, fetched, report)


async def build_hits(context: RecallContext, store: RecallStore, ranking: Ranking) -> list[Hit]:
    """Build the requested number of hits from the ranking. Where links merge several into one,
    others move up.
    """
    owner, request = context.owner, context.request
    first, rest = ranking.order[: request.limit], ranking.order[request.limit :]
    fetched = ranking.fetched
    hits, superseded = make_hits(first, fetched.memories), fetched.superseded
    shown = await follow_links(context, store, hits, superseded)
    if rest and len(shown) < len(hits):
        more = await store.fetch(owner, [ranked.id for ranked in rest], request.as_of)
        hits, superseded = [*hits, *make_hits(rest, more.memories)], superseded | more.superseded
        shown = await follow_links(context, store, hits, superseded)
    return shown[: request.limit]


async def follow_links(
    context: RecallContext,
    store: RecallStore,
    hits: Sequence[Hit],
    superseded: AbstractSet[UUID],
) -> list[Hit]:
    """Resolve the hits' links, and keep each text once. The data at hand shows whether there is
    anything to follow; only then is the store queried again.
    """
    old = [hit.memory.id for hit in hits if hit.memory.id in superseded]
    named = {target for hit in hits for target in targets(hit.memory.links)}
    if not old and not named:
        return join_same_texts(hits)
    resolution = await store.follow(context.owner, old, named, context.request.as_of)
    return join_same_texts(resolve_successors(context, hits, resolution))


async def show_hits(
    context: RecallContext, hits: Sequence[Hit], *, updates_first: bool = True
) -> tuple[Hit, ...]:
    """Prepare the hits for display: the matching passage of long ones, updates before what they
    update, and on request how many of the query's words each contains.
    """
    from recollect.usecases.tasks import analyze_text  # imports an event loop, which a hook avoids

    request = context.request

    def show() -> tuple[Hit, ...]:
        shown = show_passages(hits, request.query)
        if updates_first:
            shown = _put_updates_first(context, shown)
        if request.counts_words:
            return tuple(count_matched_words(hit, request.query) for hit in shown)
        return tuple(shown)

    chars = len(request.query) + sum(len(hit.memory.content) for hit in hits)
    return await analyze_text(chars, show)


def _put_updates_first(context: RecallContext, hits: list[Hit]) -> list[Hit]:
    """Put updates before what they update. A hook that recalls by words skips this: importing the
    rules would take a tenth of its time.
    """
    settings, request = context.settings, context.request
    if settings.newer_first == "off" or request.sort_by != "relevance" or not hits[1:]:
        return hits
    from recollect.core.curation.newer import put_newer_first

    return put_newer_first(hits)


class BothAnswers(NamedTuple):
    """The hits of the server and of the local store, and the ids whose local state the server does
    not have. `unsent` is read before and after the server is asked: a memory sent meanwhile would
    otherwise be in neither answer.
    """

    server: Sequence[Hit]
    local: Sequence[Hit]
    unsent: Collection[UUID]


async def merge_answers(
    context: RecallContext, store: RecallStore, answers: BothAnswers
) -> list[Hit]:
    """Merge the server's hits that still hold here with local ones that it cannot know."""
    request = context.request
    ids = [hit.memory.id for hit in answers.server]
    known = await store.fetch(context.owner, ids, request.as_of)
    merged = merge_hits(request, answers.server, answers.local, answers.unsent, known.memories)
    # Links that the server does not have yet are followed here.
    shown = await follow_links(context, store, merged, known.superseded)
    return show_passages(shown[: request.limit], request.query)
