"""Which names may be the same, and how a new one is resolved."""

from __future__ import annotations

from uuid import UUID

import pytest

from recollect.core.graph.resolution import (
    MIN_MERGE_SIMILARITY,
    Neighbour,
    is_compared,
    may_mean,
    resolve,
)


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        ("Treaty of Versailles", "Versailles Treaty", True),
        ("United States Senate", "U.S. Senate", True),
        ("Paul J. Sorg", "Paul John Sorg", True),
        ("August 6, 1945", "6 August 1945", True),
        ("16 January 1977", "16 April 1977", False),
        ("Python 2", "Python 3", False),
        ("Louis XVI", "Louis XVIII", False),
        ("XXIII Olympiad", "XXXIV Olympiad", False),
        ("Pocahontas Mound A", "Pocahontas Mound B", False),
        ("Korea", "South Korea", False),
        ("Middle Ages", "Late Middle Ages", False),
        ("Civil War", "Civil War", True),  # "civil" has only Roman digits, but is no number
    ],
)
def test_what_speaks_against_two_names_being_one(one: str, other: str, may: bool) -> None:
    assert may_mean(one, other) is may
    assert may_mean(other, one) is may


def near(name: str, similarity: float, number: int = 1) -> Neighbour:
    return Neighbour(UUID(int=number), name, "name", similarity)


def test_the_nearest_that_may_be_it_is_it() -> None:
    other, same = near("Python 3", 0.99), near("Pythons", 0.96, 2)
    assert resolve("Python", [other, same]).same == same


@pytest.mark.parametrize(
    ("similarity", "is_same", "is_near"),
    [
        (MIN_MERGE_SIMILARITY, True, False),
        (MIN_MERGE_SIMILARITY - 0.001, False, True),
        (0.85, False, True),
        (0.849, False, False),
    ],
)
def test_below_the_threshold_they_are_near_and_then_nothing(
    similarity: float, is_same: bool, is_near: bool
) -> None:
    one = near("Postgres", similarity)
    found = resolve("PostgreSQL", [one])
    assert (found.same == one, found.near == (one,)) == (is_same, is_near)


def test_near_synonyms_are_bounded() -> None:
    many = [near(f"Postgres {letter}x", 0.9, place) for place, letter in enumerate("abcdefgh")]
    assert len(resolve("PostgreSQL", many).near) == 5


@pytest.mark.parametrize(
    ("kind", "compared"),
    [("name", True), ("phrase", True), ("code", False), ("url", False), ("tag", False)],
)
def test_what_is_written_one_way_only_is_not_compared(kind: str, compared: bool) -> None:
    assert is_compared(kind) is compared
