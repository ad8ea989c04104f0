"""Say of any memory why a recall brings it or does not, and what would bring it in.

Each leg is asked up to three times: as the recall asks it; for this memory alone, which tells
whether the leg finds it at all and with what score; and, when it does but not within the depth,
much deeper for its rank. What is said to bring it in is tried first: how scores are spread decides
how much depth or importance helps, and that is different for each query. A person waits for the
answer, so it may take longer than a recall.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from recollect.core.explain import (
    MAX_DEPTH_SETTING,
    LegFacts,
    Obstacle,
    WhyLeg,
    WhyReport,
    barred,
    below_limit,
    leg_obstacle,
    not_known_then,
    superseded,
)
from recollect.core.fusion import Answers
from recollect.core.links import last
from recollect.core.memory import Memory, Scope
from recollect.core.ranking import Ranked, place_if_vital, prior
from recollect.core.recall import LEGS, Candidate, LegName, RecallRequest
from recollect.core.recall_settings import RecallSettings
from recollect.usecases import find, tune
from recollect.usecases.arrange import Arranged, arrange
from recollect.usecases.follow import hits_of
from recollect.usecases.legs import LegOutcome, answers_of, ask_legs
from recollect.usecases.parts import Parts
from recollect.usecases.walk import fuse_and_walk, ready_to_walk

# How deep a leg is searched for a memory's rank: beyond it the answer says so.
BOUND: Final = 10_000
_PATIENCE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class _Question:
    """One `why`, with what is the same for all its questions to the legs."""

    parts: Parts
    owner: str
    memory: Memory
    request: RecallRequest
    settings: RecallSettings
    weights: Mapping[LegName, float]
    is_barred: bool

    @property
    def depth(self) -> int:
        return max(self.settings.depth, self.request.limit)

    async def ask(
        self, request: RecallRequest, depth: int, names: Sequence[LegName]
    ) -> dict[LegName, LegOutcome]:
        legs = {name: leg for name, leg in self.parts.legs.items() if name in names}
        settings = replace(self.settings, depth=depth)
        return await ask_legs(legs, self.weights, self.owner, request, settings, _PATIENCE_SECONDS)

    async def arrange(self, answers: Answers) -> tuple[Arranged, LegOutcome | None]:
        """The final order, and what became of the graph's leg."""
        asked = (self.parts, self.owner, self.request, self.settings, self.weights)
        with ready_to_walk(*asked) as walk:
            fused, graph = await fuse_and_walk(*asked, answers, walk, _PATIENCE_SECONDS)
        until = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
        arranged = await arrange(
            self.parts, self.owner, self.request, self.settings, fused, until=until
        )
        return arranged, graph


async def why(parts: Parts, owner: str, reference: str, request: RecallRequest) -> WhyReport:
    request = request.checked()
    memory = await parts.store.get(
        owner, await find.resolve(parts, owner, reference, forgotten=True)
    )
    if memory is None:
        raise find.not_found(reference)
    settings = await tune.settings(parts)
    weights = {**settings.weights(), **request.weights}
    memory, bars = await _as_known(parts, owner, memory, request)
    question = _Question(parts, owner, memory, request, settings, weights, bool(bars))
    outcomes = await question.ask(request, settings.depth, LEGS)
    facts, answers = await _place_in_legs(question, outcomes)
    arranged, graph = await question.arrange(answers)
    place, mine = _place(memory, arranged)
    if graph is not None:
        facts["graph"] = _in_graph(question, graph, mine)
    served = () if bars else await hits_of(parts.store, owner, request, arranged)
    shown = next((at for at, hit in enumerate(served, 1) if hit.memory.id == memory.id), None)
    recalled = shown is not None
    successor = None if recalled else await _successor(parts, owner, memory, request)
    legs = await _legs(question, facts, mine, is_sought=not (recalled or bars))
    low = [] if place is None or place <= request.limit else [_low(question, arranged, place)]
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
        stands_for=() if shown is None else served[shown - 1].stands_for,
        superseded_by=successor,
    )


async def _as_known(
    parts: Parts, owner: str, memory: Memory, request: RecallRequest
) -> tuple[Memory, list[Obstacle]]:
    """The memory as it was at the moment asked about, and what keeps it from taking part at all."""
    if request.as_of is None:
        return memory, barred(memory, request)
    then = (await parts.store.fetch(owner, [memory.id], request.as_of)).memories.get(memory.id)
    if then is None:
        return memory, [not_known_then(request.as_of)]
    return then, barred(then, request)


async def _legs(
    question: _Question,
    facts: Mapping[LegName, LegFacts],
    mine: Ranked | None,
    *,
    is_sought: bool,
) -> dict[LegName, WhyLeg]:
    """Each leg's part. `is_sought`: it could take part and is not recalled, so depth may help."""
    legs: dict[LegName, WhyLeg] = {}
    for name in LEGS:
        share = None if mine is None else mine.fused.legs.get(name)
        deeper = await _place_deeper(question, facts[name]) if is_sought else None
        legs[name] = WhyLeg(
            facts[name],
            None if share is None else share.contribution,
            leg_obstacle(name, facts[name], question.memory, question.request, deeper),
        )
    return legs


