"""The spaces of a database: opened, switched, dropped.

All spaces share one table of vectors, and each has HNSW indexes of its own at its own dimension.
So a new model can fill a space while the old one serves, and switching changes two rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final, LiteralString

from recollect.adapters.postgres.access import ADMIN, WORKER
from recollect.adapters.postgres.by_owner import limit_to
from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.vectors.hnsw import Outdated, SpaceIndexes, find_outdated
from recollect.core.errors import Conflict, InvalidInput
from recollect.core.recall.space import Gap, Space, StoredSpace

CHANNEL: Final = "recollect_embeddings"
"""Where Postgres notifies workers of work; the triggers use the same name."""

MAX_DIMENSION: Final = 4_000
"""The most that pgvector indexes as halfvec."""

# Other transactions edit some of the rows, and are soon done.
_DROP_AGAIN_SECONDS: Final = 0.2

# Any fixed number. The transaction that holds this lock is the one that opens or switches spaces.
_LOCK = "select pg_advisory_xact_lock(7305201845)"
_NOTIFY = "select pg_notify(%s, '')"

_NAMES: Final = (
    "id",
    "embedder",
    "model",
    "revision",
    "dimension",
    "distance",
    "query_instruction",
    "languages",
    "state",
    "is_former",
)
_COLUMNS: Final = ", ".join(_NAMES)
_SPACES = f"select {_COLUMNS} from spaces order by id"  # noqa: S608  # composed of constants
ACTIVE: Final = f"select {_COLUMNS} from spaces where state = 'active'"  # noqa: S608  # composed of constants
_FIND = """
select id from spaces
where model = %(model)s and revision = %(revision)s and dimension = %(dimension)s
    and distance = %(distance)s
"""
_OPEN = f"""
insert into spaces (embedder, model, revision, dimension, distance, query_instruction, languages,
    state)
values (%(embedder)s, %(model)s, %(revision)s, %(dimension)s, %(distance)s, %(query_instruction)s,
    %(languages)s, %(state)s)
returning {_COLUMNS}
"""  # noqa: S608  # composed of constants
# While it was retired it was not kept up to date, so every memory must be looked at again.
_WAKE = """
update spaces set state = 'filling', opened_in = pg_current_xact_id(), opened_at = now(),
    swept_owner = '', swept_to = '00000000-0000-0000-0000-000000000000'
where id = %s and state = 'retired'
"""
_REOPEN = f"""
update spaces set embedder = %(embedder)s, query_instruction = %(query_instruction)s,
    languages = %(languages)s,
    state = case when exists (select from spaces where state = 'active') then state
        else 'active' end
