"""The HNSW index of a space, built and dropped while the table is in use.

An advisory lock lets one of several workers build or drop while the others check again; storing and
recalling never wait for any of them.
"""

from __future__ import annotations

import asyncio
from typing import Final

from psycopg import errors, sql

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pool import Connection, has_own_session
from recollect.core.recall.space import StoredSpace

_BUILD_LOCK: Final = 7_305
_CHECK_AGAIN_SECONDS: Final = 0.5
_TRY_LOCK = "select pg_try_advisory_xact_lock({}, {}) as is_mine"

_INDEX = """
create index {concurrently} {name} on embeddings
using hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) with (m = 16, ef_construction = 128)
where space_id = {id}
"""
# A build holds this lock to its end, even when its client was killed: once we have had it, an
# unfinished index is a leftover.
_WAIT_FOR_BUILDERS = "lock table embeddings in share update exclusive mode"
_IS_VALID = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"

_NUMBER_BYTES: Final = 2
# During a build pgvector keeps the graph in maintenance_work_mem; what does not fit is added on
# disk one by one, several times slower. So the session that builds asks for what the graph takes,
# within what a small machine can spare.
_SET_MEMORY = """
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


class SpaceIndex:
    """The index of one space, on two connections that commit each statement."""

    def __init__(
        self, guard: Connection, connection: Connection, space: StoredSpace, limits: Limits
    ) -> None:
        """`guard` holds the lock, and `connection` builds or drops."""
        self._guard = guard
        self._connection = connection
        self._space = space
        self._limits = limits
        self._name = _index_name(space)

    async def build(self) -> None:
        """Build the index if it is missing, after dropping what a killed build left behind.

        Of two builders one builds and the other checks again now and then. It must not wait inside
        Postgres: a build ends by waiting for every older snapshot, its rival's too, and the
        deadlock would end the one that is nearly done.
        """
        while True:
            async with self._guard.transaction():
                if await self._try_lock():
                    await self._set_memory()
                    while await self._is_missing():
                        await self._create()
                    return
            await asyncio.sleep(_CHECK_AGAIN_SECONDS)

    async def drop(self) -> None:
        """Drop the index, so that adding or removing many vectors is fast; a build in progress is
        cancelled.

        Dropped concurrently: a plain drop locks the table, also while it waits for a backup that
        reads it, and every store call and every recall would wait as long.
        """
        while True:
            name = self._name.as_string(self._connection)
            await self._connection.execute(_STOP_BUILDERS, (name,))
            async with self._guard.transaction():
                if await self._try_lock():
                    await self._wait_for_builders()
                    await self._connection.execute(_drop_index(self._space))
                    return
            await asyncio.sleep(_CHECK_AGAIN_SECONDS)

    async def _try_lock(self) -> bool:
        """Whether the guard's transaction alone may build or drop this index."""
        # As plain text: a statement with parameters keeps its snapshot until the next one, and a
        # build would wait for it.
        numbers = sql.Literal(_BUILD_LOCK), sql.Literal(self._space.id)
        cursor = await self._guard.execute(sql.SQL(_TRY_LOCK).format(*numbers))
        row = await cursor.fetchone() or {}
        return bool(row["is_mine"])

    async def _set_memory(self) -> None:
        """Only in a session of our own: a pooler would leave the setting to other clients."""
        if await has_own_session(self._connection):
            dimension = self._space.space.dimension
            bytes_each = self._limits.index_element_bytes + _NUMBER_BYTES * dimension
            await self._connection.execute(
                sql.SQL(_SET_MEMORY).format(
                    bytes=sql.Literal(bytes_each),
                    most=sql.Literal(self._limits.index_memory_mb),
                    id=sql.Literal(self._space.id),
                )
            )

    async def _is_missing(self) -> bool:
        """Whether a space that is in use or being filled has no complete index."""
        await self._wait_for_builders()
        name = self._name.as_string(self._connection)
        cursor = await self._connection.execute(_IS_VALID, (name,))
        row = await cursor.fetchone()
        if row is not None and row["indisvalid"]:
            return False
        if row is not None:
            await self._connection.execute(_drop_index(self._space))
        cursor = await self._connection.execute(_IS_WANTED, (self._space.id,))
        return await cursor.fetchone() is not None

    async def _create(self) -> None:
        try:
            await self._connection.execute(create_index(self._space, concurrently=True))
        except (errors.DiskFull, errors.OutOfMemory):
            # The shared memory of a container may be smaller. The failed build left a leftover.
            await self._connection.execute("reset maintenance_work_mem")
            await self._connection.execute(_drop_index(self._space))
            await self._connection.execute(create_index(self._space, concurrently=True))

    async def _wait_for_builders(self) -> None:
        async with self._connection.transaction():
            await self._connection.execute(_WAIT_FOR_BUILDERS)


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
