"""The HNSW index of a space: built and dropped beside everybody who uses the table.

Whoever builds or drops holds an advisory lock, so that of several workers one does and the others
look again; nobody who stores or recalls waits for any of them.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from psycopg import AsyncConnection, errors, sql

from recollect.core.recall.space import StoredSpace

Connection = AsyncConnection[Any]

_BUILD_LOCK: Final = 7_305
_BUILDER_LOOKS_AGAIN: Final = 0.5
_TRY_ALONE = "select pg_try_advisory_xact_lock({}, {}) as is_mine"

_INDEX = """
create index {concurrently} {name} on embeddings
using hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) with (m = 16, ef_construction = 128)
where space_id = {id}
"""
# A build holds this lock to its end, even when its client was killed: who had it knows that an
# unfinished index is a leftover.
_WAIT_FOR_BUILDERS = "lock table embeddings in share update exclusive mode"
_IS_VALID = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"

# While it is built, pgvector keeps the graph in maintenance_work_mem; what finds no place there is
# added on disk one by one, several times as slowly. So the session that builds asks for what the
# graph takes, within what a small machine can lend.
MOST_ROOM_MB: Final = 512
# Of an element beside its numbers; measured on pgvector 0.8.5 with m = 16 (64 MB held 43,389
# vectors of 384 numbers), and rounded up.
_ELEMENT_BYTES: Final = 820
_NUMBER_BYTES: Final = 2
_BACKEND = "select pg_backend_pid() as pid"
_ASK_FOR_ROOM = """
with wanted as (
    select least(1 + count(*) * {bytes} / 1048576, {most}) as mb
    from embeddings where space_id = {id} and vector is not null
)
select set_config('maintenance_work_mem', mb || 'MB', false)
from wanted, pg_settings s
where s.name = 'maintenance_work_mem' and s.setting::bigint < mb * 1024
"""
_IS_WANTED = "select from spaces where id = %s and state <> 'retired'"
_STOP_BUILDERS = """
select pg_cancel_backend(pid) from pg_stat_progress_create_index
where index_relid = to_regclass(%s)
"""


async def build_index(guard: Connection, connection: Connection, space: StoredSpace) -> None:
    """Build what is missing, on two connections that commit each statement.

    What a killed build left behind is dropped. Of two builders one builds and the other looks again
    now and then. It must not wait inside Postgres: a build ends by waiting for every older
    snapshot, its own rival's too, and the deadlock would end the one that is nearly done.
    """
    while True:
        async with guard.transaction():
            if await _is_only_builder(guard, space):
                await _ask_for_room(connection, space)
                while await _lacks_index(connection, space):
                    await _build(connection, space)
                return
        await asyncio.sleep(_BUILDER_LOOKS_AGAIN)


async def _ask_for_room(connection: Connection, space: StoredSpace) -> None:
    """Only in a session of our own: a pooler, whose sessions have other numbers than it says,
    would hand the setting on to others.
    """
    cursor = await connection.execute(_BACKEND)
    row = await cursor.fetchone() or {}
    if row["pid"] == connection.info.backend_pid:
        bytes_each = _ELEMENT_BYTES + _NUMBER_BYTES * space.space.dimension
        await connection.execute(
            sql.SQL(_ASK_FOR_ROOM).format(
                bytes=sql.Literal(bytes_each),
                most=sql.Literal(MOST_ROOM_MB),
                id=sql.Literal(space.id),
            )
        )


async def _build(connection: Connection, space: StoredSpace) -> None:
    try:
        await connection.execute(create_index(space, concurrently=True))
    except (errors.DiskFull, errors.OutOfMemory):
        # A container's shared memory may be smaller still. What failed left an unfinished index.
        await connection.execute("reset maintenance_work_mem")
        await connection.execute(_drop_index(space))
        await connection.execute(create_index(space, concurrently=True))


async def drop_index(guard: Connection, connection: Connection, space: StoredSpace) -> None:
    """Drop a space's index, so that adding or removing many vectors is quick; a build of it that is
    under way is ended. The connections are as for `build_index`.

    Dropped concurrently: a plain drop shuts everybody out of the table, also while it waits for a
    backup that reads it, and every store call and every recall would wait as long.
    """
    name = _index_name(space)
    while True:
        await connection.execute(_STOP_BUILDERS, (name.as_string(connection),))
        async with guard.transaction():
            if await _is_only_builder(guard, space):
                await _wait_for_builders(connection)
                await connection.execute(_drop_index(space))
                return
        await asyncio.sleep(_BUILDER_LOOKS_AGAIN)


async def _is_only_builder(connection: Connection, space: StoredSpace) -> bool:
    """Whether this transaction may build or drop the space's index; nobody else then may."""
    # As plain text: a statement with parameters keeps its snapshot until the next one, and a build
    # would wait for it.
    numbers = sql.Literal(_BUILD_LOCK), sql.Literal(space.id)
    cursor = await connection.execute(sql.SQL(_TRY_ALONE).format(*numbers))
    row = await cursor.fetchone() or {}
    return bool(row["is_mine"])


async def _lacks_index(connection: Connection, space: StoredSpace) -> bool:
    """Whether a space that is in use or being filled has no whole index."""
    await _wait_for_builders(connection)
    cursor = await connection.execute(_IS_VALID, (_index_name(space).as_string(connection),))
    row = await cursor.fetchone()
    if row is not None and row["indisvalid"]:
        return False
    if row is not None:
        await connection.execute(_drop_index(space))
    cursor = await connection.execute(_IS_WANTED, (space.id,))
    return await cursor.fetchone() is not None


async def _wait_for_builders(connection: Connection) -> None:
    async with connection.transaction():
        await connection.execute(_WAIT_FOR_BUILDERS)


def create_index(space: StoredSpace, *, concurrently: bool) -> sql.Composed:
    return sql.SQL(_INDEX).format(
        concurrently=sql.SQL("concurrently" if concurrently else ""),
        name=_index_name(space),
        dimension=sql.Literal(space.space.dimension),
        id=sql.Literal(space.id),
    )


def _index_name(space: StoredSpace) -> sql.Identifier:
    return sql.Identifier(f"embeddings_space_{space.id}")


def _drop_index(space: StoredSpace) -> sql.Composed:
    return sql.SQL("drop index concurrently if exists {}").format(_index_name(space))
