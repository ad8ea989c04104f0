"""Stated relationships on their way into the graph, on whichever store it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from recollect.core.graph.extraction import Fact
from recollect.core.graph.periods import Statement, edges_of, periods

Group = tuple[UUID, str]
"""A source and a single-valued relation: one target holds at a time."""


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A fact with the memory that says it and when."""

    memory: UUID
    fact: Fact
    stated_at: datetime

    @property
    def key(self) -> tuple[object, ...]:
        fact = self.fact
        return self.memory, fact.source, fact.relation, fact.target, fact.valid_from


def each_once(said: Iterable[StatedFact]) -> list[StatedFact]:
    """Statements, each once: of two that differ in their end alone, the later end."""
    unique: dict[tuple[object, ...], StatedFact] = {}
    for statement in said:
        before = unique.get(statement.key, statement)
        ends = [each.fact.valid_to for each in (before, statement) if each.fact.valid_to]
        fact = replace(before.fact, valid_to=max(ends, default=None))
        unique[statement.key] = replace(before, fact=fact)
    return list(unique.values())


def assign_edges(source: UUID, statements: Sequence[Statement]) -> list[tuple[Statement, UUID]]:
    """The statements of one group, each with the edge it belongs to. What a concept is said to be
    to itself, after two names were merged, is kept on an edge of its own, and ends nothing.
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
