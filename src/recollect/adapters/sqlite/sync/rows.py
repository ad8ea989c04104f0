"""The statements of sync on the local store. The caller opens the transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from recollect.adapters.sqlite.rows import (
    CHANGES,
    COLUMNS,
    VALUES,
    from_row,
    id_list,
    microseconds,
    moment,
    to_row,
)
from recollect.adapters.sqlite.schema.tables import STATE_COLUMNS
from recollect.core.sync.merge import Known
from recollect.core.sync.model import Revision, State

_NAMES: Final = ", ".join(STATE_COLUMNS)
_KNOWN: Final = """
SELECT i.value AS asked, s.version AS synced_version, s.change, s.withheld,
    o.number AS waits, o.erased, o.edit, o.earlier
FROM json_each(:ids) i
LEFT JOIN synced s ON s.owner = :owner AND s.id = i.value
LEFT JOIN outbox o ON o.owner = :owner AND o.id = i.value
"""
_LOCALS: Final = """
SELECT * FROM memories WHERE owner = :owner AND id IN (SELECT value FROM json_each(:ids))
"""
_IN_ROLE: Final = """
SELECT * FROM states
WHERE owner = :owner AND role = :role AND id IN (SELECT value FROM json_each(:ids))
"""
_PUT: Final = f"""
INSERT INTO memories ({COLUMNS}, extra) VALUES ({VALUES}, :extra)
"""  # noqa: S608  # composed of constants
_REPLACE: Final = f"""
UPDATE memories SET {CHANGES}, extra = :extra WHERE owner = :owner AND id = :id
"""  # noqa: S608  # composed of constants
_SYNCED: Final = (
    "INSERT OR REPLACE INTO synced (owner, id, version, change, withheld, gone) VALUES "
)
_SAVE_REVISION: Final = """
INSERT INTO revisions (id, owner, memory_id, kind, fields, made_at, resolved_at, unsent)
VALUES (:id, :owner, :memory_id, :kind, :fields, :made_at, :resolved_at, :unsent)
"""


def to_state(row: sqlite3.Row) -> State:
    return State(from_row(row), json.loads(row["extra"]))


def state_row(state: State) -> dict[str, Any]:
    return {**to_row(state.memory), "extra": json.dumps(dict(state.extra), ensure_ascii=False)}


def read_known(
    connection: sqlite3.Connection, owner: str, ids: Collection[UUID]
) -> dict[UUID, Known]:
    """Return what is known of each of these memories."""
    asked = {"owner": owner, "ids": id_list(ids)}
    locals_ = _states(connection.execute(_LOCALS, asked))
    bases = _states(connection.execute(_IN_ROLE, {**asked, "role": "base"}))
    sent = _states(connection.execute(_IN_ROLE, {**asked, "role": "sent"}))
    return {
        (id := UUID(row["asked"])): Known(
            local=locals_.get(id),
            waits=row["waits"] is not None,
            is_erased=bool(row["erased"]),
            base=bases.get(id),
            sent=sent.get(id),
            edit=None if row["edit"] is None else UUID(row["edit"]),
            change=row["change"] or 0,
            version=row["synced_version"] or 0,
            is_withheld=bool(row["withheld"]),
        )
        for row in connection.execute(_KNOWN, asked)
    }


def _states(found: Iterable[sqlite3.Row]) -> dict[UUID, State]:
    return {state.memory.id: state for state in map(to_state, found)}


def put(connection: sqlite3.Connection, state: State, *, is_new: bool) -> None:
    connection.execute(_PUT if is_new else _REPLACE, state_row(state))


def save_state(
    connection: sqlite3.Connection, owner: str, role: str, id: UUID, state: State | None
) -> None:
    statement = "DELETE FROM states WHERE owner = ? AND id = ? AND role = ?"
    connection.execute(statement, (owner, str(id), role))
    if state is not None:
        row = state_row(state)
        values = ", ".join(f":{name}" for name in STATE_COLUMNS)
        connection.execute(
            f"INSERT INTO states (role, {_NAMES}) VALUES (:role, {values})",  # noqa: S608  # constants
            {**row, "role": role},
        )


def note_synced(
    connection: sqlite3.Connection,
    owner: str,
    id: UUID,
    version: int,
    change: int,
    *,
    withheld: int,
    gone: bool,
) -> None:
    values = (owner, str(id), version, change, withheld, gone)
    connection.execute(f"{_SYNCED} (?, ?, ?, ?, ?, ?)", values)


def note_waiting(
    connection: sqlite3.Connection, id: UUID, owner: str, *, waits: bool, erased: bool
) -> None:
    """Set whether this memory waits to be sent, after the triggers have set it."""
    if not waits:
        connection.execute("DELETE FROM outbox WHERE owner = ? AND id = ?", (owner, str(id)))
        connection.execute("DELETE FROM states WHERE owner = ? AND id = ?", (owner, str(id)))
        return
    connection.execute(
        """
        INSERT INTO outbox (id, owner, erased) VALUES (?1, ?2, ?3)
        ON CONFLICT (owner, id) DO UPDATE SET erased = ?3, edit = CASE WHEN ?3 THEN edit END,
            earlier = NULL, parked = NULL, remedy = NULL, parked_version = NULL
        """,
        (str(id), owner, erased),
    )


def revision_row(owner: str, revision: Revision, *, unsent: int) -> dict[str, Any]:
    resolved = revision.resolved_at
    return {
        "id": str(revision.id),
        "owner": owner,
        "memory_id": str(revision.memory_id),
        "kind": revision.kind,
        "fields": json.dumps(dict(revision.fields), ensure_ascii=False),
        "made_at": microseconds(revision.made_at),
        "resolved_at": None if resolved is None else microseconds(resolved),
        "unsent": unsent,
    }


def save_revision(
    connection: sqlite3.Connection, owner: str, revision: Revision, *, unsent: int
) -> None:
    connection.execute(_SAVE_REVISION, revision_row(owner, revision, unsent=unsent))


def find_unseen_revisions(connection: sqlite3.Connection, state: State) -> list[Revision]:
    """Return the open revisions of a memory that was erased elsewhere which cannot have been seen
    there: they remain on this machine only.
    """
    query = """
        SELECT * FROM revisions
        WHERE owner = ? AND memory_id = ? AND kind = 'edit' AND unsent AND resolved_at IS NULL
    """
    key = (state.memory.owner, str(state.memory.id))
    found = map(to_revision, connection.execute(query, key).fetchall())
    return [
        replace(revision, kind="orphan", fields={**state.fields, **revision.fields})
        for revision in found
    ]


def to_revision(row: sqlite3.Row) -> Revision:
    resolved = row["resolved_at"]
    return Revision(
        UUID(row["id"]),
        UUID(row["memory_id"]),
        row["kind"],
        json.loads(row["fields"]),
        moment(row["made_at"]),
        None if resolved is None else moment(resolved),
    )
