"""Fusion: the arithmetic as visible sums, and the properties no table can show."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import (
    all_weights,
    answers,
    candidate,
    finite_scores,
    leg_answers,
    leg_names,
    weights_in_force,
)

from recollect.core.recall.fusion import FUSIONS, Answers, Fused, Fusion, Weights, fuse, reorder
from recollect.core.recall.request import Candidate, LegName, LegPlace

EVEN: Weights = {"lexical": 1.0, "dense": 1.0, "graph": 1.0}
fusions = st.sampled_from(FUSIONS)
ks = st.integers(1, 1_000)


def scores(fused: list[Fused]) -> dict[int, float]:
    return {entry.candidate.id.int: entry.score for entry in fused}


def order(fused: list[Fused]) -> list[int]:
    return [entry.candidate.id.int for entry in fused]


def by_rank(*numbers: int) -> list[Candidate]:
    return [candidate(number, score=1 / place) for place, number in enumerate(numbers, start=1)]


RECIPROCAL_RANKS: list[tuple[Answers, Weights, int, dict[int, float]]] = [
    (
        {"lexical": by_rank(1, 2, 3)},
        EVEN,
        60,
        {1: 1 / (60 + 1), 2: 1 / (60 + 2), 3: 1 / (60 + 3)},
    ),
    (
        {"lexical": by_rank(1, 2, 3), "dense": by_rank(3, 4)},
        EVEN,
        60,
        {3: 1 / (60 + 3) + 1 / (60 + 1), 1: 1 / (60 + 1), 2: 1 / (60 + 2), 4: 1 / (60 + 2)},
    ),
    (
        {"lexical": by_rank(1, 2), "dense": by_rank(2, 1), "graph": by_rank(3, 2)},
        {"lexical": 1.0, "dense": 1.0, "graph": 0.35},
        60,
        {
            2: 1 / (60 + 2) + 1 / (60 + 1) + 0.35 / (60 + 2),
            1: 1 / (60 + 1) + 1 / (60 + 2),
            3: 0.35 / (60 + 1),
        },
    ),
    (
        {"lexical": by_rank(1, 2), "dense": by_rank(2)},
        {"lexical": 2.0, "dense": 0.5},
        10,
        {1: 2 / (10 + 1), 2: 2 / (10 + 2) + 0.5 / (10 + 1)},
    ),
    ({"lexical": by_rank(1), "dense": []}, EVEN, 60, {1: 1 / (60 + 1)}),
    ({}, EVEN, 60, {}),
]


@pytest.mark.parametrize(("legs", "weights", "k", "expected"), RECIPROCAL_RANKS)
def test_rrf_sums_reciprocal_ranks(
    legs: Answers, weights: Weights, k: int, expected: dict[int, float]
) -> None:
    fused = fuse(legs, weights, "rrf", k)
    assert scores(fused) == pytest.approx(expected, rel=1e-15)
    assert order(fused) == sorted(expected, key=lambda number: (-expected[number], number))


CONVEX: list[tuple[Answers, Weights, dict[int, float]]] = [
    # words count from 0 to the best score found
    (
        {"lexical": [candidate(1, 8.0), candidate(2, 2.0)]},
        EVEN,
        {1: 8 / 8, 2: 2 / 8},
    ),
    # cosines count from −1 to the best score found
    (
        {"dense": [candidate(1, 0.6), candidate(2, 0.2), candidate(3, -1.0)]},
        EVEN,
        {1: (0.6 + 1) / (0.6 + 1), 2: (0.2 + 1) / (0.6 + 1), 3: (-1.0 + 1) / (0.6 + 1)},
    ),
    # a memory that a leg did not find gets nothing from it
    (
        {
            "lexical": [candidate(1, 8.0), candidate(2, 2.0)],
            "dense": [candidate(2, 0.6), candidate(3, 0.2)],
        },
        EVEN,
        {1: 1 / 2 * 8 / 8, 2: 1 / 2 * 2 / 8 + 1 / 2 * 1.6 / 1.6, 3: 1 / 2 * 1.2 / 1.6},
    ),
    # the weights are scaled to sum to 1 over the legs that answered: 1.0, 0.65 and 0.35 make 2
    (
        {
            "lexical": [candidate(1, 4.0)],
            "dense": [candidate(1, 0.5), candidate(2, 0.2)],
            "graph": [candidate(2, 0.3)],
        },
        {"lexical": 1.0, "dense": 0.65, "graph": 0.35},
        {1: 1 / 2 * 4 / 4 + 0.65 / 2 * 1.5 / 1.5, 2: 0.65 / 2 * 1.2 / 1.5 + 0.35 / 2 * 0.3 / 0.3},
    ),
    # when every score is the lowest possible one, nothing distinguishes them
    ({"lexical": [candidate(1, 0.0), candidate(2, 0.0)]}, EVEN, {1: 0.0, 2: 0.0}),
    # a cosine that rounding pushed below −1 counts as −1
    (
        {"dense": [candidate(1, 1.0), candidate(2, -1.0000001)]},
        EVEN,
        {1: (1 + 1) / (1 + 1), 2: 0.0},
    ),
]


@pytest.mark.parametrize(("legs", "weights", "expected"), CONVEX)
def test_convex_averages_scaled_scores(
    legs: Answers, weights: Weights, expected: dict[int, float]
) -> None:
    assert scores(fuse(legs, weights, "convex", 60)) == pytest.approx(expected, rel=1e-15)


STANDOUT: list[tuple[Answers, Weights, float, dict[int, float]]] = [
    # alone, heights above the last: 1, ½ and 0, whose variance is ⅙
    (
        {"lexical": [candidate(1, 9.0), candidate(2, 6.0), candidate(3, 3.0)]},
        EVEN,
        0.0,
        {1: 1 / (1 / 6), 2: 0.25 / (1 / 6), 3: 0.0},
    ),
    # each vote counts by its leg's weight; both lists are as long as the longest, so both were cut:
    # heights 1 and 0 among three candidates, of which the unlisted one is at the floor too
    (
        {
            "lexical": [candidate(1, 8.0), candidate(2, 2.0)],
            "dense": [candidate(2, 0.6), candidate(3, 0.2)],
        },
        {"lexical": 3.0, "dense": 1.0},
        7.0,
        {1: 0.75 * (4.5 + 7), 2: 0.75 * 7 + 0.25 * (4.5 + 7), 3: 0.25 * 7},
    ),
    # a shorter list of words is complete: the floor is 0, and its only memory stands out from two;
    # but a single hit has no square above 2.5
    (
        {"lexical": [candidate(1, 5.0)], "dense": [candidate(2, 0.5), candidate(3, 0.1)]},
        EVEN,
        0.0,
        {1: 0.5 * 2.5, 2: 0.5 * 4.5, 3: 0.0},
    ),
    # next to another leg, words count by the share of the query that they cover; cosines do not
    (
        {
            "lexical": [candidate(1, 8.0, evidence=0.5), candidate(2, 2.0, evidence=0.1)],
            "dense": [candidate(2, 0.6, evidence=0.5), candidate(3, 0.2)],
        },
        EVEN,
        7.0,
        {
            1: 0.5 * 0.5 * (4.5 + 7),
            2: 0.5 * 0.1 * 7 + 0.5 * (4.5 + 7),
            3: 0.5 * 7,
        },
    ),
    # alone, a leg keeps its own order
    (
        {"lexical": [candidate(1, 2.0, evidence=0.1), candidate(2, 1.0, evidence=1.0)]},
        EVEN,
        1.0,
        {1: 4 + 1, 2: 0 + 1},
    ),
    # a shorter list of cosines counts as cut all the same: some memories may not be embedded yet
    (
        {"dense": [candidate(1, 0.5)], "lexical": [candidate(2, 2.0), candidate(3, 1.0)]},
        EVEN,
        0.0,
        {1: 0.0, 2: 0.5 * 4.5, 3: 0.0},
    ),
    # when all are equal, none stands out
    ({"lexical": [candidate(1, 0.1), candidate(2, 0.1)]}, EVEN, 2.0, {1: 2.0, 2: 2.0}),
    # nor by a rounding error: half a percent of the best score is half of the minimum deviation
    ({"lexical": [candidate(1, 1.0), candidate(2, 0.995)]}, EVEN, 2.0, {1: 0.25 + 2, 2: 2.0}),
]


@pytest.mark.parametrize(("legs", "weights", "vote", "expected"), STANDOUT)
def test_standout_counts_squared_heights_and_votes(
    legs: Answers, weights: Weights, vote: float, expected: dict[int, float]
) -> None:
    assert scores(fuse(legs, weights, "standout", vote)) == pytest.approx(expected, rel=1e-12)


def test_fuse_reports_rank_score_and_contribution_of_each_leg() -> None:
    legs: Answers = {"lexical": by_rank(1, 2), "dense": [candidate(2, 0.75)]}
    first, second = fuse(legs, EVEN, "rrf", 60)
    assert first.candidate.id == UUID(int=2)
    assert {leg: (place.rank, place.score) for leg, place in first.legs.items()} == {
        "lexical": (2, 1 / 2),
        "dense": (1, 0.75),
    }
    assert {leg: place.contribution for leg, place in first.legs.items()} == {
        "lexical": 1 / (60 + 2),
        "dense": 1 / (60 + 1),
    }
    assert list(second.legs) == ["lexical"]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_fuse_settles_equal_scores_by_id(fusion: Fusion) -> None:
    crossed: Answers = {
        "lexical": [candidate(7, 1.0), candidate(3, 0.0)],
        "dense": [candidate(3, 1.0), candidate(7, -1.0)],
    }
    fused = fuse(crossed, EVEN, fusion, 60)
    assert fused[0].score == fused[1].score
    assert order(fused) == [3, 7]


def test_fuse_keeps_the_first_place_of_a_memory_named_twice() -> None:
    (fused,) = fuse({"lexical": [candidate(1, 0.9), candidate(1, 0.1)]}, EVEN, "rrf", 60)
    assert fused.score == 1 / (60 + 1)


@given(answers(), all_weights(), fusions, ks)
def test_fuse_ignores_the_order_of_the_legs(
    legs: dict[LegName, list[Candidate]], weights: dict[LegName, float], fusion: Fusion, k: int
) -> None:
    backwards = dict(reversed(legs.items()))
    assert fuse(backwards, weights, fusion, k) == fuse(legs, weights, fusion, k)


@given(answers(), all_weights(), leg_names, fusions, ks)
def test_fuse_treats_a_zero_weight_like_an_absent_leg(
    legs: dict[LegName, list[Candidate]],
    weights: dict[LegName, float],
    muted: LegName,
    fusion: Fusion,
    k: int,
) -> None:
    without = {leg: found for leg, found in legs.items() if leg != muted}
    assert fuse(legs, {**weights, muted: 0.0}, fusion, k) == fuse(without, weights, fusion, k)
    unnamed = {leg: weight for leg, weight in weights.items() if leg != muted}
    assert fuse(legs, unnamed, fusion, k) == fuse(without, weights, fusion, k)


@given(leg_names, leg_answers(finite_scores), weights_in_force, fusions, ks)
def test_fuse_keeps_the_order_of_a_single_leg(
    leg: LegName, found: list[Candidate], weight: float, fusion: Fusion, k: int
) -> None:
    fused = fuse({leg: found}, {leg: weight}, fusion, k)
    assert [entry.candidate for entry in fused] == found


@given(answers(), all_weights(st.floats(0.0, 5.0)), fusions, ks)
def test_fuse_returns_every_memory_once_best_first(
    legs: dict[LegName, list[Candidate]], weights: dict[LegName, float], fusion: Fusion, k: int
) -> None:
    fused = fuse(legs, weights, fusion, k)
    found = {entry.id for leg in legs if weights[leg] > 0 for entry in legs[leg]}
    assert sorted(order(fused)) == sorted(id.int for id in found)
    best_first = sorted(fused, key=lambda entry: -entry.score)
    assert [entry.score for entry in fused] == [entry.score for entry in best_first]


@given(answers(), all_weights(), fusions, ks)
def test_fuse_orders_equal_scores_and_ranks_by_id(
    legs: dict[LegName, list[Candidate]], weights: dict[LegName, float], fusion: Fusion, k: int
) -> None:
    fused = fuse(legs, weights, fusion, k)
    for entry, next_one in pairwise(fused):
        ranks = [min(place.rank or 0 for place in each.legs.values()) for each in (entry, next_one)]
        if entry.score == next_one.score and ranks[0] == ranks[1]:
            assert entry.candidate.id < next_one.candidate.id


@given(answers(), all_weights())
def test_convex_scores_lie_between_0_and_1(
    legs: dict[LegName, list[Candidate]], weights: dict[LegName, float]
) -> None:
    for entry in fuse(legs, weights, "convex", 60):
        assert 0.0 <= entry.score <= 1.0 + 1e-12  # the weights' shares are rounded


@given(answers(), all_weights(), leg_names, st.floats(1.0, 10.0), ks)
def test_a_heavier_leg_does_not_lower_what_it_found(
    legs: dict[LegName, list[Candidate]],
    weights: dict[LegName, float],
    favoured: LegName,
    factor: float,
    k: int,
) -> None:
    before = scores(fuse(legs, weights, "rrf", k))
    after = scores(fuse(legs, {**weights, favoured: weights[favoured] * factor}, "rrf", k))
    for entry in legs.get(favoured, ()):
        assert after[entry.id.int] >= before[entry.id.int]


@given(leg_answers(), leg_answers(), weights_in_force, st.floats(1.0, 10.0))
def test_a_heavier_leg_lifts_its_best_above_what_only_the_other_found(
    lexical: list[Candidate], dense: list[Candidate], weight: float, factor: float
) -> None:
    """Convex shares sum to 1: a heavier leg takes from the others, and their own finds sink."""
    legs: Answers = {"lexical": lexical, "dense": dense}
    before = scores(fuse(legs, {"lexical": weight, "dense": 1.0}, "convex", 60))
    after = scores(fuse(legs, {"lexical": weight * factor, "dense": 1.0}, "convex", 60))
    only_dense = {entry.id for entry in dense} - {entry.id for entry in lexical}
    for id in only_dense:
        assert after[id.int] <= before[id.int]
    if lexical and lexical[0].id not in {entry.id for entry in dense}:
        assert after[lexical[0].id.int] >= before[lexical[0].id.int]


def test_rrf_looks_at_places_only() -> None:
    close: Answers = {"lexical": [candidate(1, 9.0), candidate(2, 8.9)], "dense": by_rank(2, 1, 3)}
    apart: Answers = {"lexical": [candidate(1, 9.0), candidate(2, 0.1)], "dense": by_rank(2, 1, 3)}
    assert scores(fuse(close, EVEN, "rrf", 60)) == scores(fuse(apart, EVEN, "rrf", 60))
    assert order(fuse(close, EVEN, "convex", 60)) == [2, 1, 3]
    assert order(fuse(apart, EVEN, "convex", 60)) == [1, 2, 3]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_a_leg_that_is_trusted_less_adds_less(fusion: Fusion) -> None:
    dense = [candidate(2, 0.9), candidate(3, 0.4)]
    doubted = [found._replace(trust=0.5) for found in dense]
    full = fuse({"lexical": by_rank(1, 2), "dense": dense}, EVEN, fusion, 6)
    half = fuse({"lexical": by_rank(1, 2), "dense": doubted}, EVEN, fusion, 6)
    shares = {
        entry.candidate.id: entry.legs["dense"].contribution
        for entry in full
        if "dense" in entry.legs
    }
    assert {
        entry.candidate.id: entry.legs["dense"].contribution
        for entry in half
        if "dense" in entry.legs
    } == pytest.approx({id: share / 2 for id, share in shares.items()})


def test_a_leg_that_is_not_trusted_takes_part_only_where_no_other_found_anything() -> None:
    dense = [found._replace(trust=0.0) for found in by_rank(2, 3)]
    lexical = by_rank(1, 2)
    alone = fuse({"lexical": lexical}, EVEN, "standout", 6)
    assert fuse({"lexical": lexical, "dense": dense}, EVEN, "standout", 6) == alone
    assert order(fuse({"lexical": [], "dense": dense}, EVEN, "standout", 6)) == [2, 3]


@pytest.mark.parametrize("fusion", FUSIONS)
def test_a_leg_that_is_not_trusted_takes_part_where_others_found_nothing_relevant(
    fusion: Fusion,
) -> None:
    dense = [found._replace(trust=0.0) for found in by_rank(2, 3)]
    lexical = [found._replace(evidence=0.05) for found in by_rank(1, 2)]
    answers: Answers = {"lexical": lexical, "dense": dense}
    assert order(fuse(answers, EVEN, fusion, 6, least=0.1)) == [2, 3]
    assert order(fuse(answers, EVEN, fusion, 6)) == [1, 2]
    assert order(fuse({"lexical": lexical}, EVEN, fusion, 6, least=0.1)) == [1, 2]


def test_a_leg_that_answers_alone_keeps_its_order_however_little_it_is_trusted() -> None:
    dense = [candidate(2, 0.9)._replace(trust=0.2), candidate(3, 0.4)]
    assert order(fuse({"dense": dense}, EVEN, "standout", 6)) == [2, 3]


def test_the_words_of_a_memory_without_a_vector_stand_for_its_meaning() -> None:
    """1 is not in the dense list, though that is shorter than requested."""
    lexical = [candidate(1, 5.0)._replace(evidence=0.8)]
    dense = [candidate(number, 0.9 - number / 10) for number in range(2, 8)]
    answers: Answers = {"lexical": lexical, "dense": dense}
    weights: Weights = {"lexical": 1.0, "dense": 0.65}
    cut = fuse(answers, weights, "standout", 6, depth=6)
    assert order(cut)[0] == 2
    complete = fuse(answers, weights, "standout", 6, depth=7)
    assert order(complete) == [1, *range(2, 8)]
    best = complete[1].legs["dense"].contribution
    before = next(entry for entry in cut if "lexical" in entry.legs).score
    assert complete[0].score == pytest.approx(before + 0.8 * best)


NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make_candidate(
    number: int, score: float, path: tuple[str, ...] = (), *, is_ranked: bool = True
) -> Candidate:
    return Candidate(UUID(int=number), score, number / 10, NOW, path=path, is_ranked=is_ranked)


def make_fused(number: int, score: float) -> Fused:
    return Fused(make_candidate(number, score), score, {"lexical": LegPlace(number, score, score)})


def test_reorder_scales_the_legs_order_to_the_fused_scores() -> None:
    before = [make_fused(1, 8.0), make_fused(2, 4.0), make_fused(3, 2.0)]
    order = reorder(
        before,
        "graph",
        [make_candidate(2, 0.4), make_candidate(9, 0.2, ("Anna",)), make_candidate(1, 0.1)],
    )
    assert [entry.candidate.id.int for entry in order] == [2, 9, 1, 3]
    assert [entry.score for entry in order] == pytest.approx([8.0, 4.0, 2.0, 2.0])
    assert [entry.legs["graph"].rank for entry in order] == [1, 2, 3, None]  # 3 was not returned
    place = order[1].legs["graph"]
    assert (place.rank, place.score, place.path) == (2, 0.2, ("Anna",))
    assert place.contribution == pytest.approx(4.0)
    assert order[1].candidate.importance == 0.9
    for entry in order:
        added = sum(place.contribution for place in entry.legs.values())
        assert entry.score == pytest.approx(added)


def test_reorder_gives_an_unranked_candidate_a_place_and_no_rank() -> None:
    before = [make_fused(1, 8.0), make_fused(2, 4.0)]
    first, second = reorder(
        before, "graph", [make_candidate(1, 0.4, is_ranked=False), make_candidate(2, 0.1)]
    )
    assert (first.candidate.id.int, first.score) == (1, 8.0)
    assert first.legs["graph"] == LegPlace(None, 0.0, 0.0)
    assert (second.score, second.legs["graph"].rank) == (2.0, 1)


def test_reorder_keeps_the_fused_order_when_the_leg_returns_nothing() -> None:
    before = [make_fused(1, 8.0), make_fused(2, 4.0)]
    assert reorder(before, "graph", []) == before
    assert reorder([], "graph", [make_candidate(9, 1.0)]) == []
