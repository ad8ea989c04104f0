"""The store that is measured, filled to a size, and its parts one by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors import PostgresVectors
from recollect.bench.corpus import OWNER, Corpus
from recollect.bench.vectors import ANCHORS, Matrix, anchors, scattered
from recollect.core.fusion import fuse
from recollect.core.memory import EVERYWHERE
from recollect.core.recall import Candidate, LegName
from recollect.core.recall_settings import RecallSettings
from recollect.core.space import StoredSpace
from recollect.ports import Embedder, Recollect, VectorQuery, WordQuery

DEPTH: Final = RecallSettings().depth
_BATCH: Final = 5_000

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Dense:
    """What the dense leg needs, in parts that can be timed apart."""

    vectors: PostgresVectors
    space: StoredSpace
    embedder: Embedder
    around: Matrix

    @classmethod
    async def opened(
        cls, vectors: PostgresVectors, embedder: Embedder, name: str, corpus: Corpus
    ) -> Dense:
        texts = [memory.content for memory in corpus.memories(0, ANCHORS)]
        space = await vectors.open_space(name, embedder.space)
        return cls(vectors, space, embedder, await anchors(embedder, texts))

    async def query(self, question: str) -> VectorQuery:
        return VectorQuery(self.space, await self.embedder.embed_query(question), depth=DEPTH)

    async def fill(self, total: int, progress: Progress) -> None:
        done = 0
        while jobs := await self.vectors.claim(self.space, _BATCH):
            vectors = scattered(self.around, jobs)
            await self.vectors.finish(self.space, list(zip(jobs, vectors, strict=True)))
            done += len(jobs)
            progress(f"{total:,} vectors", done, total)


@dataclass(frozen=True, slots=True)
class Rig:
    """One throw-away store. Without `dense` only words are measured."""

    store: PostgresStore
    recollect: Recollect
    embedder_name: str
    dense: Dense | None = None

    async def grow(self, corpus: Corpus, first: int, last: int, progress: Progress) -> None:
        for start in range(first, last, _BATCH):
            end = min(start + _BATCH, last)
            await self.store.add_many(corpus.memories(start, end))
            progress(f"storing {last:,} memories", end - first, last - first)
        if self.dense is not None:
            await self.dense.fill(last - first, progress)
        await self.store.maintain()

    async def time_parts(self, question: str) -> dict[str, float]:
        """Milliseconds of each part, one after the other."""
        took: dict[str, float] = {}
        answers: dict[LegName, list[Candidate]] = {}
        started = perf_counter()
        answers["lexical"] = await self.store.search_words(
            OWNER, EVERYWHERE, WordQuery(question, depth=DEPTH)
        )
        took["lexical"] = _ms_since(started)
        if self.dense is not None:
            started = perf_counter()
            query = await self.dense.query(question)
            took["embed"] = _ms_since(started)
            started = perf_counter()
            answers["dense"] = await self.dense.vectors.nearest(OWNER, EVERYWHERE, query)
            took["dense"] = _ms_since(started)
        settings = RecallSettings()
        started = perf_counter()
        fuse(answers, settings.weights(), settings.fusion, settings.rrf_k)
        took["fuse"] = _ms_since(started)
        return took


def _ms_since(started: float) -> float:
    return (perf_counter() - started) * 1000
