"""Confidence: one number that means the same for every query, and is sorted as the hits are."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conformance.samples import memory

from recollect.core.recall.confidence import confidence, rate_hits
from recollect.core.recall.request import Hit, LegPlace, RecallRequest, Recollection, SortBy

QUERY = "When is the ferry to Odense repainted?"
TEXTS = (
    "The ferry to Odense is repainted in May.",
    "The ferry leaves from pier four.",
    "Lunch is at noon.",
)


def make_hit(text: str, evidence: float | None = None, number: int = 1) -> Hit:
    """A hit with this evidence of its meaning; None: found by words alone."""
    dense = {} if evidence is None else {"dense": LegPlace(1, 0.5, 1.0, evidence=evidence)}
    return Hit(memory(number, text), 10.0 - number, 1.0, 1.0, dense)  # type: ignore[arg-type]


def make_hits(*hits: tuple[str, float | None]) -> list[Hit]:
    return [make_hit(text, evidence, number) for number, (text, evidence) in enumerate(hits, 1)]


def rate(*hits: tuple[str, float | None], query: str = QUERY) -> list[float]:
    return [hit.confidence for hit in rate_hits(RecallRequest(query), make_hits(*hits))]


@pytest.mark.parametrize("evidence", [None, 0.4, 0.47])
def test_what_has_nothing_to_do_with_the_query_is_unlikely_to_answer(
    evidence: float | None,
) -> None:
    assert confidence(QUERY, make_hit(TEXTS[2], evidence), 1) < 0.12


@pytest.mark.parametrize(("text", "evidence"), [(TEXTS[0], None), (TEXTS[2], 0.8)])
def test_words_alone_or_meaning_alone_make_an_answer_likely(
    text: str, evidence: float | None
) -> None:
    assert confidence(QUERY, make_hit(text, evidence), 1) > 0.5


def test_a_long_query_makes_every_hit_less_likely() -> None:
    hit = make_hit(TEXTS[0], 0.8)
    assert confidence(f"{QUERY} {'And so on. ' * 30}", hit, 1) < confidence(QUERY, hit, 1) - 0.2


def test_of_hits_that_are_as_relevant_the_first_is_surest() -> None:
    first, second, third = rate(*[(TEXTS[0], 0.7)] * 3)
    assert first > second > third


def test_no_hit_is_surer_than_one_that_ranks_before_it() -> None:
    below, above = (TEXTS[2], 0.5), (TEXTS[0], 0.9)
    assert rate(below, above) == rate(below) * 2
    assert rate(above, below)[0] == rate(above)[0]


@pytest.mark.parametrize("sort_by", ["recency", "importance"])
def test_confidence_is_that_of_relevance_in_any_order(sort_by: SortBy) -> None:
    best, other = hits = make_hits((TEXTS[0], 0.9), (TEXTS[1], 0.6))
    rated = rate_hits(RecallRequest(QUERY, sort_by=sort_by), [other, best])
    assert rated == [*reversed(rate_hits(RecallRequest(QUERY), hits))]


@given(
    st.lists(st.tuples(st.sampled_from(TEXTS), st.none() | st.floats(0.0, 1.0)), max_size=8),
    st.integers(0, 8),
    st.sampled_from(["", "ferry", QUERY]),
)
def test_confidence_is_sorted_and_does_not_depend_on_the_limit(
    hits: list[tuple[str, float | None]], limit: int, query: str
) -> None:
    rated = rate(*hits, query=query)
    assert all(above >= below for above, below in pairwise(rated))
    assert all(0.0 <= each <= 1.0 for each in rated)
    assert rate(*hits[:limit], query=query) == rated[:limit]


def test_an_answer_is_weak_if_no_hit_is_likely_to_answer() -> None:
    def is_weak(*hits: tuple[str, float | None]) -> bool:
        rated = rate_hits(RecallRequest(QUERY), make_hits(*hits))
        return Recollection(tuple(rated), {}, "standout", 1.0).is_weak

    assert is_weak((TEXTS[2], 0.5))
    assert not is_weak((TEXTS[1], 0.7), (TEXTS[2], 0.5))
    assert not is_weak()  # no hits
