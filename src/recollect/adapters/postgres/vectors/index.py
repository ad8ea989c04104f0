"""Vectors in Postgres: the index that recall asks and the queue that workers empty.

Every method is made of transactions on the store's pool, or of statements that read, and nothing
outlives them, so all of it works behind a transaction-pooling PgBouncer. Listening and building an
index have connections of their own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row

from recollect.adapters.postgres import timeouts as patience
from recollect.adapters.postgres.errors import translated
from recollect.adapters.postgres.listener import Listener
from recollect.adapters.postgres.retry import retry_on_disconnect
from recollect.adapters.postgres.rows import within
from recollect.adapters.postgres.vectors import hnsw as space_index
from recollect.adapters.postgres.vectors import queue as embedding_queue
from recollect.adapters.postgres.vectors import search as vector_search
from recollect.adapters.postgres.vectors import spaces
from recollect.adapters.postgres.vectors import sweep as embedding_sweep
from recollect.adapters.postgres.vectors.parked import parked
from recollect.core.memory.memory import Scope
from recollect.core.recall.request import Candidate
from recollect.core.recall.space import (
    EmbeddingJob,
    EmbeddingProgress,
    Gap,
    Space,
    StoredSpace,
    Survey,
)
from recollect.ports.recall import VectorQuery

LEASE: Final = 60.0
"""Seconds a worker may take for what it claimed before others may take it."""

# Seconds; whoever edits memories is soon done.
_LOOKS_AGAIN: Final = 0.2

Transaction = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]


class PostgresVectors:
    """The ports VectorIndex and EmbeddingQueue on one database; opened and closed by its store."""

    def __init__(
        self,
        url: str,
        transaction: Transaction,
        reading: Transaction,
        *,
        lease: float = LEASE,
    ) -> None:
        self._url = url
        self._transaction = transaction
        self._reading = reading
        self._lease = lease
        self._doorbell = Listener(url, spaces.CHANNEL)

    async def close(self) -> None:
        await self._doorbell.close()

    @retry_on_disconnect
    async def survey(self, owner: str, scope: Scope) -> Survey:
        condition, params = within(owner, scope)
        async with self._reading() as connection:
            return await vector_search.survey(connection, condition, params)

    @retry_on_disconnect
    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        condition, params = within(owner, scope, query.exclude)
        async with self._reading() as connection:
            return await vector_search.nearest(connection, query, condition, params)

    async def parked(self, owner: str, id: UUID) -> str | None:
        """With what a memory's text failed too often to be embedded; None when it did not."""
        async with self._reading() as connection:
            return await parked(connection, owner, id)

    async def spaces(self) -> list[StoredSpace]:
        async with self._transaction() as connection:
            return await spaces.all_spaces(connection)

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        async with self._transaction() as connection:
            return await spaces.open_space(connection, embedder, space)

    async def claim(self, space: StoredSpace, limit: int) -> list[EmbeddingJob]:
        while True:
            async with self._transaction() as connection:
                jobs = await embedding_queue.claim(connection, space, limit, self._lease)
            if jobs:
                return jobs
            async with self._transaction() as connection:
                if not await embedding_sweep.sweep(connection, space):
                    return []

    async def finish(
        self, space: StoredSpace, done: Sequence[tuple[EmbeddingJob, Sequence[float]]]
    ) -> int:
        async with self._transaction() as connection:
            return await embedding_queue.finish(connection, space, done)

    async def unchanged(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob]
    ) -> list[EmbeddingJob]:
        async with self._transaction() as connection:
            return await embedding_queue.unchanged(connection, space, jobs)

    async def fail(self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str) -> None:
        async with self._transaction() as connection:
            await embedding_queue.fail(connection, space, jobs, error)

    async def give_back(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str | None = None
    ) -> None:
        async with self._transaction() as connection:
            await embedding_queue.give_back(connection, space, jobs, error)
            if jobs and error is None:  # where the model is at fault, others would fail too
                await spaces.ring(connection)

    async def recovered(self, space: StoredSpace) -> None:
        async with self._transaction() as connection:
            await embedding_queue.recovered(connection, space)

    async def retry_parked(self, space: StoredSpace) -> int:
        async with self._transaction() as connection:
            retried = await embedding_queue.retry_parked(connection, space)
            await spaces.ring(connection)
        return retried

    async def progress(self, space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
        async with self._transaction() as connection:
            return await embedding_queue.progress(connection, space, owner)

    async def wait_for_work(self, seconds: float) -> None:
        await self._doorbell.wait(seconds)

    async def build_index(self, space: StoredSpace) -> None:
        with translated():
            async with await self._connect() as guard, await self._connect() as connection:
                await space_index.build_index(guard, connection, space)

    async def drop_index(self, space: StoredSpace) -> None:
        """Make a space quick to fill with very much; `build_index` makes it quick to ask again."""
        with translated():
            async with await self._connect() as guard, await self._connect() as connection:
                await space_index.drop_index(guard, connection, space)

    async def gap(self, space: StoredSpace) -> Gap:
        async with self._transaction() as connection:
            return await spaces.gap(connection, space)

    async def activate(self, space: StoredSpace) -> None:
        async with self._transaction() as connection:
            await spaces.activate(connection, space)

    async def retire(self, space: StoredSpace) -> None:
        async with self._transaction() as connection:
            await spaces.retire(connection, space)

    async def drop_space(self, space: StoredSpace) -> None:
        async with self._transaction() as connection:
            await spaces.retire_for_good(connection, space)
        await self.drop_index(space)
        while (removed := await self._remove_some(space)) is not None:
            if not removed:
                await asyncio.sleep(_LOOKS_AGAIN)

    async def _remove_some(self, space: StoredSpace) -> int | None:
        async with self._transaction() as connection:
            return await spaces.remove_some(connection, space)

    async def _connect(self) -> AsyncConnection[DictRow]:
        return await AsyncConnection.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=patience.CONNECT_SECONDS,
            row_factory=dict_row,
        )
