"""Follow links in SQLite one by one: a statement costs no round trip."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import TYPE_CHECKING, Final
from uuid import UUID

from recollect.adapters.sqlite.rows import from_row, id_list
from recollect.core.memory.links import last, targets
from recollect.core.recall.successors import Fetched, Resolution

if TYPE_CHECKING:
    from recollect.core.memory.memory import Memory

_SUCCESSOR: Final = """
SELECT l.memory_id FROM memory_links l
JOIN memories s ON s.owner = l.owner AND s.id = l.memory_id
WHERE l.owner = :owner AND l.kind = 'supersedes' AND l.target = {id} AND l.memory_id <> l.target
    AND s.deleted_at IS NULL
ORDER BY l.memory_id DESC LIMIT 1
"""
# CROSS JOIN fixes the join order: by id; the planner would read all rows of the owner.
_FETCH: Final = f"""
SELECT m.*, ({_SUCCESSOR.format(id="m.id")}) AS successor
FROM (SELECT DISTINCT value AS id FROM json_each(:ids)) i
CROSS JOIN memories m ON m.owner = :owner AND m.id = i.id
WHERE m.deleted_at IS NULL
"""  # noqa: S608  # built from constants


def fetch(connection: sqlite3.Connection, owner: str, ids: Collection[UUID]) -> Fetched:
    rows = connection.execute(_FETCH, {"owner": owner, "ids": id_list(ids)}).fetchall()
    memories = {memory.id: memory for memory in map(from_row, rows)}
    return Fetched(memories, {UUID(row["id"]) for row in rows if row["successor"] is not None})


def follow(
    connection: sqlite3.Connection,
    owner: str,
    superseded: Collection[UUID],
    links_to: Collection[UUID],
) -> Resolution:
    successors: dict[UUID, UUID] = {}
    _walk(connection, owner, superseded, successors)
    ends = _read(connection, owner, {last(id, successors) for id in superseded})
    named = {*links_to}.union(*(targets(memory.links) for memory in ends.values()))
    _walk(connection, owner, named, successors)
    shown = _read(connection, owner, named | {last(id, successors) for id in named})
    return Resolution(successors, {**ends, **shown})


def _walk(
    connection: sqlite3.Connection,
    owner: str,
    ids: Collection[UUID],
    successors: dict[UUID, UUID],
) -> None:
    """Follow successors from each id to the end, or to an id that was visited before."""
    query = _SUCCESSOR.format(id=":id")
    for id in ids:
        at = id
        while at not in successors:
            row = connection.execute(query, {"owner": owner, "id": str(at)}).fetchone()
            if row is None:
                break
            successors[at] = at = UUID(row[0])


def _read(connection: sqlite3.Connection, owner: str, ids: Collection[UUID]) -> dict[UUID, Memory]:
    found = connection.execute(_FETCH, {"owner": owner, "ids": id_list(ids)})
    return {memory.id: memory for memory in map(from_row, found)}
