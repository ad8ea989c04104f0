"""The measured store: filled to a size, and timed part by part."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

from psycopg import AsyncConnection

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.fusion import fuse
from recollect.core.recall.request import Candidate, LegName
from recollect.core.recall.settings import RecallSettings, WordQuery
from recollect.core.recall.space import StoredSpace
from recollect.ports.embedding import Embedder, Embedders
from recollect.ports.recall import VectorQuery
from recollect.ports.service import Service
from recollect.usecases.priority import Yield, no_yield
from recollect.usecases.tasks import measure_ms
from recollect_bench.speed.corpus import OWNER, Corpus
from recollect_bench.speed.vectors import (
    Samples,
    Subjects,
    copy_tokens,
    copy_vectors,
    make_samples,
    scatter_vectors,
)

DEPTH: Final = RecallSettings().depth
_BATCH: Final = 5_000
# Memories stored while the space is retired cause no work for a worker.
_SET_STATE: Final = "update spaces set state = %s where id = %s"
_SIZE: Final = "select pg_database_size(current_database())"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Filling:
    """The time it took to grow the store to a size, and the database's size on disk."""

    rows: int
    store_s: float
    index_s: float
    size_mb: float


class Documents:
    """Counts the texts that a worker begins, each after yielding to waiting callers."""

    def __init__(self, yield_to_callers: Yield = no_yield) -> None:
        self._wait_for_callers = yield_to_callers
        self.begun = 0

    async def yield_to_callers(self) -> None:
        await self._wait_for_callers()
        self.begun += 1


@dataclass(frozen=True, slots=True)
class Dense:
    """The parts of the dense leg, which can be timed separately."""

    vectors: PostgresVectors
    space: StoredSpace
    embedders: Embedders
    embedder: Embedder
    samples: Samples
    questions: Sequence[str]

    @classmethod
    async def open(
        cls,
        vectors: PostgresVectors,
        embedders: Embedders,
        name: str,
        subjects: Subjects,
        progress: Progress,
    ) -> Dense:
        """Open the space on a store that is still empty."""
        embedder = await embedders.embedder(name)
        samples = await make_samples(embedder, subjects.texts, progress)
        space = await vectors.open_space(name, embedder.space)
        await vectors.claim(space, 1)  # returns nothing, and records that no memory was missed
        return cls(vectors, space, embedders, embedder, samples, subjects.questions)

    async def nearest(
        self, vector: Sequence[float], scope: Scope = EVERYWHERE, depth: int = DEPTH
    ) -> list[Candidate]:
        """Search like the dense leg, without its model."""
        survey = await self.vectors.survey(OWNER, scope)
        query = VectorQuery(
            self.space, vector, survey.use_index, depth, has_passages=survey.has_passages
        )
        return await self.vectors.nearest(OWNER, scope, query)


@dataclass(frozen=True, slots=True)
class Rig:
    """A temporary store and a separate connection to it. Without `dense` only words are measured.
    `fused` recalls without the second stage, if there is one.
    """

    store: PostgresStore
    connection: AsyncConnection[Any]
    recollect: Service
    dense: Dense | None = None
    fused: Service | None = None
    documents: Documents = field(default_factory=Documents)

    async def grow(self, corpus: Corpus, first: int, last: int, progress: Progress) -> Filling:
        """Fill first and index afterwards: inserting vectors into a large index is slow."""
        started = perf_counter()
        if self.dense is not None:
            await self.dense.vectors.drop_indexes(self.dense.space)
        async with self.embedding_off():
            for start in range(first, last, _BATCH):
                end = min(start + _BATCH, last)
                await self._add(corpus, start, end)
                progress(f"storing {last:,} memories", end - first, last - first)
        # Otherwise autovacuum would run at some point during the measurement.
        progress(f"tidying up {last:,} memories", 0, 1)
        filled = ("memories", "embeddings", "token_vectors")
        for table in filled if self.dense is not None else filled[:1]:
            await self.connection.execute(f"vacuum analyze {table}")
        await self.store.maintain()
        stored = perf_counter()
        if self.dense is not None:
            progress(f"indexing {last:,} vectors", 0, 1)
            await self.dense.vectors.build_indexes(self.dense.space)
        indexed = perf_counter()
        return Filling(
            last,
            store_s=round(stored - started, 1),
            index_s=round(indexed - stored, 1),
            size_mb=await self._size_mb(),
        )

    async def _size_mb(self) -> float:
        row = await (await self.connection.execute(_SIZE)).fetchone()
        return 0.0 if row is None else round(row[0] / 1e6, 1)

    async def _add(self, corpus: Corpus, first: int, last: int) -> None:
        memories = list(corpus.memories(first, last))
        await self.store.add_many(memories)
        if self.dense is not None:
            samples = self.dense.samples
            vectors = scatter_vectors(samples.vectors, memories, corpus.passages)
            await copy_vectors(self.connection, self.dense.space, memories, vectors)
            if samples.blocks:
                await copy_tokens(
                    self.connection, self.dense.space, memories, samples, corpus.passages
                )

    @asynccontextmanager
    async def embedding_off(self) -> AsyncIterator[None]:
        """Inside the block, store as if nothing were embedded."""
        if self.dense is None:
            yield
            return
        await self.connection.execute(_SET_STATE, ("retired", self.dense.space.id))
        try:
            yield
        finally:
            await self.connection.execute(_SET_STATE, ("active", self.dense.space.id))

    async def time_parts(self, question: str) -> dict[str, float]:
        """Return the milliseconds of each part, one after the other."""
        took: dict[str, float] = {}
        answers: dict[LegName, list[Candidate]] = {}
        started = perf_counter()
        answers["lexical"] = await self.store.search_words(
            OWNER, EVERYWHERE, WordQuery(question, depth=DEPTH)
        )
        took["lexical"] = measure_ms(started)
        if self.dense is not None:
            started = perf_counter()
            vector = await self.dense.embedder.embed_query(question)
            took["embed"] = measure_ms(started)
            started = perf_counter()
            answers["dense"] = await self.dense.nearest(vector)
            took["dense"] = measure_ms(started)
        settings = RecallSettings()
        started = perf_counter()
        fuse(answers, settings.weights(), settings.fusion, settings.constant)
        took["fuse"] = measure_ms(started)
        return took
