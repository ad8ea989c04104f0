"""The rules after a change of the graph: SQL of the schema, which its triggers apply as well."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from recollect.adapters.sql.session import Session
from recollect.adapters.sqlite.schema.graph import GROW, SETTLE, UNSAID, WEIGH
from recollect.core.graph.periods import Group

_EDGE: Final = {"owner": ":owner", "edge": ":edge"}
INCREMENT_VERSION: Final = GROW.format(owner=":owner")
_REMOVE_UNSAID: Final = f"DELETE FROM concept_edges WHERE {UNSAID.format(**_EDGE)}"  # noqa: S608  # constants
_WEIGH: Final = WEIGH.format(**_EDGE)
_SETTLE: Final = SETTLE.format(owner=":owner", source=":source", relation=":relation")


class _Rules:
    """Implements `GraphRules`."""

    async def lock(self, session: Session, owner: str) -> None:
        """Do nothing: there is only one writer at a time."""

    async def increment_version(self, session: Session, owner: str) -> None:
        await session.execute(INCREMENT_VERSION, {"owner": owner})

    async def weigh(self, session: Session, owner: str, edges: Collection[UUID]) -> None:
        for edge in edges:
            values = {"owner": owner, "edge": edge}
            if not await session.execute(_REMOVE_UNSAID, values):
                await session.execute(_WEIGH, values)

    async def settle(self, session: Session, owner: str, groups: Collection[Group]) -> None:
        for source, relation in groups:
            values = {"owner": owner, "source": source, "relation": relation}
            await session.execute(_SETTLE, values)


RULES: Final = _Rules()
