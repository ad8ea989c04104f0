"""Champions keep their places, and nobody else is moved more than they need."""

from __future__ import annotations

import pytest

from recollect.bench.runs.champions import insert_champions

RANKING = tuple("abcdefghijkl")


@pytest.mark.parametrize(
    ("lexical", "dense", "count", "expected"),
    [
        ("xyz", "abc", 0, "abcdefghijkl"),
        ("abc", "cba", 3, "abcdefghijkl"),
        ("xbc", "abc", 1, "abcdefghixjkl"),
        ("xyz", "aij", 2, "abcdefgixyhjkl"),
        ("kl", "lk", 2, "abcdefghklij"),
    ],
)
def test_insert_champions_replaces_the_lowest_other_hits(
    lexical: str, dense: str, count: int, expected: str
) -> None:
    legs = {"lexical": tuple(lexical), "dense": tuple(dense)}
    assert insert_champions(RANKING, legs, count) == tuple(expected)  # type: ignore[arg-type]  # names of legs
