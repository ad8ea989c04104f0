"""What recall reads of the local graph: its version, all of it as columns, and concepts by name."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from datetime import datetime
from math import log2
from typing import Final
from uuid import UUID

from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.rows import id_list, microseconds
from recollect.core.graph.extraction import BY_MODEL, ExtractionJob
from recollect.core.graph.model import Concept, GraphSnapshot
from recollect.core.graph.snapshot import (
    FormerText,
    PastMentions,
    past_mentions,
    read_former,
    to_snapshot,
)
from recollect.core.graph.walk import UNWALKED_KINDS

MAX_MEMORIES: Final = 500
"""A concept that more memories mention links everything: paths do not pass through it."""

_VERSION: Final = "SELECT version FROM graph_versions WHERE owner = ?"
_NAMED: Final = """
SELECT key, concept_id FROM concept_names
WHERE owner = ? AND key IN (SELECT value FROM json_each(?))
"""
_NAMED_AS_WRITTEN: Final = """
SELECT n.key, n.concept_id, n.name FROM concept_names n
JOIN concepts c ON c.owner = n.owner AND c.id = n.concept_id
    AND c.kind NOT IN (SELECT value FROM json_each(:unnamed))
WHERE n.owner = :owner AND n.key IN (SELECT value FROM json_each(:keys))
"""
# One row per memory, so that hundreds of thousands of mentions are few rows to fetch.
_MENTIONS: Final = """
SELECT m.id, group_concat(DISTINCT c.concept_id) AS concepts,
    coalesce(x.extracted_by >= :model, 0) AS is_by_model
FROM memory_concepts c JOIN memories m ON m.number = c.memory
LEFT JOIN extractions x ON x.owner = c.owner AND x.memory = c.memory
WHERE c.owner = :owner AND (:as_of IS NULL OR m.created_at <= :as_of)
GROUP BY c.memory
"""
_LABELS: Final = "SELECT id, name, kind FROM concepts WHERE owner = ? ORDER BY id"

# Held at a moment: true then, and not withdrawn before. Now is such a moment too; what was said
# with a clock that is ahead holds at once. The dates of an edge are those of what is still said; at
# that moment it may have held because of a text that was changed later.
HELD: Final = """
    (c.valid_from <= coalesce(:as_of, max(:now, c.learned_at))
        OR EXISTS (SELECT 1 FROM edge_evidence e WHERE e.owner = c.owner AND e.edge_id = c.id
            AND e.starts_at <= :as_of AND e.withdrawn_at > :as_of))
    AND (c.valid_to IS NULL OR c.valid_to > coalesce(:as_of, :now))
    AND (c.known_until IS NULL OR c.known_until > :as_of)
"""
# Of a relationship c that held, the evidence e that said so at that moment; of one that is shown
# although it is no longer said, all the evidence it ever had.
STATED_AT: Final = """
    (e.withdrawn_at IS NULL OR e.withdrawn_at > :as_of OR c.known_until IS NOT NULL)
"""
_EDGES: Final = f"""
SELECT c.source, c.target, c.held FROM concept_edges c
WHERE c.owner = :owner AND c.source <> c.target AND {HELD}
"""  # noqa: S608  # composed of constants
_NEAR: Final = "SELECT source, target, similarity FROM near_concepts WHERE owner = ?"

_CONCEPTS: Final = """
SELECT c.id, c.key, c.name, c.kind, (
    SELECT count(DISTINCT m.memory) FROM memory_concepts m
    WHERE m.owner = c.owner AND m.concept_id = c.id) AS mentions
FROM concepts c WHERE c.owner = ? AND c.id IN (SELECT value FROM json_each(?)) ORDER BY c.id
"""
_ALIASES: Final = """
SELECT name FROM concept_names WHERE owner = ? AND concept_id = ? AND key <> ? ORDER BY key
"""

# Memories that existed then and were changed since, each with its state at that moment. One that is
# sensitive now, or was then, mentions nothing.
_CHANGED: Final = """
SELECT m.id, m.owner, v.content, v.tags, v.expanded_keywords,
    v.number IS NOT NULL AND v.deleted_at IS NULL AND NOT v.is_sensitive AS is_known,
    m.deleted_at IS NULL AND v.content IS m.content AND v.tags IS m.tags
        AND v.expanded_keywords IS m.expanded_keywords AS is_same
FROM memories m LEFT JOIN memory_versions v ON v.number = (
    SELECT max(w.number) FROM memory_versions w
    WHERE w.owner = m.owner AND w.memory_id = m.id AND w.known_from <= :as_of
        AND w.known_until > :as_of AND w.created_at <= :as_of)
