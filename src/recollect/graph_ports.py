"""What the use cases need from the concept graph. A part of `ports.py`, which imports it, in a file
of its own because the graph exists on Postgres alone: the local store stays lexical.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Protocol
from uuid import UUID

from recollect.core.graph import GraphPath, GraphSnapshot
from recollect.core.recall import Candidate


class ConceptGraph(Protocol):
    """The graph of one owner, as recall reads it.

    `as_of` asks for what was true at that moment: relationships that were valid then, and mentions
    by memories that were stored by then. Without it, what holds now.
    """

    async def version(self, owner: str) -> int:
        """A number that grows with every change that a walk could see; 0 before the first."""

    async def snapshot(self, owner: str, as_of: datetime | None = None) -> GraphSnapshot:
        """The whole graph as columns. Read once a version, off the hot path."""

    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]:
        """The concepts known by these normalised forms, as name or alias; those that exist."""

    async def hops(
        self,
        owner: str,
        seeds: Mapping[UUID, float],
        hops: int,
        decay: float,
        limit: int,
        as_of: datetime | None = None,
    ) -> list[Candidate]:
        """Memories reached from memories and concepts, best first; the seeds' own memories too
        where a walk comes back to them. One hop: to a concept's other memories, from a memory by
        what it mentions; each further hop crosses one relationship, and `decay` (0..1) is what is
        left of the mass after it.
        """

    async def paths(
        self, owner: str, from_ids: Collection[UUID], memory_id: UUID
    ) -> list[GraphPath]:
        """The shortest ways from memories or concepts to a memory, for the explanation: at most
        one for each beginning, at most two relationships long.
        """
