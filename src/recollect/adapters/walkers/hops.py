"""The graph leg by a recursive query: a hop or two from the hits, nothing kept in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Final

from recollect.adapters.walkers.naming import concepts_named
from recollect.core.graph.walk import Walked, damping, restart
from recollect.core.recall.fusion import Fused
from recollect.core.recall.request import Declined, RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.ports.graph import ConceptGraph, Walker

HOPS: Final = 2
DECAY: Final = 0.5
# Every seed is a probe of the database, and those behind the first carry next to nothing.
_MOST_SEEDS: Final = 20


def hops_walker(graph: ConceptGraph) -> Walker:
    async def walker(
        owner: str,
        request: RecallRequest,
        settings: RecallSettings,
        weight: float,
        fused: Awaitable[Sequence[Fused]],
    ) -> Sequence[Walked] | Declined:
        concepts = await concepts_named(graph, owner, request.query)
        if isinstance(concepts, Declined):
            return concepts
        begun = restart(await fused)
        total = sum(begun.values()) + len(concepts)
        heaviest = sorted(begun.items(), key=lambda one: -one[1])[:_MOST_SEEDS]
        seeds = {**dict(heaviest), **dict.fromkeys(concepts, 1.0)}
        found = await graph.hops(
            owner, seeds, HOPS, DECAY, max(settings.depth, request.limit), request.as_of
        )
        reached = sum(one.score for one in found) or 1.0
        on = damping(weight)
        scores = {id: (1.0 - on) * mass / total for id, mass in begun.items()}
        for one in found:
            scores[one.id] = scores.get(one.id, 0.0) + on * one.score / reached
        return [
            Walked(id, score)
            for id, score in sorted(scores.items(), key=lambda one: (-one[1], one[0]))
        ]

    return walker
