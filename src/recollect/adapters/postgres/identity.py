"""Which server this database is, and since when: a restored backup begins another epoch."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from recollect.adapters.postgres.pool import Connection
from recollect.core.errors import StoreBusy

# Where the table is: a restored one is of another database, another id or another transaction.
_PLACE: Final = """
(select concat_ws('.', d.oid, a.attrelid, a.xmin) from pg_database d, pg_attribute a
where d.datname = current_database() and a.attrelid = 'changes'::regclass
    and a.attname = 'memory_id')
"""
_IDENTITY: Final = f"select id, epoch, place, {_PLACE} as here from sync_server"  # noqa: S608  # constants
_BEGIN_EPOCH: Final = f"""
insert into sync_server (id, place) values (gen_random_uuid(), {_PLACE})
on conflict (single) do update set epoch = gen_random_uuid(), place = excluded.place
where sync_server.place <> excluded.place
"""  # noqa: S608  # composed of constants
NEW_EPOCH: Final = "update sync_server set epoch = gen_random_uuid()"


async def read_identity(connection: Connection) -> tuple[UUID, UUID]:
    """The id of the server and of its epoch."""
    cursor = await connection.execute(_IDENTITY)
    row = await cursor.fetchone()
    if row is None or row["place"] != row["here"]:
        await connection.execute(_BEGIN_EPOCH)
        cursor = await connection.execute(_IDENTITY)
        row = await cursor.fetchone()
    if row is None:
        raise StoreBusy("the server has no identity yet", remedy="Try again.")
    return row["id"], row["epoch"]
