"""Fill a store in bulk. It can be killed at any point: the next run continues.

Each batch is one transaction that also updates the count, so the count always matches what is
stored. Indexes are dropped before a fill and built once afterwards, which is several times faster
and shows how long building takes. Their definitions are stored in the database until then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection, sql

from recollect.adapters.postgres.graph.rules import RULES
from recollect.adapters.postgres.session import PostgresSession
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Memory
from recollect.core.recall.space import StoredSpace
from recollect_bench.scale.clusters import Clusters
from recollect_bench.scale.population import ROWS_PER_CONCEPT, Population, Slice, list_mentions
from recollect_bench.speed.copying import (
    NamedConcept,
    copy_concepts,
    copy_memories,
    copy_mentions,
)
from recollect_bench.speed.corpus import Corpus
from recollect_bench.speed.vectors import copy_vectors

Progress = Callable[[str, int, int], None]

VECTORS: Final = "vectors (HNSW)"
TABLES: Final = (
    "owners",
    "memories",
    "embeddings",
    "changes",
    "extractions",
    "concepts",
    "concept_names",
    "memory_concepts",
)

_SET_UP: Final = """
create table if not exists bench_fill (
    single boolean primary key default true, rows bigint not null, seconds float8 not null
);
create table if not exists bench_indexes (
    name text primary key, definition text not null, seconds float8
);
insert into bench_fill (rows, seconds) values (0, 0) on conflict do nothing;
"""
_FILLED: Final = "select rows, seconds from bench_fill"
_COUNT: Final = "update bench_fill set rows = rows + %s, seconds = seconds + %s"
# Except those that a constraint needs, and parts of partitioned ones. HNSW has its own method.
_DROPPABLE: Final = """
insert into bench_indexes (name, definition)
select i.relname, pg_get_indexdef(i.oid)
from pg_index x join pg_class i on i.oid = x.indexrelid join pg_am a on a.oid = i.relam
where x.indrelid = any(%s::regclass[]) and not x.indisunique and i.relkind = 'i'
    and not i.relispartition and a.amname <> 'hnsw'
