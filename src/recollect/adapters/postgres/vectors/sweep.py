"""The jobs of memories that were there before their space: a sweep over all memories, a part at a
time, which remembers how far it came.
"""

from __future__ import annotations

from typing import Any, Final

from psycopg import AsyncConnection

from recollect.core.recall.space import StoredSpace

SWEEP: Final = 1_000
"""Memories one step of a sweep looks at: short locks, and new memories never wait for many."""

_START: Final = "00000000-0000-0000-0000-000000000000"
_END: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"

# Final: every writer that could not yet see the space has ended. (A number from the future is one
# of another server, from which this database was restored.)
_SWEEP_STATE: Final = """
select swept_to::text as swept_to,
    (pg_snapshot_xmin(pg_current_snapshot()) > opened_in
        or pg_snapshot_xmax(pg_current_snapshot()) <= opened_in) as is_final
from spaces
where id = %(space)s and state <> 'retired' and swept_to is not null
for update skip locked
"""
# The lock on a memory makes a change of its sensitivity wait until this row is there to be removed.
_SWEEP_SOME: Final = """
with looked_at as materialized (
    select id from memories where id > %(swept_to)s::uuid order by id limit %(sweep)s
), missing as materialized (
    select m.id, m.content from looked_at join memories m using (id)
    where not m.is_sensitive and m.deleted_at is null and not exists (
        select from embeddings e where e.memory_id = m.id and e.space_id = %(space)s)
    for key share of m
), added as (
    insert into embeddings (space_id, memory_id, content_hash)
    select %(space)s, id, sha256(convert_to(content, 'UTF8')) from missing
    on conflict (memory_id, space_id) do nothing
)
select max(id::text) as swept_to from looked_at
"""
_SWEPT_TO: Final = "update spaces set swept_to = %(swept_to)s::uuid where id = %(space)s"


async def sweep(connection: AsyncConnection[Any], space: StoredSpace) -> bool:
    """Put in the rows that some more memories lack; False when there is nothing to look at now.

    A memory whose writer began before the space was opened has no row, and may not be visible yet.
    So a sweep that began while such writers were at work is followed by a second one.
    """
    cursor = await connection.execute(_SWEEP_STATE, {"space": space.id})
    row = await cursor.fetchone()
    if row is None or (row["swept_to"] == _END and not row["is_final"]):
        return False
    start = _START if row["swept_to"] == _END else row["swept_to"]
    params = {"space": space.id, "swept_to": start, "sweep": SWEEP}
    cursor = await connection.execute(_SWEEP_SOME, params)
    reached = (await cursor.fetchone() or {})["swept_to"]
    swept_to = reached if reached is not None else (None if row["is_final"] else _END)
    await connection.execute(_SWEPT_TO, {"space": space.id, "swept_to": swept_to})
    return reached is not None
