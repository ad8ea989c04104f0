"""Explain why a recall finds a memory or does not, and what would bring it in.

Each leg runs up to three times: as in the recall; for this memory alone, which shows whether the
leg finds it at all and with what score; and, if it does but not within the depth, much deeper for
its rank. A leg of the second phase runs as in the recall, and further if it did not reach the
memory. A suggestion to bring the memory in is tried before it is made: how much depth or importance
helps depends on the spread of the scores, which differs with each query. A person waits for the
answer, so it may take longer than a recall.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.core.memory.links import last
from recollect.core.memory.memory import EVERYWHERE, Memory, Scope
from recollect.core.recall.context import Deadline, PhaseShares, RecallContext
from recollect.core.recall.decisions import fuse_answers
from recollect.core.recall.explain import (
    MAX_DEPTH_SETTING,
    LegFacts,
    Obstacle,
    WhyLeg,
    WhyReport,
    below_limit,
    below_relevance,
    duplicate,
    explain_move,
    find_bars,
    not_known_then,
    superseded_obstacle,
)
from recollect.core.recall.explain_legs import leg_obstacle
from recollect.core.recall.fusion import Answers
from recollect.core.recall.late import widen_to_words
from recollect.core.recall.ranking import Ranked, place_if_vital, prior
from recollect.core.recall.request import LEGS, Candidate, LegName, LegReport, RecallRequest
from recollect.usecases.admin import settings as tune
from recollect.usecases.memory import find
from recollect.usecases.recall.legs import (
    LegOutcome,
    collect_answers,
    prepare_second_phase,
    run_legs,
)
from recollect.usecases.recall.rerank import rerank
from recollect.usecases.recall.steps import Now, Ranking, begin, build_hits, rank_fused, show_hits

if TYPE_CHECKING:
    from recollect.ports.stores import MemoryStore
    from recollect.usecases.context import Context

# How deep a leg is searched for a memory's rank. If it is deeper, the answer says so.
SEARCH_DEPTH: Final = 10_000
# Each phase may take all of the time: a person waits for the answer.
SHARES: Final = PhaseShares(1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class WhyContext:
    """`recall` is the recall in question, with more time. Its request does not exclude the memory,
    to show what would happen without that. `is_outside` means that the memory is forgotten or out
    of scope, so that its place can only be estimated. A leg is searched to the `search_depth` at
    most.
    """

    context: Context
    recall: RecallContext
    memory: Memory
    is_outside: bool
    search_depth: int

    def at_depth(self, depth: int) -> WhyContext:
        settings = replace(self.recall.settings, depth=depth)
        return replace(self, recall=replace(self.recall, settings=settings))

    @property
    def without_limits(self) -> WhyContext:
        """The same context at the `search_depth`."""
        return self.at_depth(self.search_depth)

    async def run_legs(
        self, names: Sequence[LegName] = LEGS, scope: Scope | None = None
    ) -> dict[LegName, LegOutcome]:
        """Run the legs. Within another scope, nothing is excluded."""
        legs = {name: leg for name, leg in self.context.legs.items() if name in names}
        return await run_legs(self.restart(scope), legs)

    async def rank(self, answers: Answers) -> tuple[Ranking, dict[LegName, LegOutcome]]:
        """Return the final order, and the outcomes of the second phase's legs."""
        asked = self.restart()
        with prepare_second_phase(asked, self.context.second_phase) as second_phase:
            order, outcomes = await second_phase.run(asked, fuse_answers(asked, answers))
        asked = self.restart()
        ranking = await rank_fused(asked, self.context.store, order, self.context.late)
        return await rerank(asked, self.context.reranker, ranking), outcomes

    async def run_without_limits(self, name: LegName, answers: Answers) -> LegOutcome:
        """Run a leg of the second phase limited neither by depth nor by scope: in a recall, both
        apply only to what it reaches.
        """
        asked = self.without_limits.restart(EVERYWHERE)
        legs = {name: self.context.second_phase[name]}
        with prepare_second_phase(asked, legs) as second_phase:
            _, outcomes = await second_phase.run(asked, fuse_answers(asked, answers))
        return outcomes[name]

    def restart(self, scope: Scope | None = None) -> RecallContext:
        """Return the recall with all of its time left."""
        asked = replace(self.recall, deadline=self.recall.deadline.restart())
        if scope is None:
            return asked
        return replace(asked, scope=scope, request=replace(asked.request, exclude=frozenset()))


