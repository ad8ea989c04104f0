"""Which server this database is, and since when: a restored backup begins another epoch."""

from __future__ import annotations

from typing import Final
from uuid import UUID, uuid4

from recollect.adapters.postgres.pool import Connection
from recollect.core.errors import StoreBusy

# Where the table is: a restored one is of another database, another id or another transaction; and
# on which timeline, because a physical backup that is recovered, or a replica that takes over and
# may lack the last writes, differs in nothing else.
_PLACE: Final = """
select concat_ws('.', d.oid, a.attrelid, a.xmin,
    substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)) as place
from pg_database d, pg_attribute a
where d.datname = current_database() and a.attrelid = 'changes'::regclass
    and a.attname = 'memory_id'
"""
_IDENTITY: Final = "select id, epoch, place from sync_server"
_BEGIN_EPOCH: Final = """
insert into sync_server (id, epoch, place) values (%(id)s, %(epoch)s, %(place)s)
on conflict (single) do update set epoch = excluded.epoch, place = excluded.place
where sync_server.place <> excluded.place
"""
_NEW_EPOCH: Final = "update sync_server set epoch = %s"


async def read_identity(connection: Connection) -> tuple[UUID, UUID]:
    """The id of the server and of its epoch."""
    here = (await (await connection.execute(_PLACE)).fetchone() or {})["place"]
    cursor = await connection.execute(_IDENTITY)
    row = await cursor.fetchone()
    if row is None or row["place"] != here:
        params = {"id": uuid4(), "epoch": uuid4(), "place": here}
        await connection.execute(_BEGIN_EPOCH, params)
        cursor = await connection.execute(_IDENTITY)
        row = await cursor.fetchone()
    if row is None:
        raise StoreBusy("the server has no identity yet", remedy="Try again.")
    return row["id"], row["epoch"]


async def begin_epoch(connection: Connection) -> None:
    await connection.execute(_NEW_EPOCH, (uuid4(),))
