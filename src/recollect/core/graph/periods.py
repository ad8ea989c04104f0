"""When a relation with one target at a time was true, and which statement belongs to which period.

"Ada works at Initech" and later "Ada works at Globex" are both true, each in its time. The periods
follow from all statements, so they are the same in whatever order the statements arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from recollect.core.graph.extraction import Fact

Group = tuple[UUID, str]
"""A source and a single-valued relation: it has one target at a time."""


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact, the memory that states it, and when."""

    memory: UUID
    fact: Fact
    stated_at: datetime

    @property
    def key(self) -> tuple[object, ...]:
        fact = self.fact
        return self.memory, fact.source, fact.relation, fact.target, fact.valid_from


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


def merge_repeated(statements: Iterable[StatedFact]) -> list[StatedFact]:
    """Merge repeated statements: of two that differ only in their end, the later end counts."""
    unique: dict[tuple[object, ...], StatedFact] = {}
    for statement in statements:
        before = unique.get(statement.key, statement)
        ends = [each.fact.valid_to for each in (before, statement) if each.fact.valid_to]
        fact = replace(before.fact, valid_to=max(ends, default=None))
        unique[statement.key] = replace(before, fact=fact)
    return list(unique.values())


def assign_edges(source: UUID, statements: Sequence[Statement]) -> list[tuple[Statement, UUID]]:
    """Assign an edge to each statement of one group. A relationship of a concept to itself, which a
    merge of two names can cause, has an edge of its own and ends nothing.
    """
    loops = [each for each in statements if each.target == source]
    found = periods(each for each in statements if each.target != source)
    found += [loops] if loops else []
    return [
        (statement, edge or new_edge)
        for period, edge in zip(found, edges_of(found), strict=True)
        for new_edge in (uuid4(),)
        for statement in period
    ]
