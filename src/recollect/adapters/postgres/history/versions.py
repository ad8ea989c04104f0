"""What was known at a moment, on Postgres: current states that were written by then, and otherwise
the version that was valid.

The words of former texts have no index: the scope is scanned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from recollect.adapters.postgres.lexical import search as lexical
from recollect.adapters.postgres.pipeline import Session
from recollect.adapters.postgres.rows import MEMORY_COLUMNS, to_memory, within
from recollect.core.memory.memory import STORED, Memory, Scope
from recollect.core.recall.request import Candidate
from recollect.core.recall.settings import WordQuery
from recollect.core.recall.successors import Fetched, Resolution, find_link_targets, successors_of

# Columns of a version that differ from the memory's column of the same name. A version of a memory
# that is now sensitive is sensitive, too.
_ELSEWHERE: Final[Mapping[LiteralString, LiteralString]] = {
    "id": "v.memory_id",
    "updated_at": "v.known_from",
    "is_sensitive": "v.is_sensitive or m.is_sensitive",
}
_VERSION_COLUMNS: Final[LiteralString] = ", ".join(
    f"{_ELSEWHERE.get(field.name, f'v.{field.name}')} as {field.name}" for field in STORED
)
# Replaces the table of memories in a statement.
_THEN: Final[LiteralString] = f"""
(
    select {MEMORY_COLUMNS}, m.search_vector from memories m
    where m.owner = %(owner)s and m.updated_at <= %(as_of)s and m.created_at <= %(as_of)s
    union all
    (select distinct on (v.memory_id) {_VERSION_COLUMNS}, v.search_vector
    from memory_versions v join memories m on m.owner = v.owner and m.id = v.memory_id
    where v.owner = %(owner)s and v.known_from <= %(as_of)s and v.known_until > %(as_of)s
        and v.created_at <= %(as_of)s and m.updated_at > %(as_of)s
    order by v.memory_id, v.number desc)
)
"""  # noqa: S608  # composed of constants

_READ: Final = f"select {MEMORY_COLUMNS} from {_THEN} m where m.deleted_at is null"  # noqa: S608  # composed of constants
_LINKED: Final = f"{_READ} and m.links <> '[]'"
_SOME: Final = f"{_READ} and m.id = any(%(ids)s)"

_FORMER: Final = f"""
select {_VERSION_COLUMNS}
from memory_versions v join memories m on m.owner = v.owner and m.id = v.memory_id
where v.owner = %(owner)s and v.memory_id = %(id)s order by v.number
"""  # noqa: S608  # composed of constants

Connection = AsyncConnection[Any]


async def search(
    connection: Session, owner: str, scope: Scope, query: WordQuery, as_of: datetime
) -> list[Candidate]:
    condition, params = within(owner, scope, query.exclude)
    return await lexical.search(
        connection,
        query.text,
        lexical.LexicalSearch(condition, {**params, "as_of": as_of}, query.depth, source=_THEN),
        query.expanded,
    )


async def fetch(
    connection: Connection, owner: str, ids: Collection[UUID], as_of: datetime
) -> Fetched:
    memories = await _fetch_some(connection, owner, ids, as_of)
    successors = successors_of(await _fetch_linked(connection, owner, as_of))
    return Fetched(memories, successors.keys() & memories.keys())


async def follow(
    connection: Connection,
    owner: str,
    superseded: Collection[UUID],
    targets: Collection[UUID],
    as_of: datetime,
) -> Resolution:
    linked = await _fetch_linked(connection, owner, as_of)
    found = find_link_targets(linked, superseded, targets)
    missing = found.wanted - {memory.id for memory in linked}
    others = await _fetch_some(connection, owner, missing, as_of)
    return found.with_memories([*linked, *others.values()])


async def former_states(connection: Session, owner: str, id: UUID) -> list[Memory]:
    """Return the former states of one memory, oldest first."""
    cursor = await connection.execute(_FORMER, {"owner": owner, "id": id})
    return [to_memory(row) for row in await cursor.fetchall()]


async def _fetch_linked(connection: Connection, owner: str, as_of: datetime) -> list[Memory]:
    cursor = await connection.execute(_LINKED, {"owner": owner, "as_of": as_of})
    return [to_memory(row) for row in await cursor.fetchall()]


async def _fetch_some(
    connection: Connection, owner: str, ids: Collection[UUID], as_of: datetime
) -> dict[UUID, Memory]:
    params = {"owner": owner, "as_of": as_of, "ids": list(ids)}
    cursor = await connection.execute(_SOME, params)
    return {row["id"]: to_memory(row) for row in await cursor.fetchall()}
