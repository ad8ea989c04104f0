"""The spaces of a database: opened, switched, dropped.

A space's vectors share one table with those of other spaces, and each space has an HNSW index of
its own at its own dimension. A new model can so fill a space while the old one serves; switching is
the change of two rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from psycopg import AsyncConnection

from recollect.adapters.postgres.pipeline import ask
from recollect.adapters.postgres.vectors.hnsw import create_index
from recollect.core.errors import Conflict, InvalidInput
from recollect.core.recall.space import Gap, Space, StoredSpace

Connection = AsyncConnection[Any]

CHANNEL: Final = "recollect_embeddings"
"""Where Postgres tells workers that there may be work; the triggers use the same name."""

MAX_DIMENSION: Final = 4_000
"""The most that pgvector indexes as halfvec."""

_DROP_BATCH: Final = 5_000

# Any fixed number: whoever holds it is the one that opens or switches spaces.
_LOCK: Final = 7_305_201_845
_ALONE = "select pg_advisory_xact_lock(%s)"
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
insert into spaces (embedder, model, revision, dimension, distance, query_instruction, state)
select %(embedder)s, %(model)s, %(revision)s, %(dimension)s, %(distance)s, %(query_instruction)s,
    case when exists (select from spaces where state = 'active') then 'filling' else 'active' end
returning {_COLUMNS}, not exists (select from spaces) as is_first
"""  # noqa: S608  # composed of constants
# While it was retired nobody kept it, so every memory must be looked at again.
_WAKE = """
update spaces set state = 'filling', opened_in = pg_current_xact_id(),
    swept_to = '00000000-0000-0000-0000-000000000000'
where id = %s and state = 'retired'
"""
_REOPEN = f"""
update spaces set embedder = %(embedder)s, query_instruction = %(query_instruction)s,
    state = case when exists (select from spaces where state = 'active') then state
        else 'active' end
where id = %(id)s
returning {_COLUMNS}
"""  # noqa: S608  # composed of constants
_HOLD = f"select {_COLUMNS} from spaces where id = %s for update"  # noqa: S608  # composed of constants
_GIVE_UP_FORMER = "update spaces set is_former = false where is_former"
_RETIRE_ACTIVE = "update spaces set state = 'retired', is_former = true where state = 'active'"
_ACTIVATE = "update spaces set state = 'active' where id = %s"
_RETIRE = "update spaces set state = 'retired' where id = %s and state = 'filling' and is_former"
_GIVE_UP = "update spaces set state = 'retired', is_former = false where id = %s"
# Whoever edits memories holds some of these rows and may want others of them: nobody is waited for.
_DROP_SOME = """
with part as materialized (
    select memory_id from embeddings where space_id = %(space)s limit %(limit)s
    for update skip locked
)
delete from embeddings e using part
where e.space_id = %(space)s and e.memory_id = part.memory_id
"""
_HAS_ROWS = "select from embeddings where space_id = %s limit 1"
_GAP = """
select count(*) as missing,
    count(*) filter (where e.last_error is not null or e.due_at = 'infinity') as failed
from spaces s
join embeddings known on known.space_id = s.id and known.vector is not null
left join embeddings e on e.memory_id = known.memory_id and e.space_id = %(space)s
where s.state = 'active' and e.vector is null
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
        await connection.execute(create_index(opened, concurrently=False))
    await ring(connection)
    return opened


async def activate(connection: Connection, space: StoredSpace) -> None:
    await connection.execute(_ALONE, (_LOCK,))
    state = (await _held(connection, space)).state
    if state == "active":  # by somebody else: the one before it is the former one already
        return
    if state == "retired":  # its vectors may be going away already
        raise Conflict(
            f"the space {space.space.name} was given up meanwhile",
            remedy="Run `recollect reembed` again: it opens the space anew and fills it.",
        )
    await connection.execute(_GIVE_UP_FORMER)
    await connection.execute(_RETIRE_ACTIVE)
    await connection.execute(_ACTIVATE, (space.id,))
    await ring(connection)


async def retire(connection: Connection, space: StoredSpace) -> None:
    await connection.execute(_ALONE, (_LOCK,))
    await connection.execute(_RETIRE, (space.id,))


async def retire_for_good(connection: Connection, space: StoredSpace) -> None:
    """Let nobody fill the space, give it an index, switch or go back to it any more. Conflict when
    it is active, or was seen given up and is no longer.
    """
    await connection.execute(_ALONE, (_LOCK,))
    held = await _held(connection, space)
    if space.is_given_up and not held.is_given_up:
        raise Conflict(
            f"the space {space.space.name} is in use again",
            remedy="See `recollect reembed --status`; `recollect reembed --cancel` gives up what "
            "is being filled.",
        )
    if held.state == "active":
        raise Conflict(
            f"{space.space.name} is the space that recall asks",
            remedy="Make another model the active one first (`recollect reembed --model …`).",
        )
    await connection.execute(_GIVE_UP, (space.id,))


async def remove_some(connection: Connection, space: StoredSpace) -> int | None:
    """Remove a part of a space that was given up, and say how many rows, 0 when others hold those
    that are left. None when nothing of it is there, not even its row, or when somebody opened it
    again meanwhile.
    """
    held = await _hold(connection, space)
    if held is None or not held.is_given_up:
        return None
    cursor = await connection.execute(_DROP_SOME, {"space": space.id, "limit": _DROP_BATCH})
    if cursor.rowcount:
        return cursor.rowcount
    cursor = await connection.execute(_HAS_ROWS, (space.id,))
    if await cursor.fetchone() is not None:
        return 0
    await connection.execute("delete from spaces where id = %s", (space.id,))
    return None


async def gap(connection: Connection, space: StoredSpace) -> Gap:
    cursor = await connection.execute(_GAP, {"space": space.id})
    row = await cursor.fetchone() or {}
    return Gap(row["missing"], row["failed"])


async def ring(connection: Connection) -> None:
    """Tell workers, when this transaction commits, that there may be work."""
    await connection.execute(_RING, (CHANNEL,))


async def _hold(connection: Connection, space: StoredSpace) -> StoredSpace | None:
    """The space as it stands now, and until this transaction ends."""
    cursor = await connection.execute(_HOLD, (space.id,))
    row = await cursor.fetchone()
    return None if row is None else _stored(row)


async def _held(connection: Connection, space: StoredSpace) -> StoredSpace:
    held = await _hold(connection, space)
    if held is None:
        raise Conflict(
            f"the space {space.space.name} is no longer there",
            remedy="See `recollect status` for the spaces there are.",
        )
    return held


def _stored(row: Mapping[str, Any]) -> StoredSpace:
    space = Space(
        model=row["model"],
        revision=row["revision"],
        dimension=row["dimension"],
        distance=row["distance"],
        query_instruction=row["query_instruction"],
    )
    return StoredSpace(row["id"], row["embedder"], space, row["state"], row["is_former"])
