"""All stores on one Postgres database.

No statement is prepared, so everything works behind a transaction-pooling PgBouncer as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Self

from recollect.adapters.files.erasure_log import ErasureLogs
from recollect.adapters.postgres.access import Barrier, create_rls_roles
from recollect.adapters.postgres.curation import PostgresCuration
from recollect.adapters.postgres.graph.store import PostgresGraph
from recollect.adapters.postgres.history.changes import PostgresChanges
from recollect.adapters.postgres.history.erasure_ledger import ErasureLedger, Reapplied
from recollect.adapters.postgres.history.owner_erasure import PostgresOwnerErasure
from recollect.adapters.postgres.history.recalls import PostgresRecalls
from recollect.adapters.postgres.keys import PostgresKeys
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.memories import PostgresMemories
from recollect.adapters.postgres.migrate import migrate
from recollect.adapters.postgres.pool import Pool
from recollect.adapters.postgres.settings import PostgresLoad, PostgresSettings
from recollect.adapters.postgres.statistics import Statistics
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.admin.timeouts import Timeouts


class PostgresStore(PostgresMemories, PostgresSettings):
    """Memories and settings; its attributes are the other stores. An async context manager.

    `vectors` is None if Postgres cannot store them, and `vector_note` says why.
    """

    def __init__(
        self,
        url: str,
        *,
        connections: int = 10,
        timeouts: Timeouts | None = None,
        limits: Limits | None = None,
        erasures: ErasureLogs | None = None,
        files: Path | None = None,
        vectors: Callable[[Pool, Limits], PostgresVectors] = PostgresVectors,
    ) -> None:
        """`erasures`: where erasures and revocations are logged, in case the database is restored.
        `files`: those of the cluster, if it is our own. `vectors`: the engine that searches them.
        """
        limits = limits or Limits()
        self.pool = pool = Pool(url, connections, timeouts)
        remembered = ErasureLedger(erasures, pool, files)
        statistics = Statistics(pool, limits)
        super().__init__(pool, limits, statistics, remembered)
        self._make_vectors = vectors
        self.vectors: PostgresVectors | None = None
        self.vector_note = ""
        self.barrier = Barrier()
        self.graph: PostgresGraph
        self.changes = PostgresChanges(pool, statistics, remembered)
        self.keys = PostgresKeys(pool, remembered)
        self.recalls = PostgresRecalls(pool)
        self.curation = PostgresCuration(pool, limits)
        self.load = PostgresLoad(pool)
        erasure = partial(
            PostgresOwnerErasure, pool, remembered, files, send_changes=self._send_changes
        )
        self.eraser, self.light_eraser = erasure(), erasure(is_light=True)

    async def __aenter__(self) -> Self:
        self.vector_note = await asyncio.to_thread(migrate, self.pool.url, self.pool.timeouts)
        self.barrier = await asyncio.to_thread(create_rls_roles, self.pool.url, self.pool.timeouts)
        self.pool.roles = self.barrier.roles
        self.pool.is_distributed = self.barrier.is_distributed
        await self.pool.open()
        if not self.vector_note:
            self.vectors = self._make_vectors(self.pool, self._limits)
        self.graph = PostgresGraph(self.pool, self._limits, has_vectors=not self.vector_note)
        try:
            await self._erasures.open()
            if self.vectors is not None:
                await self.vectors.open()
        except BaseException:
            await self._erasures.close()
            await self.pool.close()
            raise
        return self

    @property
    def reapplied(self) -> Reapplied | None:
        """What was erased and revoked again, if the database is a restored backup."""
        return self._erasures.reapplied

    async def _send_changes(self) -> None:
        if self.vectors is not None:
            await self.vectors.send_changes()

    async def __aexit__(self, *_: object) -> None:
        if self.vectors is not None:
            await self.vectors.close()
        await self.graph.close()
        await self._statistics.close()
        await self._erasures.close()
        await self.pool.close()
