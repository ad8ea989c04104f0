"""Say of any memory why a recall brings it or does not, and what would bring it in.

Each leg is asked up to three times: as the recall asks it; for this memory alone, which tells
whether the leg finds it at all and with what score; and, when it does but not within the depth,
much deeper for its rank. A person waits for the answer, so it may take longer than a recall.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from recollect.core.explain import (
    LegFacts,
    Obstacle,
    WhyLeg,
    WhyReport,
    barred,
    below_limit,
    leg_obstacle,
)
from recollect.core.memory import Memory, Scope
from recollect.core.ranking import prior
from recollect.core.recall import LEGS, Candidate, LegName, RecallRequest
from recollect.core.recall_settings import RecallSettings
from recollect.usecases import find, tune
from recollect.usecases.arrange import arrange
from recollect.usecases.legs import LegOutcome, answers_of, ask_legs
from recollect.usecases.parts import Parts

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


async def why(parts: Parts, owner: str, reference: str, request: RecallRequest) -> WhyReport:
    request = request.checked()
    memory = await parts.store.get(
        owner, await find.resolve(parts, owner, reference, forgotten=True)
    )
    if memory is None:
        raise find.not_found(reference)
    settings = await tune.settings(parts)
    weights = {**settings.weights(), **request.weights}
    bars = barred(memory, request)
    question = _Question(parts, owner, memory, request, settings, weights, bool(bars))
    outcomes = await question.ask(request, settings.depth, LEGS)
    facts, answers = await _place_in_legs(question, outcomes)
    until = asyncio.get_running_loop().time() + _PATIENCE_SECONDS
    arranged = await arrange(parts, owner, request, settings, weights, answers, until=until)
    ranked = {one.id: (place, one) for place, one in enumerate(arranged.order, start=1)}
    place, mine = ranked.get(memory.id, (None, None))
    legs: dict[LegName, WhyLeg] = {}
    for name in LEGS:
        share = None if mine is None else mine.fused.legs.get(name)
        legs[name] = WhyLeg(
            facts[name],
            None if share is None else share.contribution,
            leg_obstacle(name, facts[name], memory),
        )
    recalled = not bars and place is not None and place <= request.limit
    return WhyReport(
        memory=memory,
        recalled=recalled,
        place=place,
        limit=request.limit,
        fused=None if mine is None else mine.fused.score,
        bonus=1.0 if mine is None else mine.bonus,
        prior=prior(memory.importance),
        score=None if mine is None else mine.score,
        legs=legs,
        kept_out=() if recalled else _kept_out(bars, place, request.limit, legs),
    )


async def _place_in_legs(
    question: _Question, outcomes: Mapping[LegName, LegOutcome]
) -> tuple[dict[LegName, LegFacts], dict[LegName, Sequence[Candidate]]]:
    """What each leg says of the memory, and the legs' answers with the memory in its place, also
    where the request bars it: its place is then the one it would have.
    """
    memory, request, depth = question.memory, question.request, question.depth
    answers = answers_of(outcomes)
    alone = replace(request, scope=_alone(memory), exclude=frozenset())
    probed = answers_of(await question.ask(alone, BOUND, tuple(answers)))
    found = {name: _of(memory, answer) for name, answer in probed.items()}
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
        facts[name] = LegFacts(
            status=outcome.report.status,
            weight=outcome.report.weight,
            depth=depth,
            score=None if candidate is None else candidate.score,
            rank=rank,
            searched=len(searched),
            note=outcome.report.note,
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


def _kept_out(
    bars: Sequence[Obstacle],
    place: int | None,
    limit: int,
    legs: Mapping[LegName, WhyLeg],
) -> tuple[Obstacle, ...]:
    low = [below_limit(place, limit)] if place is not None and place > limit else []
    of_legs = [leg.obstacle for leg in legs.values() if leg.obstacle is not None]
    return (*bars, *low, *of_legs)
