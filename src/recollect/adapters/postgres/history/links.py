"""Follow links in Postgres with one statement, however long the paths are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from recollect.adapters.postgres.pipeline import Session
from recollect.adapters.postgres.rows import MEMORY_COLUMNS, to_memory
from recollect.core.recall.successors import Fetched, Resolution

# The newest memory that supersedes another. Its state is a scalar subquery, which the planner
# evaluates per row instead of joining: the index on the target leaves one or two rows.
_SUCCESSOR: Final[LiteralString] = """
(select l.memory_id from memory_links l
where l.owner = %(owner)s and l.kind = 'supersedes' and l.target = {id}
    and l.memory_id <> l.target
    and (select successor.deleted_at is null
        from memories successor where successor.owner = %(owner)s and successor.id = l.memory_id)
order by l.memory_id desc limit 1)
"""
_FIRST: Final = _SUCCESSOR.format(id="s.id")
_NEXT: Final = _SUCCESSOR.format(id="w.successor")

# This runs for every hit, so whether the successor still exists is only checked when following.
_FETCH: Final = f"""
select {MEMORY_COLUMNS}, (
    select true from memory_links l
    where l.owner = %(owner)s and l.kind = 'supersedes' and l.target = m.id limit 1
) as is_superseded
from memories m
where m.owner = %(owner)s and m.id = any(%(ids)s) and m.deleted_at is null
"""  # noqa: S608  # composed of constants

# Two walks: from superseded memories to the ends, and from the targets of links to theirs. UNION
# drops rows that were visited before, so a cycle ends a walk. Texts are read only for what can be
# shown: ends and targets. OFFSET 0 makes the planner look up each row by its key: it cannot
# estimate how many there will be, and would otherwise read whole tables.
_FOLLOW: Final = f"""
with recursive succession (id, successor) as (
    select s.id, {_FIRST} from unnest(%(superseded)s::uuid[]) s(id)
    union
    select w.successor, {_NEXT} from succession w where w.successor is not null
), named (id) as (
    select unnest(%(targets)s::uuid[])
    union
    select t.target from succession w cross join lateral (
        select l.target from memory_links l
        where l.owner = %(owner)s and l.memory_id = w.id and l.kind <> 'supersedes' offset 0
    ) t
    where w.successor is null
), resolution (id, successor) as (
    select s.id, {_FIRST} from named s
    union
    select w.successor, {_NEXT} from resolution w where w.successor is not null
), ways as (
    select id, successor from succession union select id, successor from resolution
)
select w.id as way, w.successor, {MEMORY_COLUMNS}
from ways w left join lateral (
    select m.* from memories m
    where m.owner = %(owner)s and m.id = w.id and m.deleted_at is null offset 0
) m on w.successor is null or w.id in (select id from named)
"""  # noqa: S608  # composed of constants


async def fetch(connection: Session, owner: str, ids: Collection[UUID]) -> Fetched:
    cursor = await connection.execute(_FETCH, {"owner": owner, "ids": list(ids)})
    rows = await cursor.fetchall()
    superseded = {row["id"] for row in rows if row["is_superseded"]}
    return Fetched({row["id"]: to_memory(row) for row in rows}, superseded)


async def follow(
    connection: AsyncConnection[Any],
    owner: str,
    superseded: Collection[UUID],
    targets: Collection[UUID],
) -> Resolution:
    await connection.execute("set local jit = off")  # compiling would take longer than running
    params = {"owner": owner, "superseded": list(superseded), "targets": list(targets)}
    rows = await (await connection.execute(_FOLLOW, params)).fetchall()
    return Resolution(
        {row["way"]: row["successor"] for row in rows if row["successor"] is not None},
        {row["id"]: to_memory(row) for row in rows if row["id"] is not None},
    )
