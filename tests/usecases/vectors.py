"""The ports of the dense leg and the second stage, small enough to understand at a glance: an
embedder that knows a few meanings, an index that compares with everything, a reranker with a table
of scores.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from uuid import UUID

from recollect.core.errors import ModelUnavailable
from recollect.core.memory.memory import Scope
from recollect.core.recall.request import Candidate
from recollect.core.recall.space import Space, StoredSpace, Survey
from recollect.ports.embedding import Embedder
from recollect.ports.recall import VectorQuery
from recollect_bench.in_memory import InMemoryStore

SPACE = Space("meanings", "1", 3)
# What a word is about, along three axes.
MEANINGS: Mapping[str, tuple[float, float, float]] = {
    "car": (1.0, 0.0, 0.0),
    "automobile": (0.9, 0.1, 0.0),
    "vehicle": (0.8, 0.2, 0.0),
    "lunch": (0.0, 1.0, 0.0),
    "meal": (0.1, 0.9, 0.0),
}


@dataclass
class MeaningEmbedder:
    """Counts its calls, because what is not embedded matters as much."""

    space: Space = SPACE
    is_hosted: bool = False
    error: Exception | None = None
    asked: list[str] = field(default_factory=list)

    def at_once(self, texts: Sequence[str]) -> int:
        return len(texts)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> list[float]:
        self.asked.append(text)
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        if self.error is not None:
            raise self.error
        known = [MEANINGS[word] for word in text.lower().split() if word in MEANINGS]
        total = [sum(axis) for axis in zip(*known, strict=True)] or [0.0, 0.0, 1.0]
        length = sqrt(sum(number * number for number in total))
        return [number / length for number in total]


@dataclass
class OneEmbedder:
    """Implements Embedders with a single model."""

    model: MeaningEmbedder
    name: str = "meanings"

    async def embedder(self, name: str) -> Embedder:
        if name != self.name:
            raise ModelUnavailable(f"there is no model {name}", remedy="Name another.")
        return self.model


@dataclass
class AllVectors:
    """A VectorIndex on the reference store that compares with every memory. What is not in
    `vectors` is not embedded yet; sensitive memories never are.
    """

    store: InMemoryStore
    stored: StoredSpace | None = field(
        default_factory=lambda: StoredSpace(1, "meanings", SPACE, "active")
    )
    vectors: dict[UUID, list[float]] = field(default_factory=dict)
    queries: list[VectorQuery] = field(default_factory=list)

    async def survey(self, owner: str, scope: Scope) -> Survey:
        return Survey(self.stored, use_index=False)

    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        self.queries.append(query)
        inside = await self.store.page(owner, scope, None, 100_000)
        found = [
            Candidate(
                memory.id,
                _cosine(query.vector, self.vectors[memory.id]),
                memory.importance,
                memory.created_at,
            )
            for memory in inside
            if memory.id in self.vectors and memory.id not in query.exclude
        ]
        return sorted(found, key=lambda one: (-one.score, one.id))[: query.depth]

    async def embed(self, owner: str) -> None:
        """Embed everything at once, as a worker would."""
        for memory in await self.store.page(owner, Scope(), None, 100_000):
            if not memory.is_sensitive:
                self.vectors[memory.id] = await MeaningEmbedder().embed_query(memory.content)


@dataclass
class TableReranker:
    """Scores by what a text contains; with `hangs` it never answers."""

    table: Mapping[str, float]
    is_hosted: bool = False
    hangs: bool = False
    answer: list[float] | None = None
    error: Exception | None = None
    asked: list[tuple[str, list[str]]] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        if self.error is not None:
            raise self.error
        if self.hangs:
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.set()
        if self.answer is not None:
            return self.answer
        return [
            max((score for word, score in self.table.items() if word in text), default=0.0)
            for text in texts
        ]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
