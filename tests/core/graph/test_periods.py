"""Which statements form a period, whatever the order in which they became known."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations
from uuid import UUID

import pytest

from recollect.core.graph.periods import Statement, edges_of, periods

ROME, OSLO = UUID(int=1), UUID(int=2)


def year(number: int) -> datetime:
    return datetime(number, 1, 1, tzinfo=UTC)


def make_statement(
    target: UUID, start: int, end: int | None = None, edge: int | None = None
) -> Statement:
    until, kept = None if end is None else year(end), None if edge is None else UUID(int=edge)
    return Statement(target, year(start), until, year(start), (str(target),), kept)


Row = tuple[UUID, int, int | None]


@pytest.mark.parametrize(
    ("statements", "starts"),
    [
        ([(ROME, 2000, None), (ROME, 2003, None)], [[2000, 2003]]),
        ([(ROME, 2000, None), (OSLO, 2005, None), (ROME, 2010, None)], [[2000], [2005], [2010]]),
        ([(ROME, 2000, 2005), (ROME, 2006, None)], [[2000], [2006]]),
        ([(ROME, 2000, 2005), (ROME, 2003, None), (ROME, 2004, 2008)], [[2000, 2003, 2004]]),
        ([(ROME, 2000, None), (OSLO, 2000, None)], [[2000], [2000]]),
        ([], []),
    ],
)
def test_the_periods_in_any_order(statements: list[Row], starts: list[list[int]]) -> None:
    for order in permutations(statements):
        found = periods(make_statement(*row) for row in order)
        assert [[statement.start.year for statement in period] for period in found] == starts


def test_an_edge_stays_for_the_period_that_most_of_its_statements_are_in() -> None:
    found = [
        [make_statement(ROME, 2000, edge=7)],
        [make_statement(OSLO, 2005)],
        [
            make_statement(ROME, 2010, edge=7),
            make_statement(ROME, 2011, edge=8),
            make_statement(ROME, 2012, edge=8),
        ],
    ]
    assert edges_of(found) == [UUID(int=7), None, UUID(int=8)]
