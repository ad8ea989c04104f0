"""What a recall decides between its reads from the store: pure, so that the use case and the hooks'
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
from recollect.core.recall.relevance import CLEAR_EVIDENCE, MAX_ASKED
from recollect.core.recall.request import UNKNOWN_EVIDENCE, Hit
from recollect.core.recall.settings import WordQuery

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.request import LegName, RecallRequest
    from recollect.core.recall.settings import SecondStage


def check_some_leg_counts(context: RecallContext, legs: Iterable[LegName]) -> None:
    """Reject a recall that asks no leg: its empty answer would mean that nothing is known."""
    legs = tuple(legs)
    if not any(context.weights[name] > 0.0 for name in legs):
        settings = " or ".join(f"{name}_weight" for name in legs)
        raise InvalidInput(
            "no leg can answer: every available leg has weight 0",
            field="weights",
            remedy=f"Give one a weight above 0 in this recall, or raise {settings} in the "
            "settings.",
        )


def word_query(context: RecallContext) -> WordQuery:
    """Return what the lexical leg looks for."""
    request = context.request
    return WordQuery(
        text=request.query,
        expanded=request.expanded_query,
        depth=context.depth,
        exclude=request.exclude,
        as_of=request.as_of,
    )


def fuse_answers(context: RecallContext, answers: Answers) -> list[Fused]:
    """Fuse the answers, without memories that have too little to do with the query: a leg always
    returns its best ones, which may be irrelevant, and the graph must not walk on from there.
    """
    settings = context.settings
    least = settings.min_relevance
    fused = fuse(
        answers,
        context.weights,
        settings.fusion,
        settings.constant,
        least=least,
        depth=context.depth,
    )
    return [
        entry for entry in fused if max(place.evidence for place in entry.legs.values()) >= least
    ]


def are_weak(query: str, hits: Sequence[Hit]) -> bool:
    """Whether there are hits and none is clearly about the query. False for a long prompt, which is
    about several things, and if evidence could not be measured.
    """
    evidence = [place.evidence for hit in hits for leg, place in hit.legs.items() if leg != "graph"]
    return (
        bool(evidence)
        and max(evidence) < CLEAR_EVIDENCE
        and UNKNOWN_EVIDENCE not in evidence
        and len(query.split()) <= MAX_ASKED
    )


def second_stage(context: RecallContext) -> SecondStage:
    """Return the second stage to run: none unless sorted by relevance, which is what it judges."""
    return context.settings.second_stage if context.request.sort_by == "relevance" else "off"


def make_hits(order: Sequence[Ranked], memories: Mapping[UUID, Memory]) -> list[Hit]:
    """Create the hits, without memories that were forgotten since their leg ran."""
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


def join_same_texts(hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with each text once, at its best place. Texts are the same if they differ
    only in case and whitespace. A sensitive memory does not stand for one that is not: it may not
    be shown everywhere.
    """
    shown: dict[tuple[bool, str], Hit] = {}
    for hit in hits:
        memory = hit.memory
        key = (memory.is_sensitive, " ".join(memory.content.casefold().split()))
        first = shown.get(key)
        if first is None:
            shown[key] = hit
        else:
            same = dict.fromkeys((*first.duplicates, memory.id, *hit.duplicates))
            same.pop(first.memory.id, None)
            shown[key] = replace(first, duplicates=tuple(same))
    return list(shown.values())


def merge_hits(
    request: RecallRequest,
    server: Sequence[Hit],
    local: Sequence[Hit],
    unsent: Collection[UUID],
    known: Mapping[UUID, Memory],
) -> list[Hit]:
    """Return the server's hits, with the local state of what is `known` here, and the local hits
    that the server cannot have, because their present state was never sent.
    """
    # The server may know more about a moment in the past than this store.
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
