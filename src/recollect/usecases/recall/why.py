"""Say of any memory why a recall brings it or does not, and what would bring it in.

Each leg is asked up to three times: as the recall asks it; for this memory alone, which tells
whether the leg finds it at all and with what score; and, when it does but not within the depth,
much deeper for its rank. The graph is walked as the recall walks it, and on if it did not come to
the memory. What is said to bring it in is tried first: how scores are spread decides
how much depth or importance helps, and that is different for each query. A person waits for the
answer, so it may take longer than a recall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from recollect.core.memory.links import last
from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.explain import (
    MAX_DEPTH_SETTING,
    LegFacts,
    Obstacle,
    WhyLeg,
    WhyReport,
    barred,
    below_limit,
    not_known_then,
    superseded,
)
from recollect.core.recall.explain_legs import leg_obstacle
from recollect.core.recall.fusion import Answers
from recollect.core.recall.ranking import Ranked, place_if_vital, prior
from recollect.core.recall.request import LEGS, Candidate, LegName, LegReport, RecallRequest
from recollect.usecases.admin import settings as tune
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.projects import resolve_scope
from recollect.usecases.recall.legs import LegOutcome, answers_of
from recollect.usecases.recall.rank import RankedHits
from recollect.usecases.recall.successors import build_hits
from recollect.usecases.recall.why_context import WhyContext


async def why(context: Context, owner: str, reference: str, request: RecallRequest) -> WhyReport:
    request = request.checked()
    request = replace(request, scope=await resolve_scope(context, owner, request.scope))
    memory = await context.store.get(
        owner, await find.resolve(context, owner, reference, forgotten=True)
    )
    if memory is None:
        raise find.not_found(reference)
    settings = await tune.settings(context)
    weights = {**settings.weights(), **request.weights}
    memory, bars = await _as_known(context, owner, memory, request)
    question = WhyContext(
        context,
        owner,
        memory,
        replace(request, exclude=request.exclude - {memory.id}),
        settings,
        weights,
        is_outside=any(bar.kind != "excluded" for bar in bars),
    )
    outcomes = await question.ask()
    facts, answers = await _place_in_legs(question, outcomes)
    arranged, graph = await question.rank_hits(answers)
    place, mine = _place(memory, arranged)
    if graph is not None:
        facts["graph"] = await _in_graph(question, graph, answers, mine)
    served = () if bars else await build_hits(context.store, owner, request, arranged)
    shown = next((at for at, hit in enumerate(served, 1) if hit.memory.id == memory.id), None)
    recalled = shown is not None
    successor = None if recalled else await _successor(context, owner, memory, request)
    # Only where a recall would tell can be tried what would bring it in.
    can_try = not question.is_outside and successor is None
    legs = await _legs(question, facts, mine, can_try=can_try and not recalled)
    low = _below_limit(question, arranged, place, mine, can_try=can_try)
    gone = [] if successor is None else [superseded(successor)]
    of_legs = [leg.obstacle for leg in legs.values() if leg.obstacle is not None]
    return WhyReport(
        memory=memory,
        recalled=recalled,
        place=place if shown is None else shown,
        limit=request.limit,
        fused=None if mine is None else mine.fused.score,
        bonus=1.0 if mine is None else mine.bonus,
        prior=prior(memory.importance, settings.prior_strength),
        score=None if mine is None else mine.score,
        legs=legs,
        kept_out=() if recalled else (*bars, *gone, *low, *of_legs),
        rerank=None if mine is None else mine.rerank,
        second_stage=arranged.rerank,
        stands_for=() if shown is None else served[shown - 1].stands_for,
        superseded_by=successor,
    )


async def _as_known(
    context: Context, owner: str, memory: Memory, request: RecallRequest
) -> tuple[Memory, list[Obstacle]]:
    """The memory as it was at the moment asked about, and what keeps it from taking part at all."""
    if request.as_of is None:
        return memory, barred(memory, request)
    then = (await context.store.fetch(owner, [memory.id], request.as_of)).memories.get(memory.id)
    if then is None:
        return memory, [not_known_then(request.as_of)]
    return then, barred(then, request)


async def _legs(
    question: WhyContext,
    facts: Mapping[LegName, LegFacts],
    mine: Ranked | None,
    *,
    can_try: bool,
) -> dict[LegName, WhyLeg]:
    """Each leg's part. `can_try`: whether depth would bring the memory in can be tried."""
    # A leg that hangs is waited for once, and a recall at another depth would be without it, too.
    late: dict[LegName, float] = {name: 0.0 for name, one in facts.items() if one.status == "late"}
    prompt = replace(question, weights={**question.weights, **late})
    legs: dict[LegName, WhyLeg] = {}
    for name in LEGS:
        share = None if mine is None else mine.fused.legs.get(name)
        obstacle = None
        if share is None or share.rank is None:
            deeper = await _place_deeper(prompt, facts[name]) if can_try else None
            obstacle = leg_obstacle(name, facts[name], question.memory, question.request, deeper)
        legs[name] = WhyLeg(facts[name], None if share is None else share.contribution, obstacle)
    return legs