async def why(
    context: Context,
    owner: str,
    reference: str,
    request: RecallRequest,
    search_depth: int = SEARCH_DEPTH,
) -> WhyReport:
    store = context.store
    settings = await tune.settings(context)
    clock = asyncio.get_running_loop().time
    deadline = Deadline(clock(), context.timeouts.why, clock, SHARES)
    now = Now(context.clock.now(), deadline)
    asked = await begin(store, owner, request, settings, now)
    memory = await store.get(owner, await find.resolve(context, owner, reference, forgotten=True))
    if memory is None:
        raise find.not_found(reference)
    memory, bars = await _load_as_known(store, asked, memory)
    is_outside = any(bar.kind != "excluded" for bar in bars)
    question = WhyContext(
        context,
        replace(
            asked,
            request=replace(request, exclude=request.exclude - {memory.id}),
            also=memory.id if is_outside else None,
        ),
        memory,
        is_outside,
        search_depth,
    )
    outcomes = await question.run_legs()
    facts, answers = await _place_in_legs(question, outcomes)
    ranking, later_outcomes = await question.rank(answers)
    place, mine = _find_place(memory, ranking)
    for name, outcome in later_outcomes.items():
        facts[name] = await _explain_second_phase(question, name, outcome, answers, mine)
    hits = () if bars else await show_hits(asked, await build_hits(asked, store, ranking))
    shown = next((at for at, hit in enumerate(hits, 1) if hit.memory.id == memory.id), None)
    recalled = shown is not None
    successor = None if recalled else await _find_successor(store, asked, memory)
    # Suggestions can be tried only if a recall may show the memory at all.
    can_try = not is_outside and successor is None
    legs = await _explain_legs(question, facts, mine, can_try=can_try and not recalled)
    low = _explain_below_limit(question, ranking, place, mine, can_try=can_try)
    gone = [] if successor is None else [superseded_obstacle(successor)]
    same = [duplicate(hit.memory.id) for hit in hits if memory.id in hit.duplicates]
    weak = _explain_below_relevance(asked, memory, answers) if mine is None else []
    of_legs = [leg.obstacle for leg in legs.values() if leg.obstacle is not None]
    return WhyReport(
        memory=memory,
        recalled=recalled,
        place=place if shown is None else shown,
        limit=request.limit,
        fused=None if mine is None else mine.fused.score,
        prior=prior(memory.importance, settings.prior_strength),
        score=None if mine is None else mine.score,
        legs=legs,
        kept_out=() if recalled else (*bars, *gone, *same, *weak, *low, *of_legs),
        rerank=None if mine is None else widen_to_words(mine.rerank, memory.content),
        second_stage=ranking.rerank,
        moved=explain_move(memory.id, hits),
        stands_for=() if shown is None else hits[shown - 1].stands_for,
        superseded_by=successor,
    )


def _explain_below_relevance(
    asked: RecallContext, memory: Memory, answers: Answers
) -> list[Obstacle]:
    """Report whether the relevance floor keeps out a memory that the legs have found."""
    found = [_find_in(memory, answer[: asked.depth]) for answer in answers.values()]
    evidence = [candidate.evidence for candidate in found if candidate is not None]
    floor = asked.settings.min_relevance
    return [below_relevance(max(evidence), floor)] if evidence and max(evidence) < floor else []


async def _load_as_known(
    store: MemoryStore, asked: RecallContext, memory: Memory
) -> tuple[Memory, list[Obstacle]]:
    """Return the memory as it was at the request's `as_of`, and what bars it from the recall."""
    request = asked.request
    if request.as_of is None:
        return memory, find_bars(memory, asked)
    fetched = await store.fetch(asked.owner, [memory.id], request.as_of)
    then = fetched.memories.get(memory.id)
    if then is None:
        return memory, [not_known_then(request.as_of)]
    return then, find_bars(then, asked)


