"""The parts that wiring hands to the use cases."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.memory.memory import Limits
from recollect.core.recall.context import PhaseShares
from recollect.core.recall.settings import RecallSettings
from recollect.usecases.priority import Callers

if TYPE_CHECKING:
    from recollect.core.admin.stats import CurationCounts
    from recollect.core.graph.model import ExtractionProgress
    from recollect.core.recall.request import LegName
    from recollect.ports.curation import CurationStore
    from recollect.ports.embedding import EmbeddingQueue
    from recollect.ports.recall import LateInteraction, Leg, Reranker, SecondPhaseLeg
    from recollect.ports.stores import Clock, MemoryStore, SettingsStore
    from recollect.ports.sync import RevisionStore


def no_hint(_owner: str) -> str | None:
    return None


async def allow_links(
    _owner: str, _targets: Collection[UUID], _pending: Collection[UUID] = ()
) -> None:
    """An owner may link any of their memories."""


async def nothing_to_do() -> None:
    """Nothing waits, or a worker does it."""


@dataclass(frozen=True, slots=True)
class Context:
    """`legs` holds the legs this store can run: a missing one is reported as absent, and the
    `broken_legs` are included only to say why they cannot answer. Those of the `second_phase`
    reorder what the others found; `shares` is how the phases divide the deadline. The second stage
    is the `reranker` or `late`, depending on the settings. `queue` is set if the store holds
    vectors, `revisions` if it records conflicts, `graph_progress` if it has a concept graph,
    `curation` and `curation_counts` if it stores proposals. `parked` returns why the text of an
    owner's memory could not be embedded, if it failed too often, `has_vector` whether a memory has
    a vector in the active space, and `concepts_of` the concepts it mentions. `recalling` is entered
    around each recall, to trace it. Before a recall, `catch_up` embeds some of what waits, in a
    process without workers. `hint` says how a recall could find more, if it could.
    `default_settings` apply where the store has no row. `actor` is the writer's name in the
    history. `check_links` refuses targets that the writer may not link to.
    """

    store: MemoryStore
    settings: SettingsStore
    clock: Clock
    legs: Mapping[LegName, Leg]
    broken_legs: frozenset[LegName] = frozenset()
    limits: Limits = field(default_factory=Limits)
    reranker: Reranker | None = None
    late: LateInteraction | None = None
    queue: EmbeddingQueue | None = None
    callers: Callers = field(default_factory=Callers)
    revisions: RevisionStore | None = None
    second_phase: Mapping[LegName, SecondPhaseLeg] = field(default_factory=dict)
    shares: PhaseShares = field(default_factory=PhaseShares)
    graph_progress: Callable[[str], Awaitable[ExtractionProgress]] | None = None
    curation: Callable[[], CurationStore] | None = None
    curation_counts: Callable[[str], Awaitable[CurationCounts]] | None = None
    parked: Callable[[str, UUID], Awaitable[str | None]] | None = None
    has_vector: Callable[[str, UUID], Awaitable[bool]] | None = None
    concepts_of: Callable[[str, UUID], Awaitable[Sequence[str]]] | None = None
    recalling: Callable[[], AbstractContextManager[object]] = nullcontext
    catch_up: Callable[[], Awaitable[None]] = nothing_to_do
    hint: Callable[[str], str | None] = no_hint
    default_settings: RecallSettings = field(default_factory=RecallSettings)
    timeouts: Timeouts = TIMEOUTS
    actor: str | None = None
    check_links: Callable[[str, Collection[UUID], Collection[UUID]], Awaitable[None]] = allow_links
