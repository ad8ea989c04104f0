"""What people look at: one concept with what is around it, and the local graph in numbers."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.graph.read import (
    HELD,
    STATED_AT,
    at,
    read_concepts,
    read_version,
    weight,
)
from recollect.adapters.sqlite.rows import moment
from recollect.core.graph.model import Concept, GraphStats, Neighbourhood, Relationship

_MAX_NAMES: Final = 20

_RELATIONSHIPS: Final = f"""
SELECT c.*, s.name AS source_name, t.name AS target_name
FROM concept_edges c
JOIN concepts s ON s.owner = c.owner AND s.id = c.source
JOIN concepts t ON t.owner = c.owner AND t.id = c.target
WHERE c.owner = :owner AND (c.source = :id OR c.target = :id) AND c.source <> c.target
    AND (:all OR ({HELD}))
ORDER BY max(c.held, 1) DESC, c.relation, t.name, s.name, c.valid_from LIMIT :limit
"""  # noqa: S608  # composed of constants
_SAID_BY: Final = f"""
SELECT DISTINCT m.id FROM edge_evidence e
JOIN concept_edges c ON c.owner = e.owner AND c.id = e.edge_id
JOIN memories m ON m.number = e.memory
WHERE e.owner = :owner AND e.edge_id = :edge AND {STATED_AT} ORDER BY m.id
"""  # noqa: S608  # composed of constants
_NEAR: Final = """
SELECT c.name, n.similarity FROM near_concepts n
JOIN concepts c
    ON c.owner = n.owner AND c.id = CASE n.source WHEN :id THEN n.target ELSE n.source END
WHERE n.owner = :owner AND (n.source = :id OR n.target = :id)
ORDER BY n.similarity DESC, c.name LIMIT :limit
"""
# What is rare among all memories says more than what is in each of them.
_TOGETHER: Final = """
SELECT c.name, t.memories FROM (
    SELECT b.concept_id, count(DISTINCT b.memory) AS memories
    FROM (
        SELECT DISTINCT c.memory FROM memory_concepts c JOIN memories m ON m.number = c.memory
        WHERE c.owner = :owner AND c.concept_id = :id
            AND (:as_of IS NULL OR m.created_at <= :as_of) LIMIT 2000
    ) a
    JOIN memory_concepts b ON b.owner = :owner AND b.memory = a.memory AND b.concept_id <> :id
    GROUP BY b.concept_id ORDER BY 2 DESC LIMIT 200
) t
JOIN concepts c ON c.owner = :owner AND c.id = t.concept_id
ORDER BY t.memories DESC, c.kind = 'phrase', c.name LIMIT :limit
"""
_MENTIONING: Final = """
FROM memory_concepts c JOIN memories m ON m.number = c.memory
WHERE c.owner = :owner AND c.concept_id = :id AND (:as_of IS NULL OR m.created_at <= :as_of)
"""
_MEMORIES: Final = f"""
SELECT DISTINCT m.id, m.created_at {_MENTIONING} ORDER BY m.created_at DESC, m.id LIMIT :limit
"""  # composed of constants
_COUNT_MENTIONS: Final = f"SELECT count(DISTINCT m.id) {_MENTIONING}"  # constants

_OF_A_MEMORY: Final = """
SELECT c.name FROM (
    SELECT DISTINCT t.concept_id FROM memory_concepts t JOIN memories m ON m.number = t.memory
    WHERE t.owner = :owner AND m.owner = :owner AND m.id = :memory
) t JOIN concepts c ON c.owner = :owner AND c.id = t.concept_id
ORDER BY c.kind = 'phrase', c.name
"""
_STATED: Final = "FROM concept_edges WHERE owner = :owner AND source <> target"
_COUNTS: Final = f"""
SELECT
    (SELECT count(*) FROM concepts WHERE owner = :owner) AS concepts,
    (SELECT count(*) FROM concept_names WHERE owner = :owner) AS names,
    (SELECT count(*) FROM memory_concepts WHERE owner = :owner) AS mentions,
    (SELECT count(DISTINCT memory) FROM memory_concepts WHERE owner = :owner) AS memories,
    (SELECT count(*) {_STATED}) AS relationships,
    (SELECT count(*) {_STATED} AND valid_to <= :now) AS ended,
    (SELECT count(*) {_STATED} AND known_until IS NOT NULL) AS withdrawn,
    (SELECT count(*) FROM near_concepts WHERE owner = :owner) AS near