WHERE m.owner = :owner AND m.created_at <= :as_of AND m.updated_at > :as_of AND NOT m.is_sensitive
ORDER BY m.updated_at DESC, m.id
"""


def weight(held: int) -> float:
    """Of an edge that so many memories say."""
    return log2(1 + max(held, 1))


def at(as_of: datetime | None) -> int | None:
    return None if as_of is None else microseconds(as_of)


class GraphReader(SqliteComponent):
    """Implements the `ConceptGraph` port, but for its paths."""

    async def version(self, owner: str) -> int:
        return await self._reader.run_until_cancelled(lambda reader: read_version(reader, owner))

    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]:
        return await self._reader.run_until_cancelled(lambda reader: _named(reader, owner, keys))

    async def written(self, owner: str, keys: Collection[str]) -> dict[str, tuple[UUID, str]]:
        values = {
            "owner": owner,
            "keys": json.dumps(list(keys)),
            "unnamed": json.dumps(list(UNWALKED_KINDS)),
        }
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_NAMED_AS_WRITTEN, values).fetchall()
        )
        return {row["key"]: (UUID(row["concept_id"]), row["name"]) for row in rows}

    async def snapshot(self, owner: str, as_of: datetime | None = None) -> GraphSnapshot:
        values: dict[str, object] = {
            "owner": owner,
            "as_of": at(as_of),
            "now": self._now(),
            "model": BY_MODEL,
        }

        def work(reader: sqlite3.Connection) -> GraphSnapshot:
            reader.execute("BEGIN")  # all of it of one moment
            try:
                return _snapshot(reader, values)
            finally:
                reader.execute("ROLLBACK")

        return await self._background.run_until_cancelled(work)


def read_version(reader: sqlite3.Connection, owner: str) -> int:
    row = reader.execute(_VERSION, (owner,)).fetchone()
    return 0 if row is None else int(row["version"])


def read_concepts(connection: sqlite3.Connection, owner: str, ids: Iterable[UUID]) -> list[Concept]:
    found = []
    for row in connection.execute(_CONCEPTS, (owner, id_list(ids))).fetchall():
        names = connection.execute(_ALIASES, (owner, row["id"], row["key"]))
        aliases = tuple(name for (name,) in names)
        id = UUID(row["id"])
        found.append(Concept(id, row["key"], row["name"], row["kind"], aliases, row["mentions"]))
    return found


def _named(reader: sqlite3.Connection, owner: str, keys: Iterable[str]) -> dict[str, UUID]:
    rows = reader.execute(_NAMED, (owner, json.dumps(list(keys))))
    return {row["key"]: UUID(row["concept_id"]) for row in rows}


def _snapshot(reader: sqlite3.Connection, values: dict[str, object]) -> GraphSnapshot:
    owner = str(values["owner"])
    rows = reader.execute(_LABELS, (owner,)).fetchall()
    ids = {row["id"]: UUID(row["id"]) for row in rows}
    past = PastMentions() if values["as_of"] is None else _past_mentions(reader, values)
    mentions = [
        (UUID(row["id"]), [ids[id] for id in row["concepts"].split(",")], bool(row["is_by_model"]))
        for row in reader.execute(_MENTIONS, values)
    ]
    edges = [
        (ids[row["source"]], ids[row["target"]], weight(row["held"]), False)
        for row in reader.execute(_EDGES, values)
    ]
    near = [
        (ids[row["source"]], ids[row["target"]], row["similarity"], True)
        for row in reader.execute(_NEAR, (owner,))
    ]
    concepts = [(ids[row["id"]], row["name"], row["kind"]) for row in rows]
    mentions.sort()
    return to_snapshot(read_version(reader, owner), concepts, mentions, past, [*edges, *near])


def _past_mentions(reader: sqlite3.Connection, values: dict[str, object]) -> PastMentions:
    rows = [
        row for row in reader.execute(_CHANGED, values) if not (row["is_known"] and row["is_same"])
    ]
    former = [
        FormerText(UUID(row["id"]), _to_job(row) if row["is_known"] else None) for row in rows
    ]
    keys = read_former(former)
    names = {key for found in keys.values() for key in found}
    return past_mentions(former, keys, _named(reader, str(values["owner"]), names))


def _to_job(row: sqlite3.Row) -> ExtractionJob:
    return ExtractionJob(
        UUID(row["id"]),
        row["owner"],
        "",
        row["content"],
        tuple(json.loads(row["tags"])),
        tuple(json.loads(row["expanded_keywords"])),
    )
