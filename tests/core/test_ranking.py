"""From fused scores to the order a caller asked for."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import MOMENT

from recollect.core.fusion import Fused
from recollect.core.ranking import prior, rank
from recollect.core.recall import Candidate, LegPlace, SortBy


def fused(number: int, score: float, importance: float = 0.5, age: int = 0) -> Fused:
    moment = MOMENT - timedelta(hours=age)
    place = LegPlace(rank=number, score=score, contribution=score)
    candidate = Candidate(UUID(int=number), score, importance, moment)
    return Fused(candidate, score, {"lexical": place})


def order(entries: list[Fused], sort_by: SortBy) -> list[int]:
    return [one.fused.candidate.id.int for one in rank(entries, sort_by)]


@pytest.mark.parametrize(
    ("importance", "factor"),
    [(0.0, 0.7 + 0.3 * 0.0), (0.5, 0.7 + 0.3 * 0.5), (1.0, 0.7 + 0.3 * 1.0)],
)
def test_the_prior_moves_a_score_by_at_most_thirty_percent(
    importance: float, factor: float
) -> None:
    assert prior(importance) == factor


def test_relevance_is_the_fused_score_times_the_prior() -> None:
    (first, second) = rank(
        [fused(1, 0.020, importance=0.0), fused(2, 0.016, importance=1.0)], "relevance"
    )
    assert (first.fused.candidate.id.int, first.prior, first.score) == (2, 1.0, 0.016 * 1.0)
    assert (second.fused.candidate.id.int, second.prior, second.score) == (1, 0.7, 0.020 * 0.7)


def test_importance_cannot_bring_an_unrelated_memory_to_the_top() -> None:
    assert order([fused(1, 1.0, importance=0.0), fused(2, 0.69, importance=1.0)], "relevance") == [
        1,
        2,
    ]


TABLE: list[tuple[SortBy, list[int]]] = [
    # final scores: 1 → .9 × .7 = .63, 2 → .8 × 1 = .8, 3 → .7 × 1 = .7, 4 → .1 × .85 = .085
    ("relevance", [2, 3, 1, 4]),
    # importance 1, 1, 0.5, 0; the two vital ones by relevance
    ("importance", [2, 3, 4, 1]),
    # hours ago: 4 → 0, 3 → 1, 1 → 2, 2 → 9
    ("recency", [4, 3, 1, 2]),
]


@pytest.mark.parametrize(("sort_by", "expected"), TABLE)
def test_sort_orders(sort_by: SortBy, expected: list[int]) -> None:
    entries = [
        fused(1, 0.9, importance=0.0, age=2),
        fused(2, 0.8, importance=1.0, age=9),
        fused(3, 0.7, importance=1.0, age=1),
        fused(4, 0.1, importance=0.5, age=0),
    ]
    assert order(entries, sort_by) == expected


@pytest.mark.parametrize("sort_by", ["relevance", "importance", "recency"])
def test_ties_keep_the_order_of_fusion(sort_by: SortBy) -> None:
    assert order([fused(number, 0.5) for number in (3, 1, 2)], sort_by) == [3, 1, 2]


@given(st.lists(st.floats(0.0, 1.0), max_size=10), st.floats(0.0, 1.0))
def test_equal_importance_never_changes_the_order_of_fusion(
    scores: list[float], importance: float
) -> None:
    entries = [
        fused(number, score, importance)
        for number, score in enumerate(sorted(scores, reverse=True), start=1)
    ]
    assert order(entries, "relevance") == [one.candidate.id.int for one in entries]