"""  # noqa: S608  # composed of constants
_BY_KIND: Final = """
SELECT kind, count(*) FROM concepts WHERE owner = :owner GROUP BY kind ORDER BY 2 DESC, 1
"""
_BY_RELATION: Final = f"""
SELECT relation, count(*) {_STATED} GROUP BY relation ORDER BY 2 DESC, 1 LIMIT {_MAX_NAMES}
"""  # composed of constants
_MAX_MENTIONED: Final = f"""
SELECT c.name, m.many FROM (
    SELECT concept_id, count(DISTINCT memory) AS many FROM memory_concepts
    WHERE owner = :owner GROUP BY concept_id ORDER BY 2 DESC, 1 LIMIT {_MAX_NAMES}
) m JOIN concepts c ON c.owner = :owner AND c.id = m.concept_id ORDER BY m.many DESC, c.name
"""  # noqa: S608  # composed of constants


class GraphViewer(SqliteComponent):
    """Implements what the `GraphView` port reads."""

    async def concepts(self, owner: str, ids: Collection[UUID]) -> list[Concept]:
        return await self._reader.run_until_cancelled(
            lambda reader: read_concepts(reader, owner, ids)
        )

    async def concepts_of(self, owner: str, memory: UUID) -> list[str]:
        """The names of the concepts that a memory mentions, phrases last."""
        values = {"owner": owner, "memory": str(memory)}
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_OF_A_MEMORY, values).fetchall()
        )
        return [name for (name,) in rows]

    async def neighbourhood(
        self,
        owner: str,
        id: UUID,
        limit: int,
        as_of: datetime | None = None,
        *,
        history: bool = False,
    ) -> Neighbourhood | None:
        """What is around a concept; with its `history` also relationships that ended or that no
        text says any more.
        """
        values = {
            "owner": owner,
            "id": str(id),
            "limit": limit,
            "as_of": at(as_of),
            "now": self._now(),
            "all": history,
        }
        return await self._reader.run_until_cancelled(
            lambda reader: _neighbourhood(reader, owner, id, values)
        )

    async def stats(self, owner: str) -> GraphStats:
        values = {"owner": owner, "now": self._now()}

        def work(reader: sqlite3.Connection) -> GraphStats:
            counts = reader.execute(_COUNTS, values).fetchone()
            by_kind, by_relation, most_mentioned = (
                dict(reader.execute(query, {"owner": owner}).fetchall())
                for query in (_BY_KIND, _BY_RELATION, _MAX_MENTIONED)
            )
            return GraphStats(
                version=read_version(reader, owner),
                memories=counts["memories"],
                concepts=counts["concepts"],
                aliases=counts["names"] - counts["concepts"],
                mentions=counts["mentions"],
                relationships=counts["relationships"],
                ended=counts["ended"],
                withdrawn=counts["withdrawn"],
                near=counts["near"],
                by_kind=by_kind,
                by_relation=by_relation,
                most_mentioned=most_mentioned,
            )

        return await self._reader.run_until_cancelled(work)


def _neighbourhood(
    reader: sqlite3.Connection, owner: str, id: UUID, values: dict[str, object]
) -> Neighbourhood | None:
    found = read_concepts(reader, owner, [id])
    if not found:
        return None
    concept = found[0]
    if values["as_of"] is not None:
        (mentions,) = reader.execute(_COUNT_MENTIONS, values).fetchone()
        concept = replace(concept, mentions=mentions)
    rows = reader.execute(_RELATIONSHIPS, values).fetchall()
    labels = {UUID(row["source"]): row["source_name"] for row in rows}
    labels |= {UUID(row["target"]): row["target_name"] for row in rows}
    return Neighbourhood(
        concept=concept,
        relationships=tuple(_to_relationship(reader, row, values) for row in rows),
        labels=labels,
        near=tuple((name, similarity) for name, similarity in reader.execute(_NEAR, values)),
        together=tuple((name, many) for name, many in reader.execute(_TOGETHER, values)),
        memories=tuple(UUID(row["id"]) for row in reader.execute(_MEMORIES, values)),
    )


def _to_relationship(
    reader: sqlite3.Connection, row: sqlite3.Row, values: dict[str, object]
) -> Relationship:
    said_by = reader.execute(_SAID_BY, {**values, "edge": row["id"]})
    return Relationship(
        id=UUID(row["id"]),
        source=UUID(row["source"]),
        target=UUID(row["target"]),
        relation=row["relation"],
        weight=weight(row["held"]),
        learned_at=moment(row["learned_at"]),
        valid_from=moment(row["valid_from"]),
        valid_to=None if row["valid_to"] is None else moment(row["valid_to"]),
        known_until=None if row["known_until"] is None else moment(row["known_until"]),
        evidence=tuple(UUID(memory["id"]) for memory in said_by),
    )