async def _successor(
    parts: Parts, owner: str, memory: Memory, request: RecallRequest
) -> UUID | None:
    """Who stands in the place of a memory in this recall, if somebody does."""
    if not (await parts.store.fetch(owner, [memory.id], request.as_of)).superseded:
        return None
    followed = await parts.store.follow(owner, [memory.id], (), request.as_of)
    by = followed.memories.get(last(memory.id, followed.successors))
    stands = by is not None and by.id != memory.id and request.scope.covers(by)
    return by.id if by is not None and stands else None


async def _place_in_legs(
    question: _Question, outcomes: Mapping[LegName, LegOutcome]
) -> tuple[dict[LegName, LegFacts], dict[LegName, Sequence[Candidate]]]:
    """What each leg says of the memory, and the legs' answers with the memory in its place, also
    where the request bars it: its place is then the one it would have.
    """
    memory, request, depth = question.memory, question.request, question.depth
    answers = answers_of(outcomes)
    alone = replace(request, scope=_alone(memory), exclude=frozenset())
    probes = await question.ask(alone, BOUND, tuple(answers))
    probed = answers_of(probes)
    found = {
        name: _of(memory, answer) or _of(memory, probed.get(name, ()))
        for name, answer in answers.items()
    }
    missing = tuple(
        name
        for name, answer in answers.items()
        if found.get(name) and not _of(memory, answer) and len(answer) >= depth
    )
    deep = answers_of(await question.ask(request, BOUND, missing)) if missing else {}

    facts: dict[LegName, LegFacts] = {}
    for name, outcome in outcomes.items():
        candidate = found.get(name)
        searched = deep.get(name, answers.get(name, ()))
        rank = _rank(candidate, searched, would_be=question.is_barred)
        # A leg that answered and then failed to answer about the memory is no leg that has not
        # found it.
        is_known = candidate is not None or name in probed or name not in answers
        report = outcome.report if is_known else probes[name].report
        facts[name] = LegFacts(
            status=report.status,
            weight=report.weight,
            depth=depth,
            score=None if candidate is None else candidate.score,
            rank=rank,
            searched=len(searched),
            note=report.note,
        )
        if question.is_barred and candidate is not None and rank is not None:
            others = [one for one in answers[name] if one.id != memory.id]
            answers[name] = [*others[: rank - 1], candidate, *others[rank - 1 :]][:depth]
    return facts, answers


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
    candidate: Candidate | None, searched: Sequence[Candidate], *, would_be: bool
) -> int | None:
    """Its place in the leg's answer; or, if it is barred, the place it would have there. None
    where the leg stopped looking before it came to the memory.
    """
    if candidate is None:
        return None
    for place, one in enumerate(searched, start=1):
        if one.id == candidate.id:
            return place
    if not would_be:
        return None
    mine = (-candidate.score, candidate.id)
    better = sum((-one.score, one.id) < mine for one in searched)
    return None if better >= BOUND else better + 1


def _place(memory: Memory, arranged: Arranged) -> tuple[int, Ranked] | tuple[None, None]:
    for place, one in enumerate(arranged.order, start=1):
        if one.id == memory.id:
            return place, one
    return None, None


def _in_graph(question: _Question, graph: LegOutcome, mine: Ranked | None) -> LegFacts:
    """What the walk says of the memory; it is asked once, and never deeper."""
    share = None if mine is None else mine.fused.legs.get("graph")
    found = share is not None and share.score > 0.0
    return LegFacts(
        status=graph.report.status,
        weight=graph.report.weight,
        depth=question.depth,
        score=share.score if share is not None and found else None,
        rank=share.rank if share is not None and found else None,
        searched=graph.report.found,
        note=graph.report.note,
    )


async def _place_deeper(question: _Question, facts: LegFacts) -> int | None:
    """The place it would have if each leg were asked for as many as this one needs to find it."""
    rank = facts.rank
    if rank is None or not facts.depth < rank <= MAX_DEPTH_SETTING:
        return None
    outcomes = await question.ask(question.request, rank, LEGS)
    arranged, _ = await question.arrange(answers_of(outcomes))
    place, _ = _place(question.memory, arranged)
    return len(arranged.order) + 1 if place is None else place  # an approximate leg may miss it


def _low(question: _Question, arranged: Arranged, place: int) -> Obstacle:
    request = question.request
    # Where the second stage has decided, importance is not asked.
    if arranged.rerank is not None and arranged.rerank.status == "ran":
        vital = None
    else:
        vital = place_if_vital(
            arranged.order, question.memory.id, request.sort_by, question.settings.prior_strength
        )
    return below_limit(place, request.limit, question.depth, vital)
