"""One owner's concept graph as a sparse matrix, and a walk that visits only the nodes it needs.

Personalized PageRank is a sum over walks: a share of the mass that a node gets stays, the rest
moves on to its neighbors. So it is summed step by step from the start, and negligible mass is
dropped: the cost depends on the neighborhood, not on the graph (docs/adr/0025). Plain numpy arrays
are enough for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from recollect.core.graph.model import GraphSnapshot
from recollect.core.graph.walk import (
    MAX_MEMORIES,
    MIN_MEMORIES,
    RELATIONSHIP_WEIGHT,
    UNWALKED_KINDS,
    Walked,
)

Floats = NDArray[np.float64]
Whole = NDArray[np.int32]

# With a damping of 0.6, 0.2% of the mass is left after 12 steps.
MAX_STEPS: Final = 12
MIN_MASS: Final = 1e-4
"""Per node and step, of a total of 1. A tenth of this changes no result of the benchmark."""
MAX_LINKS_A_STEP: Final = 200_000
_MAX_PATH: Final = 4
_MOSTLY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Matrix:
    """Nodes are memories, then concepts. Row `i` is `targets[starts[i]:starts[i + 1]]`: where the
    mass of node i goes, in shares that sum to 1; the weights of its links sum to `totals[i]`.
    `by_model` is the share of the memories that a language model has read.
    """

    version: int
    memories: tuple[UUID, ...]
    places: Mapping[UUID, int]
    labels: tuple[str, ...]
    mentioned_by: Whole
    is_walked: NDArray[np.bool_]
    starts: NDArray[np.int64]
    targets: Whole
    shares: NDArray[np.float32]
    totals: NDArray[np.float32]
    by_model: float

    def find_walkable(self, ids: Iterable[UUID]) -> list[UUID]:
        """Return the concepts that distinguish memories. A concept that is mentioned everywhere,
        such as a speaker's name in a chat, does not: a walk from it would cost time and change
        nothing.
        """
        places = [(id, self.places.get(id)) for id in ids]
        return [
            id for id, at in places if at is not None and self.is_walked[at - len(self.memories)]
        ]

    @property
    def bytes(self) -> int:
        arrays = self.starts.nbytes + self.targets.nbytes + self.shares.nbytes
        # An id, its entry in `places` and a label are Python objects of some hundred bytes.
        return arrays + 200 * len(self.places)


def build(snapshot: GraphSnapshot) -> Matrix:
    """Build the matrix of a graph, without concepts that link nothing or everything."""
    count = len(snapshot.memories)
    concepts = len(snapshot.concepts)
    memory = np.asarray(snapshot.mention_memories, dtype=np.int32)
    concept = np.asarray(snapshot.mention_concepts, dtype=np.int32)
    mentioned_by = np.bincount(concept, minlength=concepts)
    unwalked = np.array([kind in UNWALKED_KINDS for kind in snapshot.kinds], dtype=bool)
    source = np.asarray(snapshot.edge_sources, dtype=np.int32)
    target = np.asarray(snapshot.edge_targets, dtype=np.int32)
    keeps = _choose_walkable(snapshot, mentioned_by, source, target) & ~unwalked
    kept = keeps[concept] if concepts else np.zeros(0, dtype=bool)
    memory, concept = memory[kept], concept[kept]
    # A memory's weight of 1 is divided among the concepts it mentions, so that a long list weighs
    # no more than a sentence; rarer concepts get a larger share.
    per_memory = np.bincount(memory, minlength=count)
    rarity = 1.0 / np.log1p(np.maximum(mentioned_by[concept], MIN_MEMORIES))
    weight = rarity / per_memory[memory]
    joined = keeps[source] & keeps[target] if len(source) else np.zeros(0, dtype=bool)
    edge = RELATIONSHIP_WEIGHT * np.asarray(snapshot.edge_weights, dtype=np.float64)[joined]
    source, target = source[joined] + count, target[joined] + count
    concept = concept + count
    rows = np.concatenate([memory, concept, source, target])
    columns = np.concatenate([concept, memory, target, source]).astype(np.int32)
    weights = np.concatenate([weight, weight, edge, edge])
    order = np.argsort(rows, kind="stable")
    rows, columns, weights = rows[order], columns[order], weights[order]
    totals = np.bincount(rows, weights=weights, minlength=count + concepts)
    starts = np.zeros(count + concepts + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=count + concepts), out=starts[1:])
    nodes = (*snapshot.memories, *snapshot.concepts)
    return Matrix(
        snapshot.version,
        snapshot.memories,
        {id: place for place, id in enumerate(nodes)},
        snapshot.labels,
        mentioned_by.astype(np.int32),
        ~unwalked & (mentioned_by <= MAX_MEMORIES),
        starts,
        columns,
        (weights / totals[rows]).astype(np.float32),
        totals.astype(np.float32),
        snapshot.by_model,
    )


def _choose_walkable(
    snapshot: GraphSnapshot, mentioned_by: NDArray[np.int64], source: Whole, target: Whole
) -> NDArray[np.bool_]:
    """Choose the concepts to walk over: those that link memories; and, if a language model has read
    most memories, also those that a single memory mentions, if their names are near another. A
    model gives one thing many names, while rules find literal words (docs/adr/0024).
    """
    keeps = (mentioned_by >= MIN_MEMORIES) & (mentioned_by <= MAX_MEMORIES)
    if snapshot.by_model <= _MOSTLY or not snapshot.near:
        return keeps
    near_source, near_target = source[-snapshot.near :], target[-snapshot.near :]
    small = mentioned_by <= MAX_MEMORIES
    joined = small[near_source] & small[near_target]
    keeps[near_source[joined]] = True
    keeps[near_target[joined]] = True
    return keeps


@dataclass(frozen=True, slots=True)
class WalkStart:
    """Where a walk starts and how far it goes. Mass starts on `memories` and on the concepts that
    the query `named`; the share `damping` moves on at each step. At most `limit` memories are
    returned, the first `explained` of them with their paths.
    """

    memories: Mapping[UUID, float]
    named: Sequence[UUID]
    damping: float
    limit: int
    explained: int


def walk(matrix: Matrix, start: WalkStart) -> list[Walked]:
    """Return the memories with the most mass, best first, with the paths to the first of them. Mass
    on a start memory that the graph does not contain cannot move on, as on one without links; the
    memory keeps the same share, and is returned in addition to the limit: it must not lose its
    place because the graph knows nothing about it.
    """
    damping = start.damping
    begun = _restart_vector(matrix, start)
    nodes = np.fromiter(begun, dtype=np.int64, count=len(begun))
    mass = np.fromiter(begun.values(), dtype=np.float64, count=len(begun))
    if not len(nodes) or mass.sum() <= 0.0:
        return []
    unknown = {id: share for id, share in start.memories.items() if id not in matrix.places}
    total = float(mass.sum()) + sum(unknown.values())
    mass = mass / total
    held = np.zeros(len(matrix.starts) - 1)
    for _ in range(MAX_STEPS):
        held[nodes] += (1.0 - damping) * mass
        nodes, mass = _step(matrix, nodes, damping * mass)
        if not len(nodes):
            break
    touched = np.flatnonzero(held[: len(matrix.memories)])
    best = touched[np.argsort(-held[touched], kind="stable")][: start.limit]
    walked = [
        Walked(
            matrix.memories[place],
            float(held[place]),
            _path(matrix, held, begun, int(place)) if rank < start.explained else (),
        )
        for rank, place in enumerate(best)
    ]
    stayed = [
        Walked(id, (1.0 - damping) * share / total, is_known=False) for id, share in unknown.items()
    ]
    return sorted([*walked, *stayed], key=lambda reached: -reached.score)


def _restart_vector(matrix: Matrix, start: WalkStart) -> dict[int, float]:
    """Return the restart vector by node. A concept that many memories mention weighs less."""
    begun: dict[int, float] = {}
    for id, mass in start.memories.items():
        if (place := matrix.places.get(id)) is not None:
            begun[place] = mass
    for id in start.named:
        place = matrix.places.get(id)
        if place is not None and matrix.starts[place] < matrix.starts[place + 1]:
            begun[place] = 1.0 / int(matrix.mentioned_by[place - len(matrix.memories)])
    return begun


def _step(
    matrix: Matrix, nodes: NDArray[np.int64], mass: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """Move the mass of some nodes by one step; mass without outgoing links is lost."""
    keep = mass >= MIN_MASS
    nodes, mass = nodes[keep], mass[keep]
    first = matrix.starts[nodes]
    degrees = matrix.starts[nodes + 1] - first
    if degrees.sum() > MAX_LINKS_A_STEP:
        heaviest = np.argsort(-mass, kind="stable")
        within = np.cumsum(degrees[heaviest]) <= MAX_LINKS_A_STEP
        chosen = heaviest[within]
        mass, first, degrees = mass[chosen], first[chosen], degrees[chosen]
    total = int(degrees.sum())
    if not total:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    # The links of all the nodes, one after another.
    before = np.cumsum(degrees) - degrees
    links = np.arange(total) - np.repeat(before - first, degrees)
    reached, places = np.unique(matrix.targets[links], return_inverse=True)
    moved = np.repeat(mass, degrees) * matrix.shares[links]
    gathered: Floats = np.bincount(places, weights=moved).astype(np.float64)
    return reached.astype(np.int64), gathered


def _path(matrix: Matrix, held: Floats, begun: Mapping[int, float], memory: int) -> tuple[str, ...]:
    """Return the path on which most of a memory's mass arrived, traced back to a start node; if
    that is a concept of the query, the path begins with it. Empty if there is no such path.
    """
    way = [memory]
    for _ in range(_MAX_PATH):
        here = way[-1]
        links = slice(matrix.starts[here], matrix.starts[here + 1])
        sources = matrix.targets[links]
        # Weights are symmetric, so what a source gave follows from our share of it, rescaled.
        gave = held[sources] * matrix.shares[links] / matrix.totals[sources]
        gave[np.isin(sources, way)] = 0.0
        if not len(gave) or gave.max() <= 0.0:
            return ()
        way.append(int(sources[int(np.argmax(gave))]))
        if way[-1] in begun:
            return tuple(_label(matrix, place) for place in reversed(way[1:]))
    return ()


def _label(matrix: Matrix, place: int) -> str:
    memories = len(matrix.memories)
    return str(matrix.memories[place]) if place < memories else matrix.labels[place - memories]
