"""The vectors in Postgres: search, spaces, and the queue of memories to embed."""

from __future__ import annotations

from recollect.adapters.postgres.vectors.queue import EmbeddingQueue
from recollect.adapters.postgres.vectors.search import VectorSearch
from recollect.adapters.postgres.vectors.spaces import SpaceStore


class PostgresVectors(EmbeddingQueue, SpaceStore, VectorSearch):
    """The ports `VectorIndex` and `EmbeddingQueue`; opened and closed by its store."""

    async def open(self) -> None:
        """Do nothing: the vectors are searched where they are stored."""

    async def send_changes(self) -> None:
        """Do nothing: there is no other copy of the vectors."""
