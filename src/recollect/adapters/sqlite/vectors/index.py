"""The vectors in the local store: search, spaces, and the queue of memories to embed."""

from __future__ import annotations

from recollect.adapters.sqlite.vectors.queue import EmbeddingQueue
from recollect.adapters.sqlite.vectors.search import VectorSearch
from recollect.adapters.sqlite.vectors.spaces import SpaceStore


class SqliteVectors(EmbeddingQueue, SpaceStore, VectorSearch):
    """The ports `VectorIndex` and `EmbeddingQueue`; opened and closed by its store."""
