"""A recall with two legs, on the reference store; what it is told is embedded at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from tests.usecases.conftest import parts_on
from tests.usecases.vectors import AllVectors, MeaningEmbedder, OneEmbedder

from recollect.adapters.in_memory import InMemoryStore
from recollect.core.memory.memory import Draft, Memory
from recollect.usecases.context import Parts
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.dense import dense_leg


@dataclass
class TwoLegs:
    parts: Parts
    vectors: AllVectors
    model: MeaningEmbedder

    @classmethod
    def on(cls, store: InMemoryStore) -> Self:
        vectors, model = AllVectors(store), MeaningEmbedder()
        parts = parts_on(store)
        legs = {**parts.legs, "dense": dense_leg(vectors, OneEmbedder(model))}
        return cls(replace(parts, legs=legs), vectors, model)

    async def remember(self, content: str, **fields: Any) -> Memory:
        stored = await remember(self.parts, "me", replace(Draft(content), **fields))
        await self.vectors.embed("me")
        return stored
