"""The graph leg: a walk over the concept graph from what the first phase found.

What it finds in addition follows the same rules as any hit: scope, exclude, sensitive, forgotten
(docs/adr/0024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.graph.walk import Walked, can_join
from recollect.core.recall.request import Candidate, Declined

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory
    from recollect.core.recall.context import RecallContext
    from recollect.ports.graph import Walker
    from recollect.ports.recall import Leg
    from recollect.ports.stores import MemoryStore


@dataclass(frozen=True, slots=True)
class GraphLeg:
    """Implements the `SecondPhaseLeg` port on a walker."""

    walker: Walker
    store: MemoryStore

    async def prepare(self, context: RecallContext) -> Leg | Declined:
        walk = await self.walker.prepare(context)
        if isinstance(walk, Declined):
            return walk

        async def leg(context: RecallContext) -> Sequence[Candidate]:
            return await self._build_candidates(context, await walk(context.fused))

        return leg

    async def _build_candidates(
        self, context: RecallContext, walked: Sequence[Walked]
    ) -> list[Candidate]:
        """Build a candidate for each memory reached that may be recalled."""
        known = {entry.candidate.id: entry.candidate for entry in context.fused}
        new = await self._find_recallable(context, [to.id for to in walked if to.id not in known])
        return [
            Candidate(
                to.id,
                to.score,
                source.importance,
                source.created_at,
                path=to.path,
                is_ranked=to.is_known,
            )
            for to in walked
            if (source := known.get(to.id) or new.get(to.id)) is not None
        ]

    async def _find_recallable(self, context: RecallContext, ids: list[UUID]) -> dict[UUID, Memory]:
        """Return the memories that may be recalled, as they are now or were at `as_of`. The graph
        may be older than a memory's current state, so the store decides.
        """
        request = context.request
        found: Mapping[UUID, Memory] = {}
        if ids and request.as_of is None:
            found = await self.store.get_many(context.owner, ids)
        elif ids:
            found = (await self.store.fetch(context.owner, ids, request.as_of)).memories
        return {
            id: memory
            for id, memory in found.items()
            if can_join(context, memory) or (id == context.also and not memory.is_sensitive)
        }
