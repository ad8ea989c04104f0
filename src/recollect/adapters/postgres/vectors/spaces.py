"""The spaces of a database: opened, switched, dropped.

All spaces share one table of vectors, and each has its own HNSW indexes for its dimension. So a new
model can fill a space while the old one is in use, and switching changes two rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, LiteralString

from recollect.adapters.postgres.access import ADMIN, WORKER
from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.distribution import limit_to
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.session import PostgresSession
from recollect.adapters.postgres.vectors.hnsw import Outdated, SpaceIndexes, find_outdated
from recollect.adapters.sql.session import T, Work
from recollect.adapters.sql.spaces import SPACE_COLUMNS, SqlSpaces, lock_space, to_space
from recollect.core.errors import InvalidInput
from recollect.core.recall.space import Gap, Space, StoredSpace

CHANNEL: Final = "recollect_embeddings"
"""Where Postgres notifies workers of work; the triggers use the same name."""

MAX_DIMENSION: Final = 4_000
"""The largest dimension that pgvector indexes as halfvec."""

# Other transactions may be editing some of the rows, and will end soon.
_DROP_AGAIN_SECONDS: Final = 0.2

# Any fixed number. The transaction that holds this lock is the one that opens or switches spaces.
_LOCK = "select pg_advisory_xact_lock(7305201845)"
_NOTIFY = "select pg_notify(%s, '')"
_WAKE: Final = """
update spaces set state = 'filling', opened_in = pg_current_xact_id(), opened_at = now(),
    swept_owner = '', swept_to = '00000000-0000-0000-0000-000000000000'
where id = :id and state = 'retired'
"""
# Writers lock some of these rows, and may need more of them: skip, never wait.
_DROP_SOME: Final[LiteralString] = """
with part as materialized (
    select e.owner, e.memory_id, e.passage from embeddings e where e.space_id = %(space)s {e}
    limit %(limit)s for update skip locked
)
delete from embeddings e using part
where e.owner = part.owner and e.memory_id = part.memory_id and e.passage = part.passage
    and e.space_id = %(space)s {e}
"""
_OWNERS_LEFT = """
select owner from embeddings where space_id = %(space)s group by owner limit 100
"""
_HAS_ROWS = "select from embeddings where space_id = %s limit 1"
_GAP = """
select count(*) as missing,
    count(*) filter (where e.last_error is not null or e.due_at = 'infinity') as failed
from spaces s
join embeddings known
    on known.space_id = s.id and known.passage = 0 and known.vector is not null
left join embeddings e
    on e.owner = known.owner and e.memory_id = known.memory_id and e.space_id = %(space)s
        and e.passage = 0
where s.state = 'active' and e.vector is null
"""


class SpaceStore(SqlSpaces, PostgresComponent):
    """Implements the `Spaces` port."""

    _wake = _WAKE

    async def _change_spaces(self, work: Work[T]) -> T:
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_LOCK)
            done = await work(PostgresSession(connection))
            await notify(connection)
            return done

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        if space.dimension > MAX_DIMENSION:
            raise InvalidInput(
                f"{space.name} has vectors of {space.dimension:,} numbers; pgvector indexes up to"
                f" {MAX_DIMENSION:,}",
                field="model",
                remedy="Choose a model with shorter vectors, or ask this one for shorter ones.",
            )
        return await super().open_space(embedder, space)

    async def gap(self, space: StoredSpace) -> Gap:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_GAP, {"space": space.id})
            row = await cursor.fetchone() or {}
        return Gap(row["missing"], row["failed"])

    async def drop_space(self, space: StoredSpace) -> None:
        await self.give_up(space)
        await self.drop_indexes(space)
        while (removed := await self.remove_some(space)) is not None:
            if not removed:
                await asyncio.sleep(_DROP_AGAIN_SECONDS)

    async def pending_indexes(self, space: StoredSpace) -> int:
        return len((await self._find_outdated(space)).missing)

    async def build_indexes(self, space: StoredSpace) -> None:
        found = await self._find_outdated(space)
        if found.missing or found.surplus:
            async with self._pool.dedicated() as guard, self._pool.dedicated() as connection:
                indexes = SpaceIndexes(guard, connection, space.id)
                await indexes.build(space.space.dimension, self._limits)

    async def drop_indexes(self, space: StoredSpace) -> None:
        """Drop all indexes to add many vectors fast; `build_indexes` makes search fast again."""
        async with self._pool.dedicated() as guard, self._pool.dedicated() as connection:
            await SpaceIndexes(guard, connection, space.id).drop()

    async def _find_outdated(self, space: StoredSpace) -> Outdated:
        async with self._pool.transaction(ADMIN) as connection:
            return await find_outdated(connection, space.id, self._limits)

    async def remove_some(self, space: StoredSpace) -> int | None:
        """Remove a batch of vectors of an abandoned space. Returns how many; 0 if all that are left
        are locked; None if nothing is left, not even its row, or if it was opened again meanwhile.
        """
        async with self._pool.transaction(WORKER) as connection:
            current = await lock_space(PostgresSession(connection), space)
            if current is None or not current.is_given_up:
                return None
            removed = 0
            for owner in await self._owners(connection, _OWNERS_LEFT, {"space": space.id}):
                params = {"space": space.id, "owner": owner, "limit": self._limits.drop_batch}
                removed += (await connection.execute(limit_to(owner, _DROP_SOME), params)).rowcount
                if removed >= self._limits.drop_batch:
                    break
            if removed:
                return removed
            cursor = await connection.execute(_HAS_ROWS, (space.id,))
            if await cursor.fetchone() is not None:
                return 0
            await connection.execute("delete from spaces where id = %s", (space.id,))
            return None


def to_active(rows: Sequence[Sequence[Any]]) -> StoredSpace | None:
    """Convert the result of `ACTIVE_SPACE`: at most one row."""
    return to_space(dict(zip(SPACE_COLUMNS, rows[0], strict=True))) if rows else None


async def notify(connection: Connection) -> None:
    """Notify workers, when this transaction commits, that there may be work."""
    await connection.execute(_NOTIFY, (CHANNEL,))
