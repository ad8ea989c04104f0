"""How one concept leads to another in the local graph, and which memories say so.

Searched breadth first: from concepts to those that a relationship, a near-synonym or a memory that
mentions both links to them. A relationship is preferred, since it is stated; a memory that mentions
both only says that they belong together somehow.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.graph.read import HELD, MAX_MEMORIES, STATED_AT, at
from recollect.adapters.sqlite.rows import id_list
from recollect.core.graph.model import MENTIONED_TOGETHER, NEAR, GraphPath, PathStep
from recollect.core.graph.paths import (
    EVIDENCE_SHOWN,
    MAX_STEPS,
    FoundPath,
    Link,
    PathSearch,
    to_memory_path,
    to_step,
)

_FRONTIER: Final = "(SELECT value FROM json_each(:frontier))"
_STATED: Final = f"""
SELECT c.source AS here, c.target AS there, c.relation, 0 AS is_back, c.id AS edge
FROM concept_edges c WHERE c.owner = :owner AND c.source IN {_FRONTIER} AND {HELD}
UNION ALL
SELECT c.target, c.source, c.relation, 1, c.id
FROM concept_edges c WHERE c.owner = :owner AND c.target IN {_FRONTIER} AND {HELD}
"""  # noqa: S608  # composed of constants
_NEAR: Final = f"""
SELECT n.source AS here, n.target AS there, '{NEAR}' AS relation, 0 AS is_back, NULL AS edge
FROM near_concepts n WHERE n.owner = :owner AND n.source IN {_FRONTIER}
UNION ALL
SELECT n.target, n.source, '{NEAR}', 0, NULL
FROM near_concepts n WHERE n.owner = :owner AND n.target IN {_FRONTIER}
"""  # noqa: S608  # composed of constants
# Whether the memory of a mention a existed at a moment; not checked when no moment is given.
_EXISTED: Final = """
(:as_of IS NULL OR (SELECT m.created_at <= :as_of FROM memories m WHERE m.number = a.memory))
"""
# Through memories only when few mention the concept: a hub would link everything in two steps.
_TOGETHER: Final = f"""
SELECT a.concept_id AS here, b.concept_id AS there, '{MENTIONED_TOGETHER}' AS relation,
    0 AS is_back, NULL AS edge
FROM (
    SELECT value AS id FROM json_each(:frontier) f WHERE (
        SELECT count(*) FROM (
            SELECT 1 FROM memory_concepts c
            WHERE c.owner = :owner AND c.concept_id = f.value LIMIT {MAX_MEMORIES + 1})
    ) <= {MAX_MEMORIES}
) f
JOIN memory_concepts a ON a.owner = :owner AND a.concept_id = f.id
JOIN memory_concepts b
    ON b.owner = a.owner AND b.memory = a.memory AND b.concept_id <> a.concept_id
WHERE {_EXISTED}
ORDER BY b.concept_id, a.memory
"""  # noqa: S608  # composed of constants
_SEARCHES: Final = (_STATED, _NEAR, _TOGETHER)

_LABELS: Final = """
SELECT id, name FROM concepts WHERE owner = ? AND id IN (SELECT value FROM json_each(?))
"""
_SAID: Final = f"""
SELECT DISTINCT m.id FROM edge_evidence e
JOIN concept_edges c ON c.owner = e.owner AND c.id = e.edge_id
JOIN memories m ON m.number = e.memory
WHERE e.owner = :owner AND e.edge_id = :edge AND {STATED_AT}
"""  # noqa: S608  # composed of constants
_BOTH: Final = f"""
SELECT DISTINCT m.id FROM memory_concepts a
JOIN memory_concepts b
    ON b.owner = a.owner AND b.memory = a.memory AND b.concept_id = :there
