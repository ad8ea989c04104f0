"""How a search through the graph remembers where it was, and shows the way, on whichever store."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from recollect.core.graph.model import PathStep

MAX_STEPS: Final = 6
MAX_SEEN: Final = 20_000
"""Concepts a search looks at before it gives up."""
EVIDENCE_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Link:
    """How a concept was reached."""

    here: UUID
    there: UUID
    relation: str
    is_back: bool
    edge: UUID | None


def trace_back(reached: Mapping[UUID, Link], end: UUID) -> list[Link]:
    links: list[Link] = []
    while end in reached:
        links.append(reached[end])
        end = reached[end].here
    return links[::-1]


def to_step(link: Link, labels: Mapping[UUID, str], evidence: Collection[UUID]) -> PathStep:
    """A link as it is stated, with the memories that say it."""
    source, target = (link.there, link.here) if link.is_back else (link.here, link.there)
    shown = tuple(sorted(evidence)[:EVIDENCE_SHOWN])
    return PathStep(source, labels[source], link.relation, target, labels[target], shown)
