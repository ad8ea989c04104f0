"""The spaces of a database: opened, given an index, switched, dropped.

A space's vectors share one table with those of other spaces, and each space has an HNSW index of
its own at its own dimension. A new model can so fill a space while the old one serves; switching is
the change of two rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg import AsyncConnection, errors, sql

from recollect.adapters.postgres.asking import ask
from recollect.core.errors import Conflict, InvalidInput
from recollect.core.space import Space, StoredSpace

Connection = AsyncConnection[Any]

CHANNEL: Final = "recollect_embeddings"
"""Where Postgres tells workers that there may be work; the triggers use the same name."""

MAX_DIMENSION: Final = 4_000
"""The most that pgvector indexes as halfvec."""

_DROP_BATCH: Final = 5_000

# Any fixed number: whoever holds it is the one that opens or switches spaces.
_LOCK: Final = 7_305_201_845
_ALONE = "select pg_advisory_xact_lock(%s)"
_BUILD_LOCK: Final = 7_305
_BUILDER_LOOKS_AGAIN: Final = 0.5
_TRY_ALONE = "select pg_try_advisory_xact_lock({}, {}) as is_mine"
_RING = "select pg_notify(%s, '')"

_NAMES: Final = (
    "id",
    "embedder",
    "model",
    "revision",
    "dimension",
    "distance",
    "query_instruction",
    "state",
)
_COLUMNS = sql.SQL(", ").join(map(sql.Identifier, _NAMES))
_SPACES = sql.SQL("select {} from spaces order by id").format(_COLUMNS)
ACTIVE: Final = sql.SQL("select {} from spaces where state = 'active'").format(_COLUMNS)
_FIND = """
select id from spaces
where model = %(model)s and revision = %(revision)s and dimension = %(dimension)s
    and distance = %(distance)s
"""
_OPEN = sql.SQL("""
insert into spaces (embedder, model, revision, dimension, distance, query_instruction, state)
select %(embedder)s, %(model)s, %(revision)s, %(dimension)s, %(distance)s, %(query_instruction)s,
    case when exists (select from spaces where state = 'active') then 'filling' else 'active' end
returning {}, not exists (select from spaces) as is_first
""").format(_COLUMNS)
# While it was retired nobody kept it, so every memory must be looked at again.
_WAKE = """
update spaces set state = 'filling', opened_in = pg_current_xact_id(),
    swept_to = '00000000-0000-0000-0000-000000000000'
where id = %s and state = 'retired'
"""
_REOPEN = sql.SQL("""
update spaces set embedder = %(embedder)s, query_instruction = %(query_instruction)s,
    state = case when exists (select from spaces where state = 'active') then state
        else 'active' end
