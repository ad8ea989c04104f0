"""A recall with two legs, on the reference store; what it stores is embedded at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from tests.usecases.conftest import build_context
from tests.usecases.vectors import AllVectors, MeaningEmbedder, OneEmbedder

from recollect.core.memory.memory import Draft, Memory
from recollect.usecases.context import Context
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.dense import dense_leg
from recollect_bench.in_memory import InMemoryStore


@dataclass
class TwoLegs:
    context: Context
    vectors: AllVectors
    model: MeaningEmbedder

    @classmethod
    def on(cls, store: InMemoryStore) -> Self:
        vectors, model = AllVectors(store), MeaningEmbedder()
        context = build_context(store)
        legs = {**context.legs, "dense": dense_leg(vectors, OneEmbedder(model))}
        return cls(replace(context, legs=legs), vectors, model)

    async def remember(self, content: str, **fields: Any) -> Memory:
        stored = await remember(self.context, "me", replace(Draft(content), **fields))
        await self.vectors.embed("me")
        return stored