async def _successor(
    context: Context, owner: str, memory: Memory, request: RecallRequest
) -> UUID | None:
    """Who stands in the place of a memory in this recall, if somebody does."""
    if not (await context.store.fetch(owner, [memory.id], request.as_of)).superseded:
        return None
    followed = await context.store.follow(owner, [memory.id], (), request.as_of)
    by = followed.memories.get(last(memory.id, followed.successors))
    stands = by is not None and by.id != memory.id and request.scope.covers(by)
    return by.id if by is not None and stands else None


async def _place_in_legs(
    question: WhyContext, outcomes: Mapping[LegName, LegOutcome]
) -> tuple[dict[LegName, LegFacts], dict[LegName, Sequence[Candidate]]]:
    """What each leg says of the memory, and the legs' answers with the memory in its place, also
    where it is outside of what is asked: its place is then the one it would have.
    """
    memory, depth, far = question.memory, question.depth, question.far
    answers = answers_of(outcomes)
    alone = replace(question.request, scope=_alone(memory), exclude=frozenset())
    probes = await far.ask(tuple(answers), alone)
    with_keepalives = answers_of(probes)
    found = {
        name: _of(memory, answer) or _of(memory, with_keepalives.get(name, ()))
        for name, answer in answers.items()
    }
    missing = tuple(
        name
        for name, answer in answers.items()
        if found.get(name) and not _of(memory, answer) and len(answer) >= depth
    )
    deep = answers_of(await far.ask(missing)) if missing else {}

    facts: dict[LegName, LegFacts] = {}
    for name, outcome in outcomes.items():
        candidate = found.get(name)
        searched = deep.get(name, answers.get(name, ()))
        rank = _rank(question, candidate, searched)
        # A leg that answered and then failed to answer about the memory is no leg that has not
        # found it.
        is_known = candidate is not None or name in with_keepalives or name not in answers
        report = outcome.report if is_known else probes[name].report
        facts[name] = _facts(
            question, report, None if candidate is None else candidate.score, rank, len(searched)
        )
        if question.is_outside and candidate is not None and rank is not None:
            others = [one for one in answers[name] if one.id != memory.id]
            answers[name] = [*others[: rank - 1], candidate, *others[rank - 1 :]][:depth]
    facts["dense"] = replace(facts["dense"], parked=await _parked(question, facts["dense"]))
    return facts, answers


def _facts(
    question: WhyContext, report: LegReport, score: float | None, rank: int | None, searched: int
) -> LegFacts:
    return LegFacts(
        status=report.status,
        weight=report.weight,
        depth=question.depth,
        score=score,
        rank=rank,
        searched=searched,
        note=report.note,
        reason=report.reason,
    )