where id = %(id)s
returning {}
""").format(_COLUMNS)
_STATE = "select state from spaces where id = %s for update"
_RETIRE = "update spaces set state = 'retired' where state = 'active' and id <> %s"
_ACTIVATE = "update spaces set state = 'active' where id = %s"
_DROP_SOME = """
delete from embeddings e using (
    select memory_id, space_id from embeddings where space_id = %s limit %s
) part
where e.memory_id = part.memory_id and e.space_id = part.space_id
"""

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


async def all_spaces(connection: Connection) -> list[StoredSpace]:
    cursor = await connection.execute(_SPACES)
    return [_stored(row) for row in await cursor.fetchall()]


async def active(connection: Connection) -> StoredSpace | None:
    (found,) = await ask(connection, {}, ACTIVE)
    return the_active(found)


def the_active(found: Sequence[Sequence[Any]]) -> StoredSpace | None:
    """What `ACTIVE` found: at most one."""
    return _stored(dict(zip(_NAMES, found[0], strict=True))) if found else None


async def open_space(connection: Connection, embedder: str, space: Space) -> StoredSpace:
    """The space of these vectors. The first space of a database gets its index at once, while that
    costs nothing.
    """
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
    }
    await connection.execute(_ALONE, (_LOCK,))
    cursor = await connection.execute(_FIND, params)
    found = await cursor.fetchone()
    if found is not None:
        await connection.execute(_WAKE, (found["id"],))
        cursor = await connection.execute(_REOPEN, {**params, "id": found["id"]})
    else:
        cursor = await connection.execute(_OPEN, params)
    row: Mapping[str, Any] = await cursor.fetchone() or {}
    opened = _stored(row)
    if row.get("is_first"):
        await connection.execute(_index(opened, concurrently=False))
    await ring(connection)
    return opened


async def activate(connection: Connection, space: StoredSpace) -> None:
    await connection.execute(_ALONE, (_LOCK,))
    if await _state(connection, space) == "retired":  # its vectors may be going away already
        raise Conflict(
            f"the space {space.space.name} was given up meanwhile",
            remedy="Run `recollect reembed` again: it opens the space anew and fills it.",
        )
    await connection.execute(_RETIRE, (space.id,))
    await connection.execute(_ACTIVATE, (space.id,))
    await ring(connection)


async def retire_for_good(connection: Connection, space: StoredSpace) -> None:
    """Let nobody fill the space, give it an index or switch to it any more."""
    await connection.execute(_ALONE, (_LOCK,))
    if await _state(connection, space) == "active":
        raise Conflict(
            f"{space.space.name} is the space that recall asks",
            remedy="Make another model the active one first (`recollect reembed --model …`).",
        )
    await connection.execute("update spaces set state = 'retired' where id = %s", (space.id,))


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


async def remove_some(connection: Connection, space: StoredSpace) -> bool:
    """Remove a part of a retired space; False when nothing of it is left, not even its row, or when
    somebody opened it again meanwhile.
    """
    if await _state(connection, space) != "retired":
        return False
    cursor = await connection.execute(_DROP_SOME, (space.id, _DROP_BATCH))
    if cursor.rowcount:
        return True
    await connection.execute("delete from spaces where id = %s", (space.id,))
    return False


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
                    await _create_index(connection, space)
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


async def _create_index(connection: Connection, space: StoredSpace) -> None:
    try:
        await connection.execute(_index(space, concurrently=True))
    except (errors.DiskFull, errors.OutOfMemory):
        # A container's shared memory may be smaller still. What failed left an unfinished index.
        await connection.execute("reset maintenance_work_mem")
        await connection.execute(_drop_index(space))
        await connection.execute(_index(space, concurrently=True))


async def ring(connection: Connection) -> None:
    """Tell workers, when this transaction commits, that there may be work."""
    await connection.execute(_RING, (CHANNEL,))


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


async def _state(connection: Connection, space: StoredSpace) -> str:
    cursor = await connection.execute(_STATE, (space.id,))
    row = await cursor.fetchone()
    if row is None:
        raise Conflict(
            f"the space {space.space.name} is no longer there",
            remedy="See `recollect status` for the spaces there are.",
        )
    return str(row["state"])


def _index_name(space: StoredSpace) -> sql.Identifier:
    return sql.Identifier(f"embeddings_space_{space.id}")


def _drop_index(space: StoredSpace) -> sql.Composed:
    return sql.SQL("drop index concurrently if exists {}").format(_index_name(space))


def _index(space: StoredSpace, *, concurrently: bool) -> sql.Composed:
    return sql.SQL(_INDEX).format(
        concurrently=sql.SQL("concurrently" if concurrently else ""),
        name=_index_name(space),
        dimension=sql.Literal(space.space.dimension),
        id=sql.Literal(space.id),
    )


def _stored(row: Mapping[str, Any]) -> StoredSpace:
    space = Space(
        model=row["model"],
        revision=row["revision"],
        dimension=row["dimension"],
        distance=row["distance"],
        query_instruction=row["query_instruction"],
    )
    return StoredSpace(row["id"], row["embedder"], space, row["state"])
