"""Merging the legs' ordered answers into one order. Pure arithmetic over named legs.

There are three ways. *Standout*, the default, measures how far a score stands out from the scores
that its leg gave to all candidates: the square of its height above the leg's floor, in units of the
variance, plus a vote for being found at all, averaged by weight. A leg that is sure of a few
memories shows that by their scores, and counts for more on that question than one that finds a
hundred alike (docs/adr/0011). If another leg answers too, words count only as far as they carry
what is asked: their share is multiplied by the share of the query's information that the memory
has, and a list of few hits stands out less; for a memory without a vector, words also replace
meaning (docs/adr/0042). A model counts little in a language that it was not made for
(docs/adr/0044). *Reciprocal rank* (Cormack, Clarke, Büttcher 2009) uses only the ranks: `Σ w / (k +
rank)`, ranks from 1. *Convex combination* (TM2C2 of Bruch, Gai, Ingber 2023) scales each leg's
scores from the least value its kind can take (0 for words, −1 for a cosine) to the best one found
for this query, then averages by weight.

Legs are always taken in the same order, so the order in which they are named cannot matter. Ties
are broken by the best place in any leg, then by id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import inf
from operator import add
from typing import Final, Literal, NamedTuple, TypeAlias

from recollect.core.recall.request import LEGS, Candidate, LegName, LegPlace

Fusion = Literal["standout", "rrf", "convex"]
FUSIONS: Final[tuple[Fusion, ...]] = ("standout", "rrf", "convex")
# Scores that differ by less than this share of the possible range are treated as equal: a rounding
# error does not stand out.
MIN_DEVIATION: Final = 0.01
# A single hit has nothing to stand out from: no square is above this many times the number of hits.
MAX_SQUARE_PER_HIT: Final = 2.5
LOWEST_SCORE: Final[Mapping[LegName, float]] = {"lexical": 0.0, "dense": -1.0, "graph": 0.0}

Answers = Mapping[LegName, Sequence[Candidate]]
Weights = Mapping[LegName, float]


# A memory while it is being fused: what it is sorted by (its negative score, its best place, its id
# as a number), and what is known about it.
_Placed: TypeAlias = tuple[float, int, int, Candidate, dict[LegName, LegPlace]]


class Fused(NamedTuple):
    """One memory's fused score and the place each leg gave it."""

    candidate: Candidate
    score: float
    legs: Mapping[LegName, LegPlace]


def fuse(
    answers: Answers,
    weights: Weights,
    fusion: Fusion,
    constant: float,
    *,
    least: float = 0.0,
    depth: int = 0,
) -> list[Fused]:
    """Merge the legs' answers into one order, best first. A leg without weight takes no part; one
    that is not trusted at all only if no other has a candidate with the `least` evidence.

    `constant` goes with the fusion: the vote of standout, the k of reciprocal rank. `depth` is how
    many candidates were requested from each leg.
    """
    weighed = {
        leg: found
        for leg in LEGS
        if weights.get(leg, 0.0) > 0.0 and (found := answers.get(leg, ()))
    }
    trusted = {leg: found for leg, found in weighed.items() if found[0].trust > 0.0}
    is_answered = any(entry.evidence >= least for found in trusted.values() for entry in found)
    doubted = {leg: found for leg, found in weighed.items() if leg not in trusted}
    counted = trusted if is_answered else doubted or trusted
    match fusion:
        case "standout":
            shares = _standout(counted, weights, constant, depth)
        case "rrf":
            shares = _reciprocal_ranks(counted, weights, constant)
        case "convex":
            shares = _convex(counted, weights)

    # By the id's number: `UUID.__hash__` is written in Python and slower.
    known: dict[int, _Placed] = {}
    for leg, found in counted.items():
        for rank, (candidate, share) in enumerate(zip(found, shares[leg], strict=True), start=1):
            number = candidate.id.int
            place = LegPlace(
                rank,
                candidate.score,
                share,
                evidence=candidate.evidence,
                passage=candidate.passage,
            )
            before = known.get(number)
            if before is None:
                known[number] = (-share, rank, number, candidate, {leg: place})
            elif leg not in (legs := before[-1]):  # if it occurs twice, its first place counts
                legs[leg] = place
                known[number] = (before[0] - share, min(before[1], rank), *before[2:])
    in_order = sorted(known.values())
    return [Fused(candidate, -below, legs) for below, _, _, candidate, legs in in_order]


def add_up(numbers: Iterable[float]) -> float:
    """Add from left to right. From Python 3.12 on, `sum` corrects its rounding: scores would differ
    in the last bit between versions.
    """
    return reduce(add, numbers, 0.0)


def floors(answers: Answers) -> dict[LegName, float]:
    """Return the score that each leg is assumed to give to a memory that it did not list.

    A list as long as the longest was cut off, and so is that of the dense leg in any case: what
    comes after it is at most as good as its last. A shorter list of words is complete: the other
    memories have none of them.
    """
    longest = max(map(len, answers.values()), default=0)
    return {
        leg: last if leg == "dense" or len(found) == longest else min(last, LOWEST_SCORE[leg])
        for leg, found in answers.items()
        for last in (min([candidate.score for candidate in found]),)
    }