on conflict (name) do update set definition = excluded.definition, seconds = null
returning name
"""
_TO_BUILD: Final = """
select name, definition from bench_indexes where seconds is null and definition <> '' order by name
"""
_BUILT: Final = """
insert into bench_indexes (name, definition, seconds) values (%(name)s, '', %(seconds)s)
on conflict (name) do update set seconds = excluded.seconds
"""
_UNBUILT: Final = "delete from bench_indexes where name = %(name)s"
_IS_BUILT: Final = "select from bench_indexes where name = %(name)s"
_BUILD_SECONDS: Final = "select name, seconds from bench_indexes order by name"
# The vectors are copied, not queued.
_TRIGGER: Final = "alter table memories {} trigger embeddings_added"


@dataclass(frozen=True, slots=True)
class Filling:
    """Seconds that storing took in total, and building each index the last time."""

    rows: int
    store_s: float
    build_s: dict[str, float]


class Filler:
    """`connection` is the superuser's, in autocommit: only the superuser may COPY for any owner. A
    transaction stores up to `batch` memories.
    """

    def __init__(
        self,
        connection: AsyncConnection[Any],
        store: PostgresStore,
        vectors: PostgresVectors,
        space: StoredSpace,
        clusters: Clusters,
        batch: int = 5_000,
    ) -> None:
        self._connection = connection
        self._store = store
        self._batch = batch
        self._vectors = vectors
        self._space = space
        self._clusters = clusters

    async def fill_to(self, population: Population, rows: int, progress: Progress) -> Filling:
        """Store the first `rows` memories of a population, except those already stored."""
        await self._connection.execute(_SET_UP)
        stored, _ = await self._read_filled()
        if stored > rows:
            raise InvalidInput(
                f"the store in this folder has {stored:,} memories already, more than {rows:,}",
                field="--folder",
                remedy="Measure sizes in ascending order, or use another folder.",
            )
        if stored < rows:
            await self._drop_indexes()
        for batch in _batches(population, stored, rows, self._batch):
            await _run_to_end(self._store_batch(population, batch))
            stored += sum(part.last - part.first for part in batch)
            progress(f"storing {rows:,} memories", stored, rows)
        await self._build_indexes(progress)
        progress(f"vacuum and statistics of {rows:,} memories", 0, 1)
        for table in TABLES:
            await self._connection.execute(sql.SQL("vacuum analyze {}").format(_id(table)))
        await self._store.maintain()
        stored, seconds = await self._read_filled()
        cursor = await self._connection.execute(_BUILD_SECONDS)
        built = {name: round(took, 2) for name, took in await cursor.fetchall()}
        return Filling(stored, round(seconds, 1), built)

    async def _read_filled(self) -> tuple[int, float]:
        row = await (await self._connection.execute(_FILLED)).fetchone()
        return row or (0, 0.0)

    async def _store_batch(self, population: Population, batch: list[Slice]) -> None:
        connection, started = self._connection, perf_counter()
        async with connection.transaction():
            await connection.execute(sql.SQL(_TRIGGER).format(sql.SQL("disable")))
            parts = [(part, population.corpus(part.owner)) for part in batch]
            memories = [list(corpus.memories(part.first, part.last)) for part, corpus in parts]
            flat = [memory for each in memories for memory in each]
            await copy_memories(connection, flat)
            vectors = self._clusters.vectors(len(flat), flat[0].id.int)
            await copy_vectors(connection, self._space, flat, vectors)
            concepts: list[NamedConcept] = []
            mentions: list[tuple[UUID, NamedConcept]] = []
            for (part, corpus), each in zip(parts, memories, strict=True):
                new, found = _build_graph(population, corpus, part, each)
                concepts += new
                mentions += found
            await copy_concepts(connection, concepts)
            await copy_mentions(connection, mentions)
            for owner in {corpus.owner for _, corpus in parts}:
                await RULES.increment_version(PostgresSession(connection), owner)
            await connection.execute(sql.SQL(_TRIGGER).format(sql.SQL("enable")))
            await connection.execute(_COUNT, (len(flat), perf_counter() - started))

    async def _drop_indexes(self) -> None:
        await self._vectors.drop_indexes(self._space)
        async with self._connection.transaction():
            cursor = await self._connection.execute(_DROPPABLE, (list(TABLES),))
            for (name,) in await cursor.fetchall():
                await self._connection.execute(sql.SQL("drop index {}").format(_id(name)))
            await self._connection.execute(_UNBUILT, {"name": VECTORS})

    async def _build_indexes(self, progress: Progress) -> None:
        cursor = await self._connection.execute(_TO_BUILD)
        missing = await cursor.fetchall()
        for number, (name, definition) in enumerate(missing):
            progress(f"building {name}", number, len(missing) + 1)
            async with self._connection.transaction(), self._time_build(name):
                await self._connection.execute(definition)
        cursor = await self._connection.execute(_IS_BUILT, {"name": VECTORS})
        if await cursor.fetchone() is None:
            progress(f"building {VECTORS}", len(missing), len(missing) + 1)
            async with self._time_build(VECTORS):
                await self._vectors.build_indexes(self._space)

    @asynccontextmanager
    async def _time_build(self, name: str) -> AsyncIterator[None]:
        started = perf_counter()
        yield
        values = {"name": name, "seconds": perf_counter() - started}
        await self._connection.execute(_BUILT, values)


async def _run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Finish the work even if cancelled: psycopg cannot roll back in the middle of a COPY."""
    task = asyncio.create_task(work)
    try:
        await asyncio.shield(task)
    finally:
        await asyncio.wait([task])


def _build_graph(
    population: Population, corpus: Corpus, part: Slice, memories: Sequence[Memory]
) -> tuple[list[NamedConcept], list[tuple[UUID, NamedConcept]]]:
    """Return the concepts that first appear in these memories, and the memories' mentions."""
    numbers = range(part.first, part.last)
    pairs = [(n, concept) for n in numbers for concept in list_mentions(corpus, n)]
    new = [n // ROWS_PER_CONCEPT for n in numbers if n % ROWS_PER_CONCEPT == 0]
    known = {n: population.concept(corpus, n) for n in {*new, *(concept for _, concept in pairs)}}
    mentions = [(memories[n - part.first].id, known[concept]) for n, concept in pairs]
    return [known[n] for n in new], mentions


def _batches(population: Population, first: int, last: int, size: int) -> Iterator[list[Slice]]:
    """Split into batches of up to `size` memories; a large owner spans several."""
    batch: list[Slice] = []
    room = size
    for part in population.slices(first, last):
        start = part.first
        while start < part.last:
            end = min(part.last, start + room)
            batch.append(Slice(part.owner, start, end))
            room -= end - start
            start = end
            if room == 0:
                yield batch
                batch, room = [], size
    if batch:
        yield batch


def _id(name: str) -> sql.Identifier:
    return sql.Identifier(name)