async def _explain_legs(
    question: WhyContext,
    facts: Mapping[LegName, LegFacts],
    mine: Ranked | None,
    *,
    can_try: bool,
) -> dict[LegName, WhyLeg]:
    """Explain each leg's contribution. With `can_try`, find out whether depth would bring the
    memory in.
    """
    # Wait for a hanging leg only once: a recall at another depth would be without it, too.
    late: dict[LegName, float] = {name: 0.0 for name, leg in facts.items() if leg.status == "late"}
    asked = question.recall
    prompt = replace(question, recall=replace(asked, weights={**asked.weights, **late}))
    legs: dict[LegName, WhyLeg] = {}
    for name in LEGS:
        share = None if mine is None else mine.fused.legs.get(name)
        obstacle = None
        if share is None or share.rank is None:
            deeper = await _place_deeper(prompt, facts[name]) if can_try else None
            obstacle = leg_obstacle(name, facts[name], question.memory, asked.request, deeper)
        legs[name] = WhyLeg(facts[name], None if share is None else share.contribution, obstacle)
    return legs


async def _find_successor(store: MemoryStore, asked: RecallContext, memory: Memory) -> UUID | None:
    """Find the memory that this recall shows instead, if there is one."""
    owner, as_of = asked.owner, asked.request.as_of
    if not (await store.fetch(owner, [memory.id], as_of)).superseded:
        return None
    resolution = await store.follow(owner, [memory.id], (), as_of)
    successor = resolution.memories.get(last(memory.id, resolution.successors))
    if successor is None or successor.id == memory.id:
        return None
    return successor.id if asked.scope.covers(successor) else None


async def _place_in_legs(
    question: WhyContext, outcomes: Mapping[LegName, LegOutcome]
) -> tuple[dict[LegName, LegFacts], dict[LegName, Sequence[Candidate]]]:
    """Return each leg's facts about the memory, and the legs' answers including it. A memory that
    is out of scope is inserted where it would rank.
    """
    memory, depth, far = question.memory, question.recall.depth, question.without_limits
    answers = collect_answers(outcomes)
    probes = await far.run_legs(tuple(answers), _narrowest_scope(memory))
    probed = collect_answers(probes)
    found = {
        name: _find_in(memory, answer) or _find_in(memory, probed.get(name, ()))
        for name, answer in answers.items()
    }
    missing = tuple(
        name
        for name, answer in answers.items()
        if found.get(name) and not _find_in(memory, answer) and len(answer) >= depth
    )
    deep = collect_answers(await far.run_legs(missing)) if missing else {}

    facts: dict[LegName, LegFacts] = {}
    for name, outcome in outcomes.items():
        candidate = found.get(name)
        searched = deep.get(name, answers.get(name, ()))
        rank = _find_rank(question, candidate, searched)
        # If a leg answered the recall but failed on the probe, it has not missed the memory.
        is_known = candidate is not None or name in probed or name not in answers
        report = outcome.report if is_known else probes[name].report
        facts[name] = _facts(
            question, report, None if candidate is None else candidate.score, rank, len(searched)
        )
        if question.is_outside and candidate is not None and rank is not None:
            others = [other for other in answers[name] if other.id != memory.id]
            answers[name] = [*others[: rank - 1], candidate, *others[rank - 1 :]][:depth]
    facts["dense"] = replace(facts["dense"], parked=await _explain_parked(question, facts["dense"]))
    return facts, answers


def _facts(
    question: WhyContext, report: LegReport, score: float | None, rank: int | None, searched: int
) -> LegFacts:
    return LegFacts(
        status=report.status,
        weight=report.weight,
        depth=question.recall.depth,
        score=score,
        rank=rank,
        searched=searched,
        note=report.note,
        reason=report.reason,
    )