def _standout(
    answers: Answers, weights: Weights, vote: float, depth: int
) -> dict[LegName, list[float]]:
    total = add_up(weights[leg] for leg in answers)
    ids = {leg: {candidate.id.int for candidate in found} for leg, found in answers.items()}
    everyone = set[int]().union(*ids.values())
    floor = floors(answers)
    shares = {
        leg: [
            part * trust * (square + vote)
            for trust, square in zip(
                _trust(answers, leg),
                _squares(
                    [candidate.score for candidate in found],
                    floor[leg],
                    len(everyone) - len(ids[leg]),
                    least_variance(found, floor[leg], LOWEST_SCORE[leg]),
                ),
                strict=True,
            )
        ]
        for leg, found in answers.items()
        for part in (weights[leg] / total,)
    }
    if ids.keys() >= {"lexical", "dense"} and len(ids["dense"]) < depth:
        # The dense list is complete: a memory that is not in it has no vector, because it is
        # sensitive or new. Its words then replace its meaning, or it would lose to memories that
        # have nothing to do with the query.
        best = max(shares["dense"])
        shares["lexical"] = [
            share if candidate.id.int in ids["dense"] else share + trust * best
            for share, candidate, trust in zip(
                shares["lexical"], answers["lexical"], _trust(answers, "lexical"), strict=True
            )
        ]
    return shares


def _trust(answers: Answers, leg: LegName) -> list[float]:
    """Return the factors for the shares of a leg. A cosine is already measured by its height above
    the last of its list, and a leg that answers alone keeps its own order.
    """
    found = answers[leg]
    if len(answers) == 1:
        return [1.0 for _ in found]
    if leg != "lexical":
        return [candidate.trust for candidate in found]
    return [candidate.evidence * candidate.trust for candidate in found]


def least_variance(found: Sequence[Candidate], floor: float, lowest: float) -> float:
    """Return the variance of heights below which scores are treated as equal; a height is the share
    of the way from the floor to the best score.
    """
    best = max([candidate.score for candidate in found])
    if best - floor <= 0.0:
        return 1.0
    deviation = MIN_DEVIATION * ((best - lowest) / (best - floor))
    return max(deviation * deviation, 1.0 / (MAX_SQUARE_PER_HIT * len(found)))


def _squares(
    scores: Sequence[float], floor: float, unlisted: int, least_variance: float
) -> list[float]:
    """Square the heights above the floor, in units of the heights' variance over all candidates;
    the unlisted ones lie on the floor.
    """
    span = max(scores) - floor
    if not 0.0 < span < inf:  # all are equal, or the span is infinite or NaN
        return [0.0 for _ in scores]
    heights = [(score - floor) / span for score in scores]
    count = len(heights) + unlisted
    mean = add_up(heights) / count
    squares = add_up([(height - mean) * (height - mean) for height in heights])
    variance = max((squares + unlisted * (mean * mean)) / count, least_variance)
    return [height * height / variance for height in heights]


def _reciprocal_ranks(answers: Answers, weights: Weights, k: float) -> dict[LegName, list[float]]:
    return {
        leg: [
            weights[leg] * candidate.trust / (k + rank)
            for rank, candidate in enumerate(found, start=1)
        ]
        for leg, found in answers.items()
    }


def _convex(answers: Answers, weights: Weights) -> dict[LegName, list[float]]:
    total = add_up(weights[leg] for leg in answers)
    return {
        leg: [
            weights[leg] / total * candidate.trust * scaled
            for candidate, scaled in zip(found, _scale(found, LOWEST_SCORE[leg]), strict=True)
        ]
        for leg, found in answers.items()
    }


def _scale(found: Sequence[Candidate], lowest: float) -> list[float]:
    best = max(candidate.score for candidate in found)
    span = best - lowest
    if span <= 0.0:  # every score is the lowest possible one
        return [0.0 for _ in found]
    # Rounding can make a cosine slightly less than −1; no score may count against a memory.
    return [max(candidate.score - lowest, 0.0) / span for candidate in found]


def reorder(fused: Sequence[Fused], leg: LegName, found: Sequence[Candidate]) -> list[Fused]:
    """Return the order of a leg of the second phase, scaled to the fused scores: its best has the
    best fused score. What the leg adds to a score is the difference, which may be negative. A
    candidate that is not ranked has no rank in the leg and the place that its score gives it.
    Memories that the leg did not return come last, in the former order, at most as good as the
    leg's last.
    """
    if not found or not fused:
        return list(fused)
    left = {entry.candidate.id: entry for entry in fused}
    unit = fused[0].score / found[0].score
    order: list[Fused] = []
    rank = 0
    for candidate in found:
        before = left.pop(candidate.id, None)
        score = candidate.score * unit
        added = score - (0.0 if before is None else before.score)
        rank += candidate.is_ranked
        if candidate.is_ranked:
            place = LegPlace(rank, candidate.score, added, candidate.path)
        else:
            place = LegPlace(None, 0.0, added)
        if before is None:
            order.append(Fused(candidate, score, {leg: place}))
        else:
            order.append(before._replace(score=score, legs={**before.legs, leg: place}))
    last = order[-1].score
    best = max((entry.score for entry in left.values()), default=0.0)
    for entry in left.values():
        score = last * entry.score / best if best > 0.0 else 0.0
        place = LegPlace(None, 0.0, score - entry.score)
        order.append(entry._replace(score=score, legs={**entry.legs, leg: place}))
    return order