def _alone(memory: Memory) -> Scope:
    """The narrowest scope that covers a memory: its own microsecond."""
    return Scope(
        project=memory.project,
        sessions=() if memory.session is None else (memory.session,),
        categories=(memory.category,),
        tags=memory.tags,
        since=memory.created_at,
        until=memory.created_at + timedelta(microseconds=1),
    )


def _of(memory: Memory, answer: Sequence[Candidate]) -> Candidate | None:
    return next((one for one in answer if one.id == memory.id), None)


def _rank(
    question: WhyContext, candidate: Candidate | None, searched: Sequence[Candidate]
) -> int | None:
    """Its place in the leg's answer; or, if it is outside, the place it would have there. None
    where the leg stopped looking before it came to the memory.
    """
    if candidate is None:
        return None
    for place, one in enumerate(searched, start=1):
        if one.id == candidate.id:
            return place
    if not question.is_outside:
        return None
    mine = (-candidate.score, candidate.id)
    better = sum((-one.score, one.id) < mine for one in searched)
    return None if better >= question.far.depth else better + 1


def _place(memory: Memory, arranged: RankedHits) -> tuple[int, Ranked] | tuple[None, None]:
    for place, one in enumerate(arranged.order, start=1):
        if one.id == memory.id:
            return place, one
    return None, None


async def _in_graph(
    question: WhyContext, graph: LegOutcome, answers: Answers, mine: Ranked | None
) -> LegFacts:
    """What the walk says of the memory: within the depth its rank among those that take part, as
    in a hit; beyond it, how far the walk has to go for it.
    """
    memory, report = question.memory, graph.report
    share = None if mine is None else mine.fused.legs.get("graph")
    if share is not None and share.rank is not None:
        return _facts(question, report, share.score, share.rank, report.found)
    # What is kept of the graph may be older than the memory's present state.
    may_be_led_to = not memory.is_sensitive and memory.deleted_at is None
    if report.status != "ran" or not may_be_led_to:
        return _facts(question, report, None, None, report.found)
    walked = await question.walk_far(answers)
    if isinstance(walked, LegReport):
        return _facts(question, walked, None, None, 0)
    reached = [one for one in walked if one.is_known]
    for rank, one in enumerate(reached, start=1):
        if one.id == memory.id:
            return _facts(question, report, one.score, rank, len(reached))
    return _facts(question, report, None, None, len(reached))


async def _parked(question: WhyContext, dense: LegFacts) -> str | None:
    """With what a memory's text failed too often to be embedded, if it did."""
    ask, memory = question.context.parked, question.memory
    if ask is None or dense.status != "ran" or dense.score is not None or memory.is_sensitive:
        return None
    return await ask(question.owner, memory.id)


async def _place_deeper(question: WhyContext, facts: LegFacts) -> int | None:
    """The place it would have if each leg were asked for as many as this one needs to find it;
    none where it would have none, which an approximate leg can make so.
    """
    rank = facts.rank
    if rank is None or not facts.depth < rank <= MAX_DEPTH_SETTING:
        return None
    deep = question.at_depth(rank)
    arranged, _ = await deep.rank_hits(answers_of(await deep.ask()))
    place, _ = _place(question.memory, arranged)
    return place


def _below_limit(
    question: WhyContext,
    arranged: RankedHits,
    place: int | None,
    mine: Ranked | None,
    *,
    can_try: bool,
) -> list[Obstacle]:
    request = question.request
    if place is None or mine is None or place <= request.limit:
        return []
    # Where the second stage has decided, importance is not asked.
    has_decided = arranged.rerank is not None and arranged.rerank.status == "ran"
    vital = None
    if can_try and not has_decided:
        vital = place_if_vital(
            arranged.order, mine.id, request.sort_by, question.settings.prior_strength
        )
    reach = question.depth if can_try else 0
    return [below_limit(place, request, reach=reach, vital=vital, rerank=mine.rerank)]
