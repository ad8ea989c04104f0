"""A cache of vectors between runs of the benchmark, by space and text.

Embedding takes most of a run's time and always gives the same vectors, so a rerun reads them from
here. Only documents are cached: queries are embedded each time, because that is timed.
"""

from __future__ import annotations

import hashlib
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from recollect.core.recall.space import Space
from recollect.ports.embedding import Embedder, Embedders
from recollect_bench.runs.before_model import BeforeModel

_TABLE: Final = """
create table if not exists vectors (
    space text not null, digest blob not null, vector blob not null, primary key (space, digest)
) without rowid
"""
_BUSY_SECONDS: Final = 60.0


class EmbeddingCache:
    """One SQLite file; several runs may share it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def read(self, space: Space, text: str) -> list[float] | None:
        row = self._connection.execute(
            "select vector from vectors where space = ? and digest = ?",
            (space.name, _digest(text)),
        ).fetchone()
        if row is None:
            return None
        vector = array("f")
        vector.frombytes(row[0])
        return vector.tolist()

    def write(self, space: Space, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        with self._connection:
            self._connection.executemany(
                "insert or replace into vectors values (?, ?, ?)",
                [
                    (space.name, _digest(text), array("f", vector).tobytes())
                    for text, vector in zip(texts, vectors, strict=True)
                ],
            )


@contextmanager
def open_cache(file: Path) -> Iterator[EmbeddingCache]:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = sqlite3.connect(file, timeout=_BUSY_SECONDS)
    try:
        connection.execute("pragma journal_mode = wal")
        connection.execute(_TABLE)
        yield EmbeddingCache(connection)
    finally:
        connection.close()


class CachedEmbedder(BeforeModel):
    """An embedder that calls its model only for documents that are new to the cache."""

    def __init__(self, model: Embedder, cache: EmbeddingCache) -> None:
        super().__init__(model)
        self._cache = cache

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        known = {text: self._cache.read(self.space, text) for text in texts}
        missing = [text for text, vector in known.items() if vector is None]
        if missing:
            vectors = await self._model.embed_documents(missing)
            self._cache.write(self.space, missing, vectors)
            known.update(zip(missing, vectors, strict=True))
        return [vector for text in texts if (vector := known[text]) is not None]


class CachedEmbedders:
    """The models of a catalogue, each behind the cache."""

    def __init__(self, models: Embedders, cache: EmbeddingCache) -> None:
        self._models = models
        self._cache = cache

    async def embedder(self, name: str) -> Embedder:
        return CachedEmbedder(await self._models.embedder(name), self._cache)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
