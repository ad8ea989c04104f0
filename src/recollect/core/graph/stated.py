"""Stated relationships on their way into the graph of either store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from recollect.core.graph.extraction import Fact
from recollect.core.graph.periods import Statement, edges_of, periods

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
