"""Short ways to say what a test of vectors in Postgres needs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, LiteralString
from uuid import UUID

from tests.conformance.samples import OWNER

from recollect.adapters.postgres.access import ADMIN
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.index import PostgresVectors
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.space import EmbeddingJob, Space, StoredSpace
from recollect.ports.recall import VectorQuery

SPACE = Space("compass", "1", 2)
NORTH, EAST, SOUTH = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]


@asynccontextmanager
async def opened(url: str, **options: Any) -> AsyncIterator[tuple[PostgresStore, PostgresVectors]]:
    """A store that has a place for vectors, and that place."""
    async with PostgresStore(url, **options) as store:
        assert store.vectors is not None, store.vector_note
        yield store, store.vectors


async def embed_all(
    vectors: PostgresVectors, space: StoredSpace, vector: Sequence[float] = NORTH
) -> int:
    """Do every job of a space, each with this vector, and build what indexes that asks for."""
    kept = 0
    while jobs := await vectors.claim(space, 100):
        kept += await vectors.finish(space, [(job, vector) for job in jobs])
    await vectors.build_indexes(space)
    return kept


async def embed_as(
    vectors: PostgresVectors, space: StoredSpace, wanted: Mapping[UUID, Sequence[float]]
) -> None:
    """Do every job of a space, each memory with its own vector, and build indexes as well."""
    while jobs := await vectors.claim(space, 1_000):
        await vectors.finish(space, [(job, wanted[job.memory_id]) for job in jobs])
    await vectors.build_indexes(space)


async def nearest(
    vectors: PostgresVectors,
    space: StoredSpace,
    vector: Sequence[float] = NORTH,
    scope: Scope = EVERYWHERE,
    owner: str = OWNER,
    **query: Any,
) -> list[UUID]:
    use_index = (await vectors.survey(owner, scope)).use_index
    found = await vectors.nearest(owner, scope, VectorQuery(space, vector, use_index, **query))
    return [candidate.id for candidate in found]


async def active(vectors: PostgresVectors) -> StoredSpace | None:
    """The space that recall asks."""
    return (await vectors.survey(OWNER, EVERYWHERE)).space


async def rows(store: PostgresStore, statement: LiteralString, *params: object) -> list[Any]:
    """What plain SQL says, past everything the store guards."""
    async with store.pool.transaction(ADMIN) as connection:
        cursor = await connection.execute(statement, params or None)
        return await cursor.fetchall() if cursor.description else []


def texts(jobs: Sequence[EmbeddingJob]) -> list[str]:
    return sorted(job.text for job in jobs)
