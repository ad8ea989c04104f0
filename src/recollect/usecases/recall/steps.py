"""What a recall does before its legs and after them, however these are run.

Texts are read from the store only for what is shown, unless a stage has to look at more of them.
Links are followed after ranking, so they can put one memory in another's place and never move
anything up. No event loop is imported here: a hook takes the same steps (docs/adr/0020).
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
    """When a recall takes place, and until when it may take."""

    moment: datetime
    deadline: Deadline


async def begin(
    store: ProjectStore, owner: str, request: RecallRequest, settings: RecallSettings, now: Now
) -> RecallContext:
    """The context of a recall: the only place that resolves a request."""
    scope = await resolve_scope(store, owner, request.scope)
    valid = replace(scope, valid_at=request.as_of or now.moment)
    return RecallContext.create(owner, request, valid, settings, now.deadline)


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
    """The order with the importance prior. `late` is the second stage that needs no texts, and so
    runs before they are read.
    """
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


async def build_hits(context: RecallContext, store: RecallStore, ranking: Ranking) -> list[Hit]:
    """The first hits of an order, as many as were asked for. Where several of them are one now,
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
    """The hits with what their links lead to, and each text once. What is to be followed is known
    from what is read anyway; only then one more question is asked.
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
    """Everything that is shown of the hits: of long ones the passage that matched, updates before
    what they update, and on request how many words of the query each has.
    """
    from recollect.usecases.tasks import analyze_text  # a hook has no event loop to import

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
    """A hook that recalls by words goes without: the rules would take a tenth of its time to
    import.
    """
    settings, request = context.settings, context.request
    if settings.newer_first == "off" or request.sort_by != "relevance" or not hits[1:]:
        return hits
    from recollect.core.curation.newer import put_newer_first

    return put_newer_first(hits, request.query)


class BothAnswers(NamedTuple):
    """What the server and the local store found, and what the server does not have as it is here.
    `unsent` was read before the server was asked and again after: what was sent meanwhile would
    otherwise be in neither answer.
    """

    server: Sequence[Hit]
    local: Sequence[Hit]
    unsent: Collection[UUID]


async def merge_answers(
    context: RecallContext, store: RecallStore, answers: BothAnswers
) -> list[Hit]:
    """The server's hits, as far as they are still true here, and those it cannot know."""
    request = context.request
    ids = [hit.memory.id for hit in answers.server]
    known = await store.fetch(context.owner, ids, request.as_of)
    merged = merge_hits(request, answers.server, answers.local, answers.unsent, known.memories)
    # Links that the server has not heard of are followed here.
    shown = await follow_links(context, store, merged, known.superseded)
    return show_passages(shown[: request.limit], request.query)