def _narrowest_scope(memory: Memory) -> Scope:
    """Return the narrowest scope that covers a memory: its own microsecond."""
    return Scope(
        project=memory.project,
        sessions=() if memory.session is None else (memory.session,),
        categories=(memory.category,),
        tags=memory.tags,
        since=memory.created_at,
        until=memory.created_at + timedelta(microseconds=1),
    )


def _find_in(memory: Memory, answer: Sequence[Candidate]) -> Candidate | None:
    return next((candidate for candidate in answer if candidate.id == memory.id), None)


def _find_rank(
    question: WhyContext, candidate: Candidate | None, searched: Sequence[Candidate]
) -> int | None:
    """Return the candidate's rank in the leg's answer; if it is out of scope, the rank it would
    have. None if the search ended before it reached the memory.
    """
    if candidate is None:
        return None
    for place, other in enumerate(searched, start=1):
        if other.id == candidate.id:
            return place
    if not question.is_outside:
        return None
    mine = (-candidate.score, candidate.id)
    better = sum((-other.score, other.id) < mine for other in searched)
    return None if better >= question.without_limits.recall.depth else better + 1


def _find_place(memory: Memory, ranking: Ranking) -> tuple[int, Ranked] | tuple[None, None]:
    for place, ranked in enumerate(ranking.order, start=1):
        if ranked.id == memory.id:
            return place, ranked
    return None, None


async def _explain_second_phase(
    question: WhyContext,
    name: LegName,
    outcome: LegOutcome,
    answers: Answers,
    mine: Ranked | None,
) -> LegFacts:
    """Return what a leg of the second phase knows about the memory: its rank within the depth, as
    in a hit; beyond it, how far the leg has to go to reach it.
    """
    memory, report = question.memory, outcome.report
    share = None if mine is None else mine.fused.legs.get(name)
    if share is not None and share.rank is not None:
        return _facts(question, report, share.score, share.rank, report.found)
    # The leg's data may be older than the memory's current state.
    may_be_reached = not memory.is_sensitive and memory.deleted_at is None
    if report.status != "ran" or not may_be_reached:
        return _facts(question, report, None, None, report.found)
    far = await question.run_without_limits(name, answers)
    if far.found is None:
        return _facts(question, far.report, None, None, 0)
    reached = [candidate for candidate in far.found if candidate.is_ranked]
    for rank, candidate in enumerate(reached, start=1):
        if candidate.id == memory.id:
            return _facts(question, report, candidate.score, rank, len(reached))
    return _facts(question, report, None, None, len(reached))


async def _explain_parked(question: WhyContext, dense: LegFacts) -> str | None:
    """Return why a memory's text could not be embedded, if it failed too often."""
    ask, memory = question.context.parked, question.memory
    if ask is None or dense.status != "ran" or dense.score is not None or memory.is_sensitive:
        return None
    return await ask(question.recall.owner, memory.id)


async def _place_deeper(question: WhyContext, facts: LegFacts) -> int | None:
    """Return the memory's place if every leg ran at the depth that this one needs to find it. None
    if it has no place even then, which can happen with an approximate leg.
    """
    rank = facts.rank
    if rank is None or not facts.depth < rank <= MAX_DEPTH_SETTING:
        return None
    deep = question.at_depth(rank)
    ranking, _ = await deep.rank(collect_answers(await deep.run_legs()))
    place, _ = _find_place(question.memory, ranking)
    return place


def _explain_below_limit(
    question: WhyContext,
    ranking: Ranking,
    place: int | None,
    mine: Ranked | None,
    *,
    can_try: bool,
) -> list[Obstacle]:
    request, settings = question.recall.request, question.recall.settings
    if place is None or mine is None or place <= request.limit:
        return []
    # Importance does not count once the second stage has run.
    has_decided = ranking.rerank is not None and ranking.rerank.status == "ran"
    vital = None
    if can_try and not has_decided:
        vital = place_if_vital(ranking.order, mine.id, request.sort_by, settings.prior_strength)
    reach = question.recall.depth if can_try else 0
    return [below_limit(place, request, reach=reach, vital=vital, rerank=mine.rerank)]
