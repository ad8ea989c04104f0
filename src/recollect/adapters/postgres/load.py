"""What the whole database holds and has to do, in numbers, for whoever watches the server."""

from __future__ import annotations

from typing import Final

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.pool import Pool
from recollect.core.admin.machine import StorageSize
from recollect.core.admin.stats import Load

# Counting all rows would read them all: Postgres's own estimate costs nothing. -1 is none yet.
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

    async def size(self) -> StorageSize:
        """On a Citus cluster, that of the coordinator."""
        async with self._pool.transaction(WORKER) as connection:
            row = await (await connection.execute(_SIZE)).fetchone() or {}
        return StorageSize(row["total"], row["vectors"])
