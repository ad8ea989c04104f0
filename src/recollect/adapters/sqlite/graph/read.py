"""What recall reads from the local graph: its version, a snapshot, and concepts by name."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.adapters.sql.graph.read import HELD, read_former_texts
from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.rows import microseconds
from recollect.adapters.sqlite.session import SqliteSession, to_sqlite, weigh_edge
from recollect.core.graph.extraction import BY_MODEL
from recollect.core.graph.model import GraphSnapshot
from recollect.core.graph.snapshot import PastMentions, past_mentions, read_former, to_snapshot
from recollect.core.graph.walk import UNWALKED_KINDS
from recollect.usecases.coroutines import run_directly

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

_EDGES: Final = to_sqlite(f"""
SELECT c.source, c.target, c.held FROM concept_edges c
WHERE c.owner = :owner AND c.source <> c.target AND {HELD}
""")  # noqa: S608  # composed of constants
_NEAR: Final = "SELECT source, target, similarity FROM near_concepts WHERE owner = ?"


class GraphReader(SqliteComponent):
    """Implements the `ConceptGraph` port, but for its paths."""

    async def version(self, owner: str) -> int:
        return await self._reader.run_until_cancelled(lambda reader: _read_version(reader, owner))

    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]:
        return await self._reader.run_until_cancelled(
            lambda reader: _find_named(reader, owner, keys)
        )

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
            "as_of": None if as_of is None else microseconds(as_of),
            "now": self._now(),
            "model": BY_MODEL,
        }

        def work(reader: sqlite3.Connection) -> GraphSnapshot:
            reader.execute("BEGIN")  # one snapshot for everything
            try:
                return _read_snapshot(reader, values, as_of)
            finally:
                reader.execute("ROLLBACK")

        return await self._background.run_until_cancelled(work)


def _read_version(reader: sqlite3.Connection, owner: str) -> int:
    row = reader.execute(_VERSION, (owner,)).fetchone()
    return 0 if row is None else int(row["version"])


def _find_named(reader: sqlite3.Connection, owner: str, keys: Iterable[str]) -> dict[str, UUID]:
    rows = reader.execute(_NAMED, (owner, json.dumps(list(keys))))
    return {row["key"]: UUID(row["concept_id"]) for row in rows}


def _read_snapshot(
    reader: sqlite3.Connection, values: dict[str, object], as_of: datetime | None
) -> GraphSnapshot:
    owner = str(values["owner"])
    rows = reader.execute(_LABELS, (owner,)).fetchall()
    ids = {row["id"]: UUID(row["id"]) for row in rows}
    past = PastMentions() if as_of is None else _read_past_mentions(reader, owner, as_of)
    mentions = [
        (UUID(row["id"]), [ids[id] for id in row["concepts"].split(",")], bool(row["is_by_model"]))
        for row in reader.execute(_MENTIONS, values)
    ]
    edges = [
        (ids[row["source"]], ids[row["target"]], weigh_edge(row["held"]), False)
        for row in reader.execute(_EDGES, values)
    ]
    near = [
        (ids[row["source"]], ids[row["target"]], row["similarity"], True)
        for row in reader.execute(_NEAR, (owner,))
    ]
    concepts = [(ids[row["id"]], row["name"], row["kind"]) for row in rows]
    mentions.sort()
    return to_snapshot(_read_version(reader, owner), concepts, mentions, past, [*edges, *near])


def _read_past_mentions(reader: sqlite3.Connection, owner: str, as_of: datetime) -> PastMentions:
    former = run_directly(read_former_texts(SqliteSession(reader), owner, as_of))
    keys = read_former(former)
    names = {key for found in keys.values() for key in found}
    return past_mentions(former, keys, _find_named(reader, owner, names))
