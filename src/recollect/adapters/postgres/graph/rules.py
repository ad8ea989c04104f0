"""The rules after a change of the graph: functions of the schema, which triggers call as well."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID

from recollect.adapters.sql.session import Session
from recollect.core.graph.periods import Group

# From the owner's row, so that on a cluster the lock is on the node where the triggers take it.
_LOCK: Final = "select recollect_graph_alone(owner) from owners where owner = :owner"
_INCREMENT_VERSION: Final = "select recollect_graph_grew(:owner)"
_WEIGH: Final = "select recollect_graph_weigh(:owner, cast(:edges as uuid[]))"
_SETTLE: Final = """
select recollect_graph_settle(:owner, cast(:sources as uuid[]), cast(:relations as text[]))
"""


class _Rules:
    """Implements `GraphRules`."""

    async def lock(self, session: Session, owner: str) -> None:
        await session.execute(_LOCK, {"owner": owner})

    async def increment_version(self, session: Session, owner: str) -> None:
        await session.execute(_INCREMENT_VERSION, {"owner": owner})

    async def weigh(self, session: Session, owner: str, edges: Collection[UUID]) -> None:
        if edges:
            await session.execute(_WEIGH, {"owner": owner, "edges": list(edges)})

    async def settle(self, session: Session, owner: str, groups: Collection[Group]) -> None:
        values = {
            "owner": owner,
            "sources": [source for source, _ in groups],
            "relations": [relation for _, relation in groups],
        }
        await session.execute(_SETTLE, values)


RULES: Final = _Rules()
