"""Which period a statement belongs to."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from recollect.core.periods import Period, place

ROME, OSLO = UUID(int=1), UUID(int=2)


def year(number: int) -> datetime:
    return datetime(number, 1, 1, tzinfo=UTC)


def period(number: int, target: UUID, start: int, end: int | None) -> Period:
    return Period(UUID(int=number), target, year(start), None if end is None else year(end))


# Rome until 2005, Oslo until 2010, Rome since 2010.
LIVED = (period(1, ROME, 2000, 2005), period(2, OSLO, 2005, 2010), period(3, ROME, 2010, None))


@pytest.mark.parametrize(
    ("target", "at", "edge"),
    [
        (ROME, 2003, 1),
        (OSLO, 2007, 2),
        (ROME, 2015, 3),
        (ROME, 2007, 3),  # known earlier than thought: it began before Oslo's end
        (OSLO, 2003, 2),
        (ROME, 1990, 1),
        (OSLO, 1990, None),
        (OSLO, 2015, None),
    ],
)
def test_the_period_of_a_statement(target: UUID, at: int, edge: int | None) -> None:
    found = place(LIVED, target, year(at))
    assert (None if found is None else found.edge.int) == edge


def test_what_ended_is_not_what_begins_again() -> None:
    assert place([period(1, ROME, 2000, 2005)], ROME, year(2006)) is None
    assert place([], ROME, year(2006)) is None
