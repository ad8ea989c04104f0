"""The shortest path through the graph: the search itself, without a store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from recollect.core.graph.model import MENTIONS, GraphPath, PathStep

MAX_STEPS: Final = 6
MAX_SEEN: Final = 20_000
"""How many concepts a search visits at most."""
MAX_EVIDENCE: Final = 5


@dataclass(frozen=True, slots=True)
class Link:
    """How a concept was reached."""

    here: UUID
    there: UUID
    relation: str
    is_back: bool
    edge: UUID | None


@dataclass(frozen=True, slots=True)
class FoundPath:
    """The start of a shortest path and its links; no links if it starts at a goal."""

    first: UUID
    links: tuple[Link, ...] = ()

    @property
    def last(self) -> UUID:
        return self.links[-1].there if self.links else self.first


class PathSearch:
    """A breadth-first search from any of some concepts to any of others. While there is a
    `frontier`, read the links that leave it and `advance`; then `found` has the path, if any.
    """

    def __init__(self, begins: Collection[UUID], goals: Collection[UUID], max_steps: int) -> None:
        met = sorted({*begins} & {*goals})
        self.found = FoundPath(met[0]) if met else None
        self.frontier = set() if met else {*begins}
        self._begins = frozenset(begins)
        self._goals = frozenset(goals)
        self._steps_left = max_steps
        self._reached: dict[UUID, Link] = {}

    def advance(self, links: Iterable[Link]) -> None:
        """Add the links that leave the frontier, preferred ones first."""
        met: dict[UUID, Link] = {}
        for link in links:
            if link.there not in self._reached and link.there not in self._begins:
                met.setdefault(link.there, link)
        self._reached |= met
        self._steps_left -= 1
        if ends := sorted(self._goals & met.keys()):
            self.found = self._trace_back(ends[0])
        is_over = self.found or not self._steps_left or len(self._reached) > MAX_SEEN
        self.frontier = set() if is_over else set(met)

    def _trace_back(self, end: UUID) -> FoundPath:
        links: list[Link] = []
        while end in self._reached:
            links.append(self._reached[end])
            end = links[-1].here
        return FoundPath(end, tuple(reversed(links)))


def to_step(link: Link, labels: Mapping[UUID, str], evidence: Collection[UUID]) -> PathStep:
    """Return a link as stated, with the memories that state it."""
    source, target = (link.there, link.here) if link.is_back else (link.here, link.there)
    shown = tuple(sorted(evidence)[:MAX_EVIDENCE])
    return PathStep(source, labels[source], link.relation, target, labels[target], shown)


def to_memory_path(
    start: UUID,
    found: FoundPath,
    steps: Iterable[PathStep],
    labels: Mapping[UUID, str],
    memory_id: UUID,
) -> GraphPath:
    """Extend a path between concepts to the memory that it explains."""
    first, last = found.first, found.last
    before = () if start == first else (PathStep(start, "", MENTIONS, first, labels[first]),)
    after = PathStep(last, labels[last], MENTIONS, memory_id, "", (memory_id,))
    return GraphPath((*before, *steps, after))
