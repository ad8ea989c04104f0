"""When a relation with one target at a time was true, and which statement belongs to which period.

"Ada works at Initech" and later "Ada works at Globex" are both true, each in its time. The periods
follow from all statements, so they are the same in whatever order the statements arrived.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory's statement that a target is true from `start` on, until `end` if it names one.
    `said_by` orders statements of one moment. `edge` is where it is stored so far.
    """

    target: UUID
    start: datetime
    end: datetime | None
    said_at: datetime
    said_by: tuple[str, ...]
    edge: UUID | None = None


def periods(statements: Iterable[Statement]) -> list[list[Statement]]:
    """Group the statements into periods, in order of time: statements of one target belong together
    until something else is stated, or the target has ended.
    """
    found: list[list[Statement]] = []
    ordered = sorted(
        statements, key=lambda statement: (statement.start, statement.said_at, statement.said_by)
    )
    for statement in ordered:
        if (
            found
            and found[-1][-1].target == statement.target
            and _lasts(found[-1], statement.start)
        ):
            found[-1].append(statement)
        else:
            found.append([statement])
    return found


def edges_of(found: list[list[Statement]]) -> list[UUID | None]:
    """Choose for each period the stored edge that it keeps: the one that most of its statements
    have, each edge once. None if a new one is needed.
    """
    taken: set[UUID] = set()
    kept: list[UUID | None] = []
    for period in found:
        have = [
            statement.edge
            for statement in period
            if statement.edge is not None and statement.edge not in taken
        ]
        edge = max(sorted(set(have)), key=have.count, default=None)
        taken |= set() if edge is None else {edge}
        kept.append(edge)
    return kept


def _lasts(period: list[Statement], at: datetime) -> bool:
    """Whether no statement of a period has ended it by then. A statement after the end does not
    reopen the period but begins a new one.
    """
    ends = [statement.end for statement in period if statement.end is not None]
    return not ends or at < max(ends)
