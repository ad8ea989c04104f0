"""What a recall decides between reading from the store: pure, so that the use case and the hooks'
fast recall decide alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.recall.fusion import Answers, Fused, fuse
from recollect.core.recall.late import widen_to_words
from recollect.core.recall.ranking import Ranked, interleave
from recollect.core.recall.request import Hit
from recollect.core.recall.settings import WordQuery

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.request import LegName, LegPlace, RecallRequest
    from recollect.core.recall.settings import SecondStage


def check_some_leg_counts(context: RecallContext, legs: Iterable[LegName]) -> None:
    """A recall that asks no leg is a mistake: an empty answer would say that nothing is known."""
    legs = tuple(legs)
    if not any(context.weights[name] > 0.0 for name in legs):
        settings = " or ".join(f"{name}_weight" for name in legs)
        raise InvalidInput(
            "no leg can answer: the weight of each that is here is 0",
            field="weights",
            remedy=f"Give one a weight above 0 in this recall, or raise {settings} in the "
            "settings.",
        )


def word_query(context: RecallContext) -> WordQuery:
    """What the lexical leg looks for."""
    request = context.request
    return WordQuery(
        text=request.query,
        expanded=request.expanded_query,
        depth=context.depth,
        exclude=request.exclude,
        as_of=request.as_of,
    )


def fuse_answers(context: RecallContext, answers: Answers) -> list[Fused]:
    settings = context.settings
    return fuse(
        answers, context.weights, settings.fusion, settings.constant, settings.min_relevance
    )


def drop_irrelevant(context: RecallContext, fused: Sequence[Fused]) -> Sequence[Fused]:
    """Leave out what has too little to do with the query: a leg always finds its best, which may
    be nothing.
    """
    least = context.settings.min_relevance
    if least <= 0.0:
        return fused
    return [entry for entry in fused if hit_evidence(entry.legs) >= least]


def hit_evidence(legs: Mapping[LegName, LegPlace]) -> float:
    """The most that any leg of the first phase has for a memory; 1 if only the graph found it."""
    return max((place.evidence for name, place in legs.items() if name != "graph"), default=1.0)


def second_stage(context: RecallContext) -> SecondStage:
    """It judges relevance: sorted otherwise, there is none."""
    return context.settings.second_stage if context.request.sort_by == "relevance" else "off"


def make_hits(order: Sequence[Ranked], memories: Mapping[UUID, Memory]) -> list[Hit]:
    """A memory forgotten since its leg ran is not shown."""
    return [
        Hit(
            memories[ranked.id],
            ranked.score,
            ranked.fused.score,
            ranked.prior,
            ranked.fused.legs,
            widen_to_words(ranked.rerank, memories[ranked.id].content),
        )
        for ranked in order
        if ranked.id in memories
    ]


def merge_hits(
    request: RecallRequest,
    server: Sequence[Hit],
    local: Sequence[Hit],
    unsent: Collection[UUID],
    known: Mapping[UUID, Memory],
) -> list[Hit]:
    """The server's hits, with the local state of what is `known` here, and the local hits that the
    server cannot have: those that were never sent as they are.
    """
    # Of a moment in the past the server may have seen more than this store.
    texts = known if request.as_of is None else {}
    theirs = [
        replace(
            hit,
            memory=texts.get(hit.memory.id, hit.memory),
            attached=tuple(memory for memory in hit.attached if memory.id not in unsent),
        )
        for hit in server
        if hit.memory.id not in unsent
    ]
    return interleave(theirs, local, unsent, request.sort_by)
