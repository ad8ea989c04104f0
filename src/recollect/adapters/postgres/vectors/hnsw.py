"""The HNSW indexes of a space: one for each owner with many vectors, built while the table is used.

A search in an index approaches the query without regard to owners: in a shared index, large owners
would pay for everyone's vectors, and small ones would miss rows. So every index covers one owner,
the vectors of smaller owners are compared exactly, and the number of indexes is limited, because
each makes every statement on the table a little slower (docs/adr/0041).

An advisory lock lets one of several workers build or drop while the others poll; storing and
recalling never wait for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from psycopg import errors, sql

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pool import Connection, Pool, has_own_session

_BUILD_LOCK: Final = 7_305
_CHECK_AGAIN_SECONDS: Final = 0.5
_TRY_LOCK = "select pg_try_advisory_xact_lock({}, {}) as is_mine"

_PREFIX: Final = "embeddings_hnsw"
_HASH_DIGITS: Final = 32

# The conditions must be those of a search, with constants: otherwise the index is not used.
_CREATE = """
create index concurrently {name} on embeddings
using hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) with (m = 16, ef_construction = 128)
where owner = {owner} and space_id = {space}
"""
_DROP = "drop index concurrently if exists {}"
# A build holds this lock until it ends, even if its client was killed: once we have held the lock,
# an unfinished index must be a leftover.
_WAIT_FOR_BUILDERS = "lock table embeddings in share update exclusive mode"
_BUILT = """
select c.relname as name, i.indisvalid as is_valid
from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = to_regclass('embeddings') and starts_with(c.relname, %s)
"""
# The position of an owner is at least the number of its memories, so only few owners are counted,
# and no further than needed. Long texts have more vectors.
_LARGE = """
select o.owner, o.position + coalesce(p.passages, 0) as position
from owners o
left join (
    select e.owner, count(*) as passages from embeddings e
    where e.space_id = %(space)s and e.passage > 0
    group by e.owner
) p on p.owner = o.owner
where 2 * (o.position + coalesce(p.passages, 0)) > %(rows)s
order by 2 desc, 1
"""
_COUNT = """
select count(*) as found from (
    select from embeddings e
    where e.owner = %(owner)s and e.space_id = %(space)s and e.vector is not null
    limit %(most)s
) v
"""
_IS_USED = "select from spaces where id = %(space)s and state <> 'retired'"

_NUMBER_BYTES: Final = 2
# During a build pgvector holds the graph in maintenance_work_mem; what does not fit is added on
# disk element by element, several times slower. So the session that builds requests the memory for
# the graph, up to what a small machine can spare.
_VECTORS = """
select count(*) as found from embeddings
where owner = %(owner)s and space_id = %(space)s and vector is not null
"""
_SET_MEMORY = """
select set_config('maintenance_work_mem', %(mb)s || 'MB', false) from pg_settings s
where s.name = 'maintenance_work_mem' and s.setting::bigint < %(mb)s * 1024
"""
_STOP_BUILDERS = """
select pg_cancel_backend(pid) from pg_stat_progress_create_index
where index_relid = any(select to_regclass(name) from unnest(%s::text[]) name)
"""


@dataclass(frozen=True, slots=True)
class Outdated:
    """`missing`: owners that should have an index but have no complete one, largest first.
    `surplus`: the names of indexes that are incomplete or no longer needed.
    """

    missing: Sequence[str]
    surplus: Sequence[str]


class SpaceIndexes:
    """The indexes of one space, on two connections that commit each statement."""

    def __init__(self, guard: Connection, connection: Connection, space_id: int) -> None:
        """`guard` holds the lock; `connection` builds or drops."""
        self._guard = guard
        self._connection = connection
        self._space_id = space_id

    async def build(self, dimension: int, limits: Limits) -> None:
        """Drop what killed builds left behind and indexes that are no longer needed, and build the
        missing ones. The owners are checked again after each build.
        """
        async with self._lock():
            own_session = await has_own_session(self._connection)
            while (owner := await self._find_missing(limits)) is not None:
                if own_session:  # behind a pooler the setting would affect other clients
                    await self._set_memory(owner, dimension, limits)
                await self._create(owner, dimension)

    async def drop(self, owner: str | None = None) -> None:
        """Drop all indexes, so that adding or removing many vectors is fast, or the index of one
        owner. A build in progress is cancelled.

        Dropped concurrently: a plain drop locks the table, even while it waits for a backup that
        reads it, and every store call and every recall would wait as well.
        """
        prefix = index_name(self._space_id, owner)
        while True:
            names = await find_built(self._connection, prefix)
            await self._connection.execute(_STOP_BUILDERS, ([*names],))
            async with self._guard.transaction():
                if await self._try_lock():
                    await self._wait_for_builders()
                    for name in await find_built(self._connection, prefix):
                        await self._drop(name)
                    return
            await asyncio.sleep(_CHECK_AGAIN_SECONDS)

    @asynccontextmanager
    async def _lock(self) -> AsyncIterator[None]:
        """Hold the lock of builders. The others poll. They must not wait inside Postgres: at its
        end a build waits for every older snapshot, including theirs, and the deadlock would abort
        the build that is nearly done.
        """
        while True:
            async with self._guard.transaction():
                if await self._try_lock():
                    yield
                    return
            await asyncio.sleep(_CHECK_AGAIN_SECONDS)

    async def _try_lock(self) -> bool:
        """Return whether the guard's transaction got the lock on the indexes of this space."""
        # As plain text: a statement with parameters holds its snapshot until the next one, and a
        # build would wait for it.
        numbers = sql.Literal(_BUILD_LOCK), sql.Literal(self._space_id)
        cursor = await self._guard.execute(sql.SQL(_TRY_LOCK).format(*numbers))
        row = await cursor.fetchone() or {}
        return bool(row["is_mine"])

    async def _find_missing(self, limits: Limits) -> str | None:
        """Return the largest owner that lacks an index, after dropping what is not needed."""
        await self._wait_for_builders()
        found = await find_outdated(self._connection, self._space_id, limits)
        for name in found.surplus:
            await self._drop(name)
        return next(iter(found.missing), None)

    async def _set_memory(self, owner: str, dimension: int, limits: Limits) -> None:
        params = {"owner": owner, "space": self._space_id}
        cursor = await self._connection.execute(_VECTORS, params)
        found = (await cursor.fetchone() or {})["found"]
        size = found * (limits.index_element_bytes + _NUMBER_BYTES * dimension)
        megabytes = min(1 + size // 1_048_576, limits.index_memory_mb)
        await self._connection.execute(_SET_MEMORY, {"mb": megabytes})

    async def _create(self, owner: str, dimension: int) -> None:
        name = index_name(self._space_id, owner)
        create = sql.SQL(_CREATE).format(
            name=sql.Identifier(name),
            dimension=sql.Literal(dimension),
            owner=sql.Literal(owner),
            space=sql.Literal(self._space_id),
        )
        try:
            await self._connection.execute(create)
        except (errors.DiskFull, errors.OutOfMemory):
            # The shared memory of a container may be smaller. The failed build left an unfinished
            # index.
            await self._connection.execute("reset maintenance_work_mem")
            await self._drop(name)
            await self._connection.execute(create)

    async def _drop(self, name: str) -> None:
        await self._connection.execute(sql.SQL(_DROP).format(sql.Identifier(name)))

    async def _wait_for_builders(self) -> None:
        async with self._connection.transaction():
            await self._connection.execute(_WAIT_FOR_BUILDERS)


async def find_outdated(connection: Connection, space_id: int, limits: Limits) -> Outdated:
    built = await _find_valid(connection, index_name(space_id))
    indexable = await _find_indexable(connection, space_id, limits, built)
    names = {index_name(space_id, owner): owner for owner in indexable}
    missing = [owner for name, owner in names.items() if not built.get(name)]
    surplus = [name for name, is_valid in built.items() if not is_valid or name not in names]
    return Outdated(missing, surplus)


async def _find_indexable(
    connection: Connection, space_id: int, limits: Limits, built: Mapping[str, bool]
) -> list[str]:
    """Return the owners that should have an index, largest first. An existing index counts double:
    it is kept until its owner has half as many vectors, and an owner of nearly the same size does
    not replace it.
    """
    params: dict[str, Any] = {"space": space_id, "rows": limits.index_rows}
    params["most"] = limits.index_rows + 1
    cursor = await connection.execute(_IS_USED, params)
    if await cursor.fetchone() is None:
        return []
    cursor = await connection.execute(_LARGE, params)
    sizes = [
        (2 if built.get(index_name(space_id, row["owner"])) else 1, row["position"], row["owner"])
        for row in await cursor.fetchall()
    ]
    indexable: list[str] = []
    for factor, _, owner in sorted(sizes, key=lambda size: (-size[0] * size[1], size[2])):
        if len(indexable) == limits.max_indexes:
            break
        cursor = await connection.execute(_COUNT, {**params, "owner": owner})
        if factor * (await cursor.fetchone() or {})["found"] > limits.index_rows:
            indexable.append(owner)
    return indexable


async def _find_valid(connection: Connection, prefix: str) -> dict[str, bool]:
    """Return the indexes with this prefix, and whether each is complete."""
    cursor = await connection.execute(_BUILT, (prefix,))
    return {row["name"]: row["is_valid"] for row in await cursor.fetchall()}


async def find_built(connection: Connection, prefix: str) -> list[str]:
    """Return the indexes with this prefix, complete or not."""
    return [*await _find_valid(connection, prefix)]


async def drop_owner_indexes(pool: Pool, owner: str) -> None:
    """Drop an owner's indexes in every space. Most owners have none."""
    async with pool.dedicated() as connection:
        names = await find_built(connection, _PREFIX)
        theirs = [name for name in names if name.endswith(_hash(owner))]
        if theirs:
            async with pool.dedicated() as guard:
                for name in theirs:
                    space_id = int(name.removeprefix(f"{_PREFIX}_").partition("_")[0])
                    await SpaceIndexes(guard, connection, space_id).drop(owner)


def index_name(space_id: int, owner: str | None = None) -> str:
    """Return the name of an owner's index. It contains a hash of the owner, whose name may be
    longer than an identifier and contain any character. Without an owner: the prefix of all names.
    """
    return f"{_PREFIX}_{space_id}_{'' if owner is None else _hash(owner)}"


def index_params(owner: str) -> dict[str, Any]:
    """Return the parameters of `INDEX_SIZES`."""
    return {"index_suffix": f"%_{_hash(owner)}"}


INDEX_SIZES: Final = """
select c.relname::text, greatest(c.reltuples, 0)
from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = to_regclass('embeddings') and c.relname like %(index_suffix)s and i.indisvalid
"""
"""About how many vectors each complete index of an owner holds, by the name of the index."""


def _hash(owner: str) -> str:
    return sha256(owner.encode()).hexdigest()[:_HASH_DIGITS]