where id = %(id)s
returning {_COLUMNS}
"""  # noqa: S608  # composed of constants
_LOCK_ROW = f"select {_COLUMNS} from spaces where id = %s for update"  # noqa: S608  # composed of constants
_GIVE_UP_FORMER = "update spaces set is_former = false where is_former"
_RETIRE_ACTIVE = "update spaces set state = 'retired', is_former = true where state = 'active'"
_ACTIVATE = "update spaces set state = 'active' where id = %s"
_RETIRE = "update spaces set state = 'retired' where id = %s and state = 'filling' and is_former"
_GIVE_UP = "update spaces set state = 'retired', is_former = false where id = %s"
# Others edit memories and lock some of these rows, and may want more of them: skip, never wait.
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


class SpaceStore(PostgresComponent):
    """Implements the `Spaces` port."""

    async def spaces(self) -> list[StoredSpace]:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_SPACES)
            return [_to_space(row) for row in await cursor.fetchall()]

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        if space.dimension > MAX_DIMENSION:
            raise InvalidInput(
                f"{space.name} has vectors of {space.dimension:,} numbers; pgvector indexes up to"
                f" {MAX_DIMENSION:,}",
                field="model",
                remedy="Choose a model with shorter vectors, or ask this one for shorter ones.",
            )
        params = {
            "embedder": embedder,
            "model": space.model,
            "revision": space.revision,
            "dimension": space.dimension,
            "distance": space.distance,
            "query_instruction": space.query_instruction,
            "languages": sorted(space.languages),
        }
        async with self._pool.transaction(ADMIN) as connection:
            await connection.execute(_LOCK)
            cursor = await connection.execute(_FIND, params)
            found = await cursor.fetchone()
            if found is not None:
                await connection.execute(_WAKE, (found["id"],))
                cursor = await connection.execute(_REOPEN, {**params, "id": found["id"]})
            else:
                cursor = await connection.execute(ACTIVE)
                state = "active" if await cursor.fetchone() is None else "filling"
                cursor = await connection.execute(_OPEN, {**params, "state": state})
            row: Mapping[str, Any] = await cursor.fetchone() or {}
            opened = _to_space(row)
            await notify(connection)
        return opened

    async def gap(self, space: StoredSpace) -> Gap:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_GAP, {"space": space.id})
            row = await cursor.fetchone() or {}
        return Gap(row["missing"], row["failed"])

    async def activate(self, space: StoredSpace) -> None:
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_LOCK)
            state = (await _lock_existing(connection, space)).state
            if state == "active":  # by another process: the one before is the former one already
                return
            if state == "retired":  # its vectors may be on their way out already
                raise Conflict(
                    f"the space {space.space.name} was dropped in the meantime",
                    remedy="Run `recollect reembed` again: it opens the space again and fills it.",
                )
            await connection.execute(_GIVE_UP_FORMER)
            await connection.execute(_RETIRE_ACTIVE)
            await connection.execute(_ACTIVATE, (space.id,))
            await notify(connection)

    async def retire(self, space: StoredSpace) -> None:
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_LOCK)
            await connection.execute(_RETIRE, (space.id,))

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
        """Makes adding very many vectors fast; `build_indexes` makes search fast again."""
        async with self._pool.dedicated() as guard, self._pool.dedicated() as connection:
            await SpaceIndexes(guard, connection, space.id).drop()

    async def _find_outdated(self, space: StoredSpace) -> Outdated:
        async with self._pool.transaction(ADMIN) as connection:
            return await find_outdated(connection, space.id, self._limits)

    async def give_up(self, space: StoredSpace) -> None:
        """From now on the space cannot be filled, indexed, activated or rolled back to. Conflict
        when it is active, or when it was given up and has been opened again since.
        """
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_LOCK)
            current = await _lock_existing(connection, space)
            if space.is_given_up and not current.is_given_up:
                raise Conflict(
                    f"the space {space.space.name} is in use again",
                    remedy="See `recollect reembed --status`; `recollect reembed --cancel` cancels"
                    " the re-embedding.",
                )
            if current.state == "active":
                raise Conflict(
                    f"{space.space.name} is the space that recall asks",
                    remedy="Activate another model first (`recollect reembed --model …`).",
                )
            await connection.execute(_GIVE_UP, (space.id,))

    async def remove_some(self, space: StoredSpace) -> int | None:
        """Remove a part of a space that was given up. How many rows; 0 when all that are left are
        locked. None when nothing is left, not even its row, or when it was opened again meanwhile.
        """
        async with self._pool.transaction(WORKER) as connection:
            current = await _lock(connection, space)
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
    """What `ACTIVE` found: at most one."""
    return _to_space(dict(zip(_NAMES, rows[0], strict=True))) if rows else None


async def notify(connection: Connection) -> None:
    """Notify workers, when this transaction commits, that there may be work."""
    await connection.execute(_NOTIFY, (CHANNEL,))


async def _lock(connection: Connection, space: StoredSpace) -> StoredSpace | None:
    """The space as it is now, and stays until this transaction ends."""
    cursor = await connection.execute(_LOCK_ROW, (space.id,))
    row = await cursor.fetchone()
    return None if row is None else _to_space(row)


async def _lock_existing(connection: Connection, space: StoredSpace) -> StoredSpace:
    current = await _lock(connection, space)
    if current is None:
        raise Conflict(
            f"the space {space.space.name} is no longer there",
            remedy="See `recollect status` for the spaces there are.",
        )
    return current


def _to_space(row: Mapping[str, Any]) -> StoredSpace:
    space = Space(
        model=row["model"],
        revision=row["revision"],
        dimension=row["dimension"],
        distance=row["distance"],
        query_instruction=row["query_instruction"],
        languages=frozenset(row["languages"]),
    )
    return StoredSpace(row["id"], row["embedder"], space, row["state"], row["is_former"])
