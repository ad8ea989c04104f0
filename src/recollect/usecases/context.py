"""The parts that wiring hands to the use cases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.memory.memory import Limits
from recollect.usecases.priority import Callers

if TYPE_CHECKING:
    from recollect.core.graph.model import ExtractionProgress
    from recollect.core.recall.fusion import Answers, Fused, Fusion, Weights
    from recollect.core.recall.request import LegName
    from recollect.ports.embedding import EmbeddingQueue
    from recollect.ports.graph import Walker
    from recollect.ports.recall import Fuser, Leg, Reranker
    from recollect.ports.stores import Clock, MemoryStore, SettingsStore
    from recollect.ports.sync import RevisionStore


async def fuse_here(
    answers: Answers, weights: Weights, fusion: Fusion, constant: float
) -> list[Fused]:
    """Fusion in this process: the default, because it is the faster one (docs/adr/0010)."""
    from recollect.core.recall.fusion import fuse

    return fuse(answers, weights, fusion, constant)


@dataclass(frozen=True, slots=True)
class Context:
    """`legs` holds the legs this store can run; one that is missing is reported as absent, and the
    `broken_legs` are there only to say why they cannot answer. Without
    a `reranker` there is no second stage. `queue` is there where vectors have a place, `revisions`
    where conflicts are kept, `graph_progress` and the `walker`, which is
    the graph leg, where a concept graph is. `parked` tells of an owner's memory with what its text
    failed too often to be embedded, if it did. `hint` says how a recall would
    find more, if it could.
    """

    store: MemoryStore
    settings: SettingsStore
    clock: Clock
    legs: Mapping[LegName, Leg]
    broken_legs: frozenset[LegName] = frozenset()
    limits: Limits = field(default_factory=Limits)
    reranker: Reranker | None = None
    queue: EmbeddingQueue | None = None
    fuser: Fuser = fuse_here
    callers: Callers = field(default_factory=Callers)
    revisions: RevisionStore | None = None
    walker: Walker | None = None
    graph_progress: Callable[[str], Awaitable[ExtractionProgress]] | None = None
    parked: Callable[[str, UUID], Awaitable[str | None]] | None = None
    hint: Callable[[str], str | None] = lambda _owner: None
