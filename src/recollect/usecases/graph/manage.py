"""View and edit the concept graph of one owner: the neighbourhood of a concept, the path between
two, and which names mean the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.core.errors import InvalidInput, NotFound
from recollect.core.graph.concepts import concept_key
from recollect.core.graph.extraction import MAX_KEY
from recollect.core.graph.model import Concept, GraphPath, GraphStats, Neighbourhood
from recollect.core.text.analysis import find_unstorable
from recollect.ports.graph import GraphView

MAX_SHOWN: Final = 100


@dataclass(frozen=True, slots=True)
class LocalGraph:
    """Implements the `Graph` port on this machine's store."""

    view: GraphView
    owner: str

    async def show(
        self, name: str, *, limit: int = 20, as_of: datetime | None = None, history: bool = False
    ) -> Neighbourhood:
        if not 1 <= limit <= MAX_SHOWN:
            raise InvalidInput(
                f"limit {limit} is outside 1..{MAX_SHOWN}",
                field="limit",
                remedy=f"Ask for 1 to {MAX_SHOWN} of each kind.",
            )
        id = await self._find(name, "name")
        found = await self.view.neighbourhood(self.owner, id, limit, as_of, history=history)
        if found is None:
            raise _not_mentioned(name)
        return found

    async def path(
        self, source: str, target: str, *, as_of: datetime | None = None
    ) -> GraphPath | None:
        first, last = await self._find(source, "source"), await self._find(target, "target")
        return await self.view.path(self.owner, first, last, as_of)

    async def stats(self) -> GraphStats:
        return await self.view.stats(self.owner)

    async def merge(self, into: str, other: str) -> Concept:
        """Merge two concepts for good: the other's names mean the first from now on."""
        first, second = await self._find(into, "into"), await self._find(other, "other")
        if first == second:
            return await self._get(first, into)
        if not await self.view.merge(self.owner, first, second, by_hand=True):
            raise _not_mentioned(other)
        return await self._get(first, into)

    async def split(self, concept: str, alias: str) -> Concept:
        """Turn one of a concept's names into a concept of its own, for good."""
        first, second = await self._find(concept, "concept"), await self._find(alias, "alias")
        if first != second:
            raise InvalidInput(
                f"{alias[:60]!r} is a concept of its own already",
                field="alias",
                remedy=f"Run `recollect graph show {concept[:60]!r}` to see its other names.",
            )
        found = await self._get(first, concept)
        if not found.aliases:
            raise InvalidInput(
                f"{found.name[:60]!r} has only one name",
                field="alias",
                remedy="Choose a concept that has more than one name.",
            )
        tidy = " ".join(alias.split())
        id = await self.view.split(self.owner, first, _key(alias, "alias"), tidy)
        return await self._get(id, alias)

    async def _find(self, name: str, field: str) -> UUID:
        key = _key(name, field)
        found = await self.view.named(self.owner, [key])
        if key not in found:
            raise _not_mentioned(name)
        return found[key]

    async def _get(self, id: UUID, name: str) -> Concept:
        found = await self.view.concepts(self.owner, [id])
        if not found:
            raise _not_mentioned(name)
        return found[0]


def _key(name: str, field: str) -> str:
    key = "" if find_unstorable(name) else concept_key(name)
    if not key or len(key) > MAX_KEY:
        raise InvalidInput(
            f"{name[:60]!r} cannot be the name of a concept",
            field=field,
            remedy="Write a name as the memories do; `recollect graph stats` shows some.",
        )
    return key


def _not_mentioned(name: str) -> NotFound:
    return NotFound(
        f"no memory mentions {name[:60]!r}",
        remedy="See `recollect graph stats` for what is mentioned most; a memory that was stored "
        "just now may not be read yet.",
    )
