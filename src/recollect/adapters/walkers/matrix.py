"""One owner's concept graph as a sparse matrix, and a walk over it that touches only what it needs.

Personalised PageRank is a sum over walks: of the mass that a node gets, one share stays and the
other goes on to its neighbours. So it is summed step by step from where it starts, and mass too
small to matter is dropped: the cost is that of the neighbourhood, not of the graph
(docs/adr/0025). Plain numpy arrays are enough for that.
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

# With a damping of .6, what is left after 12 steps is .2% of the mass.
MAX_STEPS: Final = 12
MIN_MASS: Final = 1e-4
"""Of a total of 1, and at one step; a tenth of it changes no figure of the benchmark."""
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
        """Those of some concepts that tell memories apart. One that is mentioned everywhere, as a
        speaker's name is in a chat, leads nowhere: a walk for its sake would cost time and change
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
    """The matrix of a graph, with what links nothing and what links everything left out."""
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
    # A memory's weight of 1 is shared by what it mentions, so that a long list weighs no more than
    # a sentence; a rarer concept has a greater part in it.
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
    """Which concepts are walked over: those that link memories, and where a language model has read
    most of them also one that a single memory mentions, if its name is near another. A model gives
    one thing many names; what rules find are the words as they stand (docs/adr/0024).
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
    """The memories with most mass, best first, and the paths that led to the first of them. What
    starts on a memory that the graph does not know cannot move on, as on one that is linked to
    nothing; it keeps the same share, and comes on top of the limit. That the graph is silent
    about it must not cost it its place.
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
    """The restart vector by places. A concept that many memories mention says less of each."""
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
    """Where the mass of some nodes goes in one step; what has no way on is lost to the walk."""
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
    """The way most of a memory's mass came, backwards to a node that it began on; from a concept
    that the query names, the path begins with that. Without any such way there is none.
    """
    way = [memory]
    for _ in range(_MAX_PATH):
        here = way[-1]
        links = slice(matrix.starts[here], matrix.starts[here + 1])
        sources = matrix.targets[links]
        # Weights are the same both ways: a source's share of here is ours of it, in its measure.
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
