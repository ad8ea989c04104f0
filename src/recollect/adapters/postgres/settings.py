"""What exists once per server: runtime settings and the log of their changes, identity, load."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.distribution import LOST_NODES
from recollect.adapters.postgres.pool import Connection, Pool, retry_on_disconnect
from recollect.adapters.postgres.rows import to_setting_change
from recollect.core.admin.machine import StorageSize
from recollect.core.admin.stats import Load
from recollect.core.errors import StoreBusy
from recollect.core.recall.settings import SettingChange

# Readers are not blocked; writers queue, so that each logs the value it actually replaced.
_LOCK: Final = "lock table settings in share row exclusive mode"

# Runs before the new value is written, to log the old one.
_LOG: Final = """
insert into settings_audit (name, old_value, new_value, changed_by, changed_at)
select %(name)s, (select s.value from settings s where s.name = %(name)s), %(value)s, %(by)s, %(at)s
where not exists (select from settings s where s.name = %(name)s and s.value = %(value)s)
"""

_READ_LOG: Final = "select * from settings_audit order by number desc limit %(limit)s"

_WRITE: Final = """
insert into settings (name, value) values (%(name)s, %(value)s)
on conflict (name) do update set value = excluded.value
"""


class PostgresSettings(PostgresComponent):
    """Implements the `SettingsStore` port."""

    @retry_on_disconnect
    async def read_settings(self) -> Mapping[str, object]:
        async with self._pool.reading(WORKER) as connection:
            cursor = await connection.execute("select name, value from settings")
            return {row["name"]: row["value"] for row in await cursor.fetchall()}

    async def write_settings(self, changes: Mapping[str, object], *, by: str, at: datetime) -> None:
        rows = [
            {"name": name, "value": Jsonb(value), "by": by, "at": at}
            for name, value in changes.items()
        ]
        async with self._pool.transaction(WORKER) as connection, connection.cursor() as cursor:
            await cursor.execute(_LOCK)
            await cursor.executemany(_LOG, rows)
            await cursor.executemany(_WRITE, rows)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        async with self._pool.reading(WORKER) as connection:
            cursor = await connection.execute(_READ_LOG, {"limit": limit})
            return [to_setting_change(row) for row in await cursor.fetchall()]


# The id of the server and of its epoch: a restored backup begins a new epoch.

# Where the table is: a restored one has another database, id or transaction. And the timeline: a
# recovered physical backup, or a promoted replica that may lack the last writes, differs in nothing
# else.
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
    """Return the id of the server and of its epoch."""
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


# How much the database contains and has to do, for monitoring.

# Counting reads all rows; Postgres's own estimate costs nothing. -1 means no estimate yet.
_MEMORIES: Final = """
select greatest(reltuples, 0)::bigint as memories from pg_class where oid = 'memories'::regclass
"""
_EMBEDDINGS: Final = """
select count(*) filter (where due_at < 'infinity') as waiting,
    count(*) filter (where due_at = 'infinity') as parked
from embeddings where vector is null and space_id in (
    select id from spaces where state <> 'retired')
"""
_OUTBOX: Final = "select count(*) as waiting from vector_outbox"
_EXTRACTIONS: Final = """
select count(*) filter (where due_at < 'infinity') as waiting,
    count(*) filter (where due_at = 'infinity') as parked
from extractions where extracted_by = 0
"""
_SIZE: Final = """
select pg_database_size(current_database()) as total,
    coalesce(pg_total_relation_size(to_regclass('embeddings')), 0) as vectors
"""


class PostgresLoad:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(self, *, has_vectors: bool) -> Load:
        async with self._pool.transaction(WORKER) as connection:
            memories = await (await connection.execute(_MEMORIES)).fetchone() or {}
            graph = await (await connection.execute(_EXTRACTIONS)).fetchone() or {}
            queues = {"graph": (graph["waiting"], graph["parked"])}
            if has_vectors:
                rows = await (await connection.execute(_EMBEDDINGS)).fetchone() or {}
                queues["embedding"] = (rows["waiting"], rows["parked"])
                rows = await (await connection.execute(_OUTBOX)).fetchone() or {}
                queues["outbox"] = (rows["waiting"], 0)
        return Load(memories["memories"], queues, self._pool.in_use, self._pool.idle)

    async def find_lost_nodes(self) -> list[str]:
        """Return the nodes of a Citus cluster that do not answer."""
        if not self._pool.is_distributed:
            return []
        async with self._pool.reading(WORKER) as connection:
            cursor = await connection.execute(LOST_NODES)
            return [row["node"] for row in await cursor.fetchall()]

    async def size(self) -> StorageSize:
        """Return the size of the database; on a Citus cluster, that of the coordinator."""
        async with self._pool.transaction(WORKER) as connection:
            row = await (await connection.execute(_SIZE)).fetchone() or {}
        return StorageSize(row["total"], row["vectors"])
