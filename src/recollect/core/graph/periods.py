"""When a relation that holds once at a time held, and which statement belongs to which time.

"Ada works at Initech" and later "Ada works at Globex" are both true, each in its time. The periods
follow from all that is said, so they come out the same in whatever order it became known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory's word that a target holds from `start` on, until `end` if it names one. `said_by`
    tells statements of one moment apart: they are taken in its order. `edge` is where it is kept
    so far.
    """

    target: UUID
    start: datetime
    end: datetime | None
    said_at: datetime
    said_by: tuple[str, ...]
    edge: UUID | None = None


def periods(statements: Iterable[Statement]) -> list[list[Statement]]:
    """The statements by periods, in the order of time: what is said of one target goes together
    until something else is said, or until it has ended.
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
    """For each period the edge that may stay for it: the one that most of its statements have,
    each edge once. None where a new one is to be made.
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
    """Whether nothing said in a period has ended it by then; a later word than an end's reopens
    nothing, it begins again.
    """
    ends = [statement.end for statement in period if statement.end is not None]
    return not ends or at < max(ends)
