"""Stores that hold vectors and the graph, and helpers for tests of these."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self, overload
from uuid import UUID

from tests.conformance.samples import OWNER

from recollect.adapters.postgres.access import ADMIN
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.adapters.qdrant.engine import Qdrant
from recollect.adapters.qdrant.vectors import QdrantVectors
from recollect.adapters.sqlite.store import SqliteStore
from recollect.adapters.sqlite.vectors.queue import SqliteVectors
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.space import EmbeddingJob, Space, StoredSpace
from recollect.ports.recall import VectorQuery

Place = str | Path
"""Where a store is: the URL of a Postgres, or a file of SQLite."""


class QdrantPlace(str):  # noqa: SLOT000  # it has an attribute
    """A Postgres whose vectors are searched by a Qdrant."""

    engine: Qdrant

    def __new__(cls, url: str, engine: Qdrant) -> Self:
        place = super().__new__(cls, url)
        place.engine = engine
        return place


FullStore = PostgresStore | SqliteStore
Vectors = PostgresVectors | SqliteVectors

SPACE = Space("compass", "1", 2)
NORTH, EAST, SOUTH = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]


def open_store(place: Place, **options: Any) -> FullStore:
    if isinstance(place, Path):
        return SqliteStore(place, **options)
    if isinstance(place, QdrantPlace):
        options["vectors"] = partial(QdrantVectors, engine=place.engine)
    return PostgresStore(place, **options)


@overload
def opened(
    place: str, **options: Any
) -> AbstractAsyncContextManager[tuple[PostgresStore, PostgresVectors]]: ...


@overload
def opened(place: Place, **options: Any) -> AbstractAsyncContextManager[tuple[Any, Any]]: ...


def opened(place: Place, **options: Any) -> AbstractAsyncContextManager[tuple[Any, Any]]:
    """Open a store and its vectors."""
    return _opened(place, **options)


@asynccontextmanager
async def _opened(place: Place, **options: Any) -> AsyncIterator[tuple[Any, Any]]:
    async with open_store(place, **options) as store:
        assert store.vectors is not None
        yield store, store.vectors


async def embed_all(vectors: Vectors, space: StoredSpace, vector: Sequence[float] = NORTH) -> int:
    """Do every job of a space with this vector, and build the indexes that it then needs."""
    kept = 0
    while jobs := await vectors.claim(space, 100):
        kept += await vectors.finish(space, [(job, vector) for job in jobs])
    await vectors.build_indexes(space)
    return kept


async def embed_as(
    vectors: Vectors, space: StoredSpace, wanted: Mapping[UUID, Sequence[float]]
) -> None:
    """Do every job of a space, each memory with its own vector, and build the indexes."""
    while jobs := await vectors.claim(space, 1_000):
        await vectors.finish(space, [(job, wanted[job.memory_id]) for job in jobs])
    await vectors.build_indexes(space)


async def nearest(
    vectors: Vectors,
    space: StoredSpace,
    vector: Sequence[float] = NORTH,
    scope: Scope = EVERYWHERE,
    owner: str = OWNER,
    **query: Any,
) -> list[UUID]:
    use_index = (await vectors.survey(owner, scope)).use_index
    found = await vectors.nearest(owner, scope, VectorQuery(space, vector, use_index, **query))
    return [candidate.id for candidate in found]


async def active(vectors: Vectors) -> StoredSpace | None:
    """Return the space that recall searches."""
    return (await vectors.survey(OWNER, EVERYWHERE)).space


async def rows(store: FullStore, statement: str, *params: object) -> list[Any]:
    """Return what plain SQL reads, bypassing the store."""
    if isinstance(store, SqliteStore):
        values = [str(value) if isinstance(value, UUID) else value for value in params]

        def work(writer: sqlite3.Connection) -> list[Any]:
            return writer.execute(statement.replace("%s", "?"), values).fetchall()

        return await store.threads.writer.run(work)
    async with store.pool.transaction(ADMIN) as connection:
        cursor = await connection.execute(statement, params or None)
        return await cursor.fetchall() if cursor.description else []


async def make_due(store: FullStore, table: str = "embeddings") -> None:
    """Make every claimed or failed row due again, as an hour later, except parked ones."""
    if isinstance(store, SqliteStore):
        await rows(store, f"update {table} set due_at = 0 where due_at < {2**62}")
    else:
        await rows(store, f"update {table} set due_at = now() where due_at < 'infinity'")


async def embedded(store: FullStore) -> set[int]:
    """Return the numbers of the memories that have a vector."""
    return await _memories(store, "not null")


async def waiting(store: FullStore) -> set[int]:
    """Return the numbers of the memories that still have to be embedded."""
    return await _memories(store, "null")


async def held(store: FullStore) -> list[tuple[int, int]]:
    """Return which memory's vector holds which other memory's words."""
    if isinstance(store, SqliteStore):
        found = await rows(
            store,
            "select m.id, b.id from embedding_context c join embeddings e on e.id = c.embedding"
            " join memories m on m.number = e.memory join memories b on b.number = c.before",
        )
        return sorted((UUID(one).int, UUID(other).int) for one, other in found)
    found = await rows(store, "select memory_id, before_id from embedding_context")
    return sorted((row["memory_id"].int, row["before_id"].int) for row in found)


async def _memories(store: FullStore, vector: str) -> set[int]:
    if isinstance(store, SqliteStore):
        found = await rows(
            store,
            "select m.id from embeddings e join memories m on m.number = e.memory"
            f" where e.vector is {vector}",
        )
        return {UUID(id).int for (id,) in found}
    found = await rows(store, f"select memory_id from embeddings where vector is {vector}")
    return {row["memory_id"].int for row in found}


def texts(jobs: Sequence[EmbeddingJob]) -> list[str]:
    return sorted(job.text for job in jobs)


async def open_all(vectors: Vectors, *spaces: Space) -> list[StoredSpace]:
    return [await vectors.open_space(space.revision, space) for space in spaces]


async def states(vectors: Vectors) -> dict[str, str]:
    """Return the state of each space by its revision."""
    return {
        stored.space.revision: "former" if stored.is_former else stored.state
        for stored in await vectors.spaces()
    }
