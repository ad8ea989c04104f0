"""How long the walk over a concept graph takes as the graph grows.

The graphs are synthetic: the number of memories per concept follows a power law, like names in a
text, and there are four concepts per memory. A query starts from as many memories as two legs find,
with masses as uneven as theirs. Only the walk and the building of its matrix are timed here; the
whole leg next to the dense one is in `graph_rig.py`.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import Any, Final
from uuid import UUID

import numpy as np

from recollect.adapters.walkers.matrix import WalkStart, build, walk
from recollect.core.graph.model import GraphSnapshot
from recollect.core.graph.walk import MEMORY_MASS, damping
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.tasks import measure_ms

CONCEPTS_PER_MEMORY: Final = 4
MENTIONS_PER_MEMORY: Final = 10
SEEDS: Final = 150
TOP: Final = 10
_FIRST_CONCEPT: Final = 1 << 64


@dataclass(frozen=True, slots=True)
class GraphTiming:
    """One size of graph. `links` counts the mentions left after filtering, in both directions."""

    memories: int
    concepts: int
    links: int
    megabytes: float
    build_ms: float
    p50_ms: float
    p95_ms: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def make_graph(memories: int, seed: int) -> GraphSnapshot:
    chance = np.random.default_rng(seed)
    concepts = memories * CONCEPTS_PER_MEMORY
    ranks = chance.pareto(1.0, memories * MENTIONS_PER_MEMORY) * concepts / 20
    chosen = ranks.astype(np.int64) % concepts
    mentioning = np.repeat(np.arange(memories), MENTIONS_PER_MEMORY)
    pairs = np.unique(mentioning * concepts + chosen)
    return GraphSnapshot(
        version=1,
        memories=tuple(UUID(int=number) for number in range(memories)),
        concepts=tuple(UUID(int=_FIRST_CONCEPT + number) for number in range(concepts)),
        labels=tuple(f"concept {number}" for number in range(concepts)),
        kinds=("name",) * concepts,
        mention_memories=array("i", (pairs // concepts).tolist()),
        mention_concepts=array("i", (pairs % concepts).tolist()),
        mention_weights=array("f", [1.0]) * len(pairs),
    )


def measure_graph(memories: int, queries: int, seed: int) -> GraphTiming:
    snapshot = make_graph(memories, seed)
    started = perf_counter()
    matrix = build(snapshot)
    build_ms = measure_ms(started)
    share = damping(RecallSettings().graph_weight)
    took: list[float] = []
    for begun, named in _questions(snapshot, queries, seed):
        started = perf_counter()
        walk(matrix, WalkStart(begun, named, share, RecallSettings().depth, TOP))
        took.append(measure_ms(started))
    return GraphTiming(
        memories,
        len(snapshot.concepts),
        len(matrix.targets),
        round(matrix.bytes / 2**20, 1),
        round(build_ms, 1),
        round(median(took), 2),
        round(quantiles(took, n=20, method="inclusive")[-1], 2),
    )


def _questions(
    snapshot: GraphSnapshot, count: int, seed: int
) -> Iterator[tuple[dict[UUID, float], list[UUID]]]:
    chance = np.random.default_rng(seed + 1)
    for _ in range(count):
        places = chance.choice(len(snapshot.memories), SEEDS, replace=False)
        masses = chance.pareto(1.5, SEEDS) ** 2
        masses *= MEMORY_MASS / masses.sum()
        begun = {
            snapshot.memories[place]: float(mass)
            for place, mass in zip(places, masses, strict=True)
        }
        # A query names concepts that its first hit mentions.
        first = int(places[int(np.argmax(masses))])
        start = first * MENTIONS_PER_MEMORY // 2  # near its mentions; any will do
        named = [snapshot.concepts[place] for place in snapshot.mention_concepts[start : start + 2]]
        yield begun, named
