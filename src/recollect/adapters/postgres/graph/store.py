"""The concept graph in Postgres: what recall walks, what workers fill, what people see and mend.

Every method is made of transactions on the store's pool, and nothing outlives one, so all of it
works behind a transaction-pooling PgBouncer. Listening has a connection of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from recollect.adapters.postgres.graph import merge_split as graph_mend
from recollect.adapters.postgres.graph import paths as graph_paths
from recollect.adapters.postgres.graph import queue as graph_queue
from recollect.adapters.postgres.graph import read as graph_read
from recollect.adapters.postgres.graph import vectors as graph_vectors
from recollect.adapters.postgres.graph import view as graph_see
from recollect.adapters.postgres.graph import write as graph_write
from recollect.adapters.postgres.listener import Listener
from recollect.adapters.postgres.retry import retry_on_disconnect
from recollect.adapters.postgres.vectors import spaces
from recollect.adapters.postgres.vectors.index import Transaction
from recollect.core.graph.extraction import Extraction, ExtractionJob
from recollect.core.graph.model import (
    Concept,
    ExtractionProgress,
    GraphPath,
    GraphSnapshot,
    GraphStats,
    Neighbourhood,
)
from recollect.core.graph.resolution import Neighbour, PendingConcept
from recollect.core.recall.space import StoredSpace


class PostgresGraph:
    """The ports of `ports/graph.py` on one database; opened and closed by its store."""

    def __init__(
        self,
        url: str,
        transaction: Transaction,
        reading: Transaction,
        *,
        lease: float,
        has_vectors: bool,
    ) -> None:
        self._transaction = transaction
        self._reading = reading
        self._lease = lease
        self._has_vectors = has_vectors
        self._doorbell = Listener(url, graph_queue.CHANNEL)

    async def close(self) -> None:
        await self._doorbell.close()

    @retry_on_disconnect
    async def version(self, owner: str) -> int:
        async with self._reading() as connection:
            return await graph_read.version(connection, owner)

    @retry_on_disconnect
    async def snapshot(self, owner: str, as_of: datetime | None = None) -> GraphSnapshot:
        async with self._transaction() as connection:
            return await graph_read.snapshot(connection, owner, as_of)

    @retry_on_disconnect
    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]:
        async with self._reading() as connection:
            return await graph_read.named(connection, owner, keys)

    @retry_on_disconnect
    async def written(self, owner: str, keys: Collection[str]) -> dict[str, tuple[UUID, str]]:
        async with self._reading() as connection:
            return await graph_read.written(connection, owner, keys)

    @retry_on_disconnect
    async def paths(
        self, owner: str, from_ids: Collection[UUID], memory_id: UUID
    ) -> list[GraphPath]:
        async with self._transaction() as connection:
            return await graph_paths.to_memory(connection, owner, from_ids, memory_id)

    async def claim(self, below: int, limit: int) -> list[ExtractionJob]:
        async with self._transaction() as connection:
            return await graph_queue.claim(connection, below, limit, self._lease)

    async def present(self, owner: str, ids: Collection[UUID]) -> list[ExtractionJob]:
        async with self._transaction() as connection:
            return await graph_queue.present(connection, owner, ids)

    async def finish(self, done: Sequence[tuple[ExtractionJob, Extraction]], by: int) -> int:
        kept = 0
        for owner in sorted({job.owner for job, _ in done}):
            theirs = [one for one in done if one[0].owner == owner]
            async with self._transaction() as connection:
                kept += await graph_write.write(connection, owner, theirs, by)
        return kept

    async def fail(self, jobs: Sequence[ExtractionJob], error: str) -> None:
        async with self._transaction() as connection:
            await graph_queue.fail(connection, jobs, error)

    async def give_back(self, jobs: Sequence[ExtractionJob]) -> None:
        async with self._transaction() as connection:
            await graph_queue.give_back(connection, jobs)

    async def retry_parked(self) -> int:
        async with self._transaction() as connection:
            return await graph_queue.retry_parked(connection)

    async def read_again(self, most: int) -> int:
        async with self._transaction() as connection:
            return await graph_queue.read_again(connection, most)

    async def progress(self, below: int, owner: str | None = None) -> ExtractionProgress:
        async with self._transaction() as connection:
            return await graph_queue.progress(connection, below, owner)

    async def wait_for_work(self, seconds: float) -> None:
        await self._doorbell.wait(seconds)

    async def spend(self, most: int) -> bool:
        async with self._transaction() as connection:
            return await graph_queue.spend(connection, most)

    async def spent(self, tokens: int) -> None:
        async with self._transaction() as connection:
            await graph_queue.spent(connection, tokens)

    async def answers(self, owner: str, by: str, tickets: Sequence[str]) -> dict[str, object]:
        async with self._transaction() as connection:
            return await graph_queue.answers(connection, owner, by, tickets)

    async def keep_answer(self, job: ExtractionJob, by: str, answer: object) -> None:
        async with self._transaction() as connection:
            await graph_queue.keep_answer(connection, job, by, answer)

    async def comparing_space(self) -> StoredSpace | None:
        """Where names are compared: the space that recall asks, where there are vectors."""
        if not self._has_vectors:
            return None
        async with self._transaction() as connection:
            return await spaces.active(connection)

    async def to_compare(self, space: StoredSpace, limit: int) -> list[PendingConcept]:
        async with self._transaction() as connection:
            return await graph_vectors.waiting(connection, space, limit)

    async def keep_vectors(
        self, space: StoredSpace, named: Sequence[tuple[UUID, Sequence[float]]]
    ) -> None:
        async with self._transaction() as connection:
            await graph_vectors.open_space(connection, space)
            await graph_vectors.keep(connection, space, named)

    async def nearest(
        self,
        space: StoredSpace,
        named: Sequence[tuple[PendingConcept, Sequence[float]]],
        *,
        least: float,
        limit: int,
    ) -> list[list[Neighbour]]:
        async with self._transaction() as connection:
            return await graph_vectors.nearest(connection, space, named, least=least, limit=limit)

    async def save_neighbours(
        self, space: StoredSpace, near: Sequence[tuple[PendingConcept, Sequence[Neighbour]]]
    ) -> None:
        for owner in sorted({one.owner for one, _ in near}):
            theirs = [pair for pair in near if pair[0].owner == owner]
            async with self._transaction() as connection:
                await graph_vectors.save_neighbours(connection, space, owner, theirs)

    async def merge(self, owner: str, into: UUID, gone: UUID, *, by_hand: bool) -> bool:
        async with self._transaction() as connection:
            return await graph_mend.merge(connection, owner, into, gone, by_hand=by_hand)

    async def split(self, owner: str, concept: UUID, key: str, name: str) -> UUID:
        async with self._transaction() as connection:
            return await graph_mend.split(connection, owner, concept, key, name)

    async def concepts(self, owner: str, ids: Collection[UUID]) -> list[Concept]:
        async with self._transaction() as connection:
            return await graph_mend.concepts(connection, owner, ids)

    async def neighbourhood(
        self,
        owner: str,
        id: UUID,
        limit: int,
        as_of: datetime | None = None,
        *,
        history: bool = False,
    ) -> Neighbourhood | None:
        async with self._transaction() as connection:
            return await graph_see.neighbourhood(
                connection, owner, id, limit, as_of, history=history
            )

    async def path(
        self, owner: str, source: UUID, target: UUID, as_of: datetime | None = None
    ) -> GraphPath | None:
        async with self._transaction() as connection:
            return await graph_paths.between(connection, owner, source, target, as_of)

    async def stats(self, owner: str) -> GraphStats:
        async with self._transaction() as connection:
            return await graph_see.stats(connection, owner)
