"""From fused scores to the order a caller asked for."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import MOMENT

from recollect.core.memory.memory import Memory
from recollect.core.recall.fusion import Fused
from recollect.core.recall.ranking import (
    interleave,
    place_if_vital,
    prior,
    rank,
    rearrange,
)
from recollect.core.recall.request import Candidate, Hit, LegPlace, SortBy


def fused(number: int, score: float, importance: float = 0.5, age: int = 0) -> Fused:
    moment = MOMENT - timedelta(hours=age)
    place = LegPlace(rank=number, score=score, contribution=score)
    candidate = Candidate(UUID(int=number), score, importance, moment)
    return Fused(candidate, score, {"lexical": place})


def order(entries: list[Fused], sort_by: SortBy) -> list[int]:
    return [entry.fused.candidate.id.int for entry in rank(entries, sort_by)]


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
def test_rank_sorts_by_relevance_importance_or_recency(
    sort_by: SortBy, expected: list[int]
) -> None:
    entries = [
        fused(1, 0.9, importance=0.0, age=2),
        fused(2, 0.8, importance=1.0, age=9),
        fused(3, 0.7, importance=1.0, age=1),
        fused(4, 0.1, importance=0.5, age=0),
    ]
    assert order(entries, sort_by) == expected


@pytest.mark.parametrize("sort_by", ["relevance", "importance", "recency"])
def test_rank_keeps_the_fused_order_of_ties(sort_by: SortBy) -> None:
    assert order([fused(number, 0.5) for number in (3, 1, 2)], sort_by) == [3, 1, 2]


@given(st.lists(st.floats(0.0, 1.0), max_size=10), st.floats(0.0, 1.0))
def test_rank_keeps_the_fused_order_at_equal_importance(
    scores: list[float], importance: float
) -> None:
    entries = [
        fused(number, score, importance)
        for number, score in enumerate(sorted(scores, reverse=True), start=1)
    ]
    assert order(entries, "relevance") == [entry.candidate.id.int for entry in entries]


# Of 1 → .9 × .85, 2 → .8 × .85, 3 → .7 × .85 and 4 → .1 × .85, the third with importance 1 has .7,
# more than the second but not than the first; the last has .1.
VITAL: list[tuple[int, SortBy, float, int]] = [
    (3, "relevance", 0.3, 2),
    (3, "relevance", 0.0, 3),
    (4, "relevance", 0.3, 4),
    (4, "importance", 0.3, 1),
    (3, "recency", 0.3, 3),
]


@pytest.mark.parametrize(("number", "sort_by", "strength", "place"), VITAL)
def test_place_if_vital_ranks_with_importance_1(
    number: int, sort_by: SortBy, strength: float, place: int
) -> None:
    entries = [fused(n, score, age=n) for n, score in ((1, 0.9), (2, 0.8), (3, 0.7), (4, 0.1))]
    ranked = rank(entries, sort_by, strength=strength)
    assert place_if_vital(ranked, UUID(int=number), sort_by, strength) == place


REARRANGED: list[tuple[dict[int, float], list[int]]] = [
    ({1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4}, [4, 3, 2, 1]),
    ({}, [1, 2, 3, 4]),
    # those without a score retain their places
    ({1: 0.1, 3: 0.3, 4: 0.2}, [3, 2, 4, 1]),
    ({2: 5.0}, [1, 2, 3, 4]),
    # ties retain the order they had
    ({1: 1.0, 2: 1.0, 3: 1.0, 4: 2.0}, [4, 1, 2, 3]),
]


@pytest.mark.parametrize(("scores", "expected"), REARRANGED)
def test_rearrange_shares_out_the_places_of_what_was_scored(
    scores: dict[int, float], expected: list[int]
) -> None:
    ranked = rank([fused(number, 1 / number) for number in (1, 2, 3, 4)], "relevance")
    order = rearrange(ranked, {UUID(int=number): score for number, score in scores.items()})
    assert [entry.id.int for entry in order] == expected
    for entry in order:
        if entry.id.int in scores:
            assert entry.rerank is not None
            assert (entry.rerank.score, entry.rerank.former_place) == (
                scores[entry.id.int],
                entry.id.int,
            )
        else:
            assert entry.rerank is None


def hit(number: int, score: float, importance: float = 0.5, age: int = 0) -> Hit:
    moment = MOMENT - timedelta(hours=age)
    memory = Memory(
        id=UUID(int=number),
        owner="me",
        content="text",
        created_at=moment,
        updated_at=moment,
        importance=importance,
    )
    return Hit(memory, score, score, 1.0, {})


THEIRS = [hit(1, 22.0, 0.9, age=1), hit(2, 20.0, 0.5, age=5), hit(3, 9.0, 0.1, age=9)]


@pytest.mark.parametrize(
    ("here", "merged"),
    [
        # The only one that holds the word has the lowest score of the leg, and is still first.
        ([hit(8, 5.1)], [8, 1, 2, 3]),
        # Others that are found by the same words rank before it, here as there.
        ([hit(1, 60.0), hit(8, 50.0), hit(2, 7.0), hit(9, 6.0)], [1, 8, 2, 9, 3]),
        ([hit(5, 9.0), hit(6, 9.0), hit(7, 9.0), hit(4, 9.0), hit(8, 9.0)], [1, 2, 3, 8]),
        ([hit(2, 5.0)], [1, 2, 3]),
        ([], [1, 2, 3]),
    ],
)
def test_interleave_puts_local_hits_where_this_store_places_them(
    here: list[Hit], merged: list[int]
) -> None:
    order = interleave(THEIRS, here, {UUID(int=8), UUID(int=9)}, "relevance")
    assert [hit.memory.id.int for hit in order] == merged


@pytest.mark.parametrize(
    ("sort_by", "importance", "merged"),
    [
        ("importance", 0.7, [1, 8, 2, 3]),
        ("importance", 0.5, [1, 2, 8, 3]),  # equally important, and no score to distinguish them
        ("recency", 0.7, [1, 2, 8, 3]),
    ],
)
def test_interleave_compares_importance_and_age_across_stores(
    sort_by: SortBy, importance: float, merged: list[int]
) -> None:
    order = interleave(THEIRS, [hit(8, 99.0, importance, age=7)], {UUID(int=8)}, sort_by)
    assert [hit.memory.id.int for hit in order] == merged
