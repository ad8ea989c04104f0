"""Merging the legs' ordered answers into one order. Pure arithmetic over named legs.

Two ways, both always available. *Reciprocal rank* (Cormack, Clarke, Büttcher 2009) looks at places
only: `Σ w / (k + rank)`, ranks from 1. *Convex combination* (TM2C2 of Bruch, Gai, Ingber 2023)
looks at scores: each leg's are scaled from the least value its kind of score can take (0 for
words, −1 for a cosine) to the best one found for this query, then averaged by weight.

Legs are always taken in the same order, so the order in which they are named cannot matter. They
are added up one after another, as Postgres does it: the same fusion as one SQL statement
(`adapters/postgres/fusion.py`) then gives the same numbers to the last bit. Equal scores are
settled by the best place in any leg, then by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from recollect.core.recall import LEGS, Candidate, LegName, LegPlace

Fusion = Literal["rrf", "convex"]
FUSIONS: Final[tuple[Fusion, ...]] = ("rrf", "convex")
LOWEST_SCORE: Final[Mapping[LegName, float]] = {"lexical": 0.0, "dense": -1.0, "graph": 0.0}

Answers = Mapping[LegName, Sequence[Candidate]]
Weights = Mapping[LegName, float]


@dataclass(frozen=True, slots=True)
class Fused:
    """One memory's fused score and the place each leg gave it."""

    candidate: Candidate
    score: float
    legs: Mapping[LegName, LegPlace]


def fuse(answers: Answers, weights: Weights, fusion: Fusion, k: int) -> list[Fused]:
    """The legs' answers in one order, best first. A leg without weight takes no part."""
    counted = {
        leg: found
        for leg in LEGS
        if weights.get(leg, 0.0) > 0.0 and (found := answers.get(leg, ()))
    }
    shares = (
        _reciprocal_ranks(counted, weights, k) if fusion == "rrf" else _convex(counted, weights)
    )

    candidates: dict[UUID, Candidate] = {}
    places: dict[UUID, dict[LegName, LegPlace]] = {}
    for leg, found in counted.items():
        for rank, (candidate, share) in enumerate(zip(found, shares[leg], strict=True), start=1):
            candidates.setdefault(candidate.id, candidate)
            # Should a leg name a memory twice, its first place counts.
            legs = places.setdefault(candidate.id, {})
            legs.setdefault(leg, LegPlace(rank, candidate.score, share))
    fused = [
        Fused(candidates[id], added_up(place.contribution for place in legs.values()), legs)
        for id, legs in places.items()
    ]
    return sorted(fused, key=_order)


def added_up(numbers: Iterable[float]) -> float:
    """Plain addition from left to right. From Python 3.12 on `sum` corrects its rounding, which no
    database does.
    """
    total = 0.0
    for number in numbers:
        total += number
    return total


def _order(fused: Fused) -> tuple[float, int, UUID]:
    best_rank = min(place.rank for place in fused.legs.values())
    return -fused.score, best_rank, fused.candidate.id


def _reciprocal_ranks(answers: Answers, weights: Weights, k: int) -> dict[LegName, list[float]]:
    return {
        leg: [weights[leg] / (k + rank) for rank in range(1, len(found) + 1)]
        for leg, found in answers.items()
    }


def _convex(answers: Answers, weights: Weights) -> dict[LegName, list[float]]:
    total = added_up(weights[leg] for leg in answers)
    return {
        leg: [weights[leg] / total * scaled for scaled in _scaled(found, LOWEST_SCORE[leg])]
        for leg, found in answers.items()
    }


def _scaled(found: Sequence[Candidate], lowest: float) -> list[float]:
    best = max(candidate.score for candidate in found)
    span = best - lowest
    if span <= 0.0:  # every score is the least possible one: nothing tells them apart
        return [0.0 for _ in found]
    # Rounding can leave a cosine just below −1; no score may count against a memory.
    return [max(candidate.score - lowest, 0.0) / span for candidate in found]