JOIN memories m ON m.number = a.memory
WHERE a.owner = :owner AND a.concept_id = :here AND {_EXISTED}
ORDER BY m.id LIMIT {EVIDENCE_SHOWN}
"""  # noqa: S608  # composed of constants
_CONCEPTS_OF: Final = """
SELECT DISTINCT m.id, c.concept_id FROM memories m
JOIN memory_concepts c ON c.owner = m.owner AND c.memory = m.number
WHERE m.owner = ? AND m.id IN (SELECT value FROM json_each(?))
"""


class PathFinder(SqliteComponent):
    """The shortest paths, for people and for the explanation of a hit."""

    async def path(
        self, owner: str, source: UUID, target: UUID, as_of: datetime | None = None
    ) -> GraphPath | None:
        """From one concept to another; None when there is none of six steps."""

        def work(reader: sqlite3.Connection) -> GraphPath | None:
            search = _Search(reader, owner, at(as_of), self._now())
            found = search.find({source}, {target}, MAX_STEPS, _SEARCHES)
            return None if found is None else GraphPath(search.explain(found.links))

        return await self._reader.run_until_cancelled(work)

    async def paths(
        self, owner: str, from_ids: Collection[UUID], memory_id: UUID
    ) -> list[GraphPath]:
        """From each of some memories or concepts to a memory, over at most two relationships."""
        starts = list(dict.fromkeys(from_ids))

        def work(reader: sqlite3.Connection) -> list[GraphPath]:
            search = _Search(reader, owner, None, self._now())
            mentioned: dict[UUID, set[UUID]] = {}
            for row in reader.execute(_CONCEPTS_OF, (owner, id_list([*starts, memory_id]))):
                mentioned.setdefault(UUID(row["id"]), set()).add(UUID(row["concept_id"]))
            concepts = search.read_labels(starts).keys()
            goals = mentioned.get(memory_id, set())
            paths = []
            for start in starts:
                begins = {start} if start in concepts else mentioned.get(start, set())
                if start == memory_id or not begins or not goals:
                    continue
                found = search.find(begins, goals, 2, (_STATED, _NEAR))
                if found is not None:
                    labels = search.read_labels({found.first, found.last})
                    steps = search.explain(found.links)
                    paths.append(to_memory_path(start, found, steps, labels, memory_id))
            return paths

        return await self._reader.run_until_cancelled(work)


class _Search:
    """Breadth first in one owner's graph, as it was at a moment."""

    def __init__(self, reader: sqlite3.Connection, owner: str, as_of: int | None, now: int) -> None:
        self._reader = reader
        self._owner = owner
        self._values = {"owner": owner, "as_of": as_of, "now": now}

    def find(
        self, begins: set[UUID], goals: set[UUID], max_steps: int, queries: Iterable[str]
    ) -> FoundPath | None:
        search = PathSearch(begins, goals, max_steps)
        while search.frontier:
            values = {**self._values, "frontier": id_list(search.frontier)}
            rows = (row for query in queries for row in self._reader.execute(query, values))
            search.advance(_to_link(row) for row in rows)
        return search.found

    def explain(self, links: Iterable[Link]) -> tuple[PathStep, ...]:
        """The links with names and with the memories that say them."""
        labels = self.read_labels({id for link in links for id in (link.here, link.there)})
        return tuple(to_step(link, labels, self._evidence(link)) for link in links)

    def read_labels(self, ids: Iterable[UUID]) -> dict[UUID, str]:
        rows = self._reader.execute(_LABELS, (self._owner, id_list(ids)))
        return {UUID(row["id"]): row["name"] for row in rows}

    def _evidence(self, link: Link) -> list[UUID]:
        if link.relation == MENTIONED_TOGETHER:
            ends = {"here": str(link.here), "there": str(link.there)}
            rows = self._reader.execute(_BOTH, {**self._values, **ends})
        elif link.edge is not None:
            rows = self._reader.execute(_SAID, {**self._values, "edge": str(link.edge)})
        else:
            return []
        return [UUID(row["id"]) for row in rows]


def _to_link(row: sqlite3.Row) -> Link:
    edge = None if row["edge"] is None else UUID(row["edge"])
    here, there = UUID(row["here"]), UUID(row["there"])
    return Link(here, there, row["relation"], bool(row["is_back"]), edge)
