"""What the use cases need from the concept graph, which exists on Postgres alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from recollect.core.graph.extraction import Extraction, ExtractionJob, ReadTexts
    from recollect.core.graph.model import (
        Concept,
        ExtractionProgress,
        GraphPath,
        GraphSnapshot,
        GraphStats,
        Neighbourhood,
    )
    from recollect.core.graph.resolution import Neighbour, PendingConcept
    from recollect.core.graph.walk import Walked
    from recollect.core.recall.context import RecallContext
    from recollect.core.recall.fusion import Fused
    from recollect.core.recall.request import Declined
    from recollect.core.recall.space import StoredSpace


class ConceptGraph(Protocol):
    """The graph of one owner, as recall reads it.

    `as_of` asks for what was true at that moment: relationships that were valid then, and mentions
    by memories that were stored by then. Without it, what holds now.
    """

    async def version(self, owner: str) -> int:
        """A number that grows with every change that a walk could see; 0 before the first."""

    async def snapshot(self, owner: str, as_of: datetime | None = None) -> GraphSnapshot:
        """The whole graph as columns. Read once a version, off the hot path."""

    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]:
        """The concepts known by these normalised forms, as name or alias; those that exist."""

    async def written(self, owner: str, keys: Collection[str]) -> dict[str, tuple[UUID, str]]:
        """The same with each name as a memory writes it; without phrases, which are no names."""

    async def paths(
        self, owner: str, from_ids: Collection[UUID], memory_id: UUID
    ) -> list[GraphPath]:
        """The shortest ways from memories or concepts to a memory, for the explanation: at most
        one for each beginning, at most two relationships long.
        """


class Walk(Protocol):
    """A walk that is ready to start."""

    async def __call__(self, fused: Sequence[Fused]) -> Sequence[Walked]:
        """The memories it reaches from these, best first. It knows no scope."""


class Walker(Protocol):
    """Walks over the concept graph: what the graph leg is built on."""

    async def prepare(self, context: RecallContext) -> Walk | Declined:
        """Look up all that a walk needs besides where it starts."""


class ExtractionQueue(Protocol):
    """Which memories are still to be read for the graph. As for embedding there is no list of jobs
    to lose: a job is a memory that is not sensitive and whose present text no reader of at least
    this worth has read (`core/graph/extraction.py`).
    """

    async def claim(self, below: int, limit: int) -> list[ExtractionJob]:
        """Take some memories that no reader of worth `below` or more has read, and no one else has
        in hand. A worker that dies gives them back by silence; what was given back so is taken
        alone the next time, since it may be what killed the worker.
        """

    async def present(self, owner: str, ids: Collection[UUID]) -> list[ExtractionJob]:
        """Those of the memories that may be read, also if they were read before."""

    async def finish(self, done: Sequence[tuple[ExtractionJob, Extraction]], by: int) -> int:
        """Put into the graph what was read in texts that are still the same; how many were."""

    async def fail(self, jobs: Sequence[ExtractionJob], error: str) -> None:
        """Give jobs back with the reason; tried too often, they are parked."""

    async def give_back(self, jobs: Sequence[ExtractionJob]) -> None:
        """Give jobs back untried, at once and uncounted."""

    async def retry_parked(self) -> int:
        """Give parked jobs, and those that failed and wait for their turn, another chance now."""

    async def read_again(self, most: int) -> int:
        """Let what readers up to this worth have read wait to be read again."""

    async def progress(self, below: int, owner: str | None = None) -> ExtractionProgress:
        """How far reading is, for readers of this worth, with the memories of an owner; unsaid,
        with those of all. Calls and tokens are always the whole store's.
        """

    async def wait_for_work(self, seconds: float) -> None:
        """Return when there may be work, at the latest after this long."""

    async def spend(self, most: int) -> bool:
        """Count a call to a language model; False when `most` were made today."""

    async def spent(self, tokens: int) -> None:
        """Count the tokens of a call."""

    async def answers(self, owner: str, by: str, tickets: Sequence[str]) -> dict[str, object]:
        """What this language model has said before of the very same texts."""

    async def keep_answer(self, job: ExtractionJob, by: str, answer: object) -> None:
        """Keep what a language model said, as long as the text stays as it is."""


class ConceptNames(Protocol):
    """The names that are still to be compared with the others, by their vectors."""

    async def comparing_space(self) -> StoredSpace | None:
        """The space they are compared in, when there is one."""

    async def to_compare(self, space: StoredSpace, limit: int) -> list[PendingConcept]:
        """Some that wait, oldest first."""

    async def keep_vectors(
        self, space: StoredSpace, named: Sequence[tuple[PendingConcept, Sequence[float]]]
    ) -> None: ...

    async def nearest(
        self,
        space: StoredSpace,
        named: Sequence[tuple[PendingConcept, Sequence[float]]],
        *,
        least: float,
        limit: int,
    ) -> list[list[Neighbour]]:
        """For each name the concepts, compared before or earlier in the list, whose names are at
        least so similar, nearest first.
        """

    async def save_neighbours(
        self, space: StoredSpace, near: Sequence[tuple[PendingConcept, Sequence[Neighbour]]]
    ) -> None:
        """Keep what concepts are near to, and that they wait no more."""

    async def merge(self, owner: str, into: UUID, gone: UUID, *, by_hand: bool) -> bool:
        """Make one concept of two; False when one is gone, or a hand has decided otherwise."""


class GraphView(Protocol):
    """The graph as people view and edit it."""

    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]: ...

    async def concepts(self, owner: str, ids: Collection[UUID]) -> list[Concept]: ...

    async def neighbourhood(
        self,
        owner: str,
        id: UUID,
        limit: int,
        as_of: datetime | None = None,
        *,
        history: bool = False,
    ) -> Neighbourhood | None: ...

    async def path(
        self, owner: str, source: UUID, target: UUID, as_of: datetime | None = None
    ) -> GraphPath | None: ...

    async def stats(self, owner: str) -> GraphStats: ...

    async def merge(self, owner: str, into: UUID, gone: UUID, *, by_hand: bool) -> bool: ...

    async def split(self, owner: str, concept: UUID, key: str, name: str) -> UUID: ...


class GraphStore(ConceptGraph, ExtractionQueue, ConceptNames, GraphView, Protocol):
    """All of the graph that a store has."""


class FactReader(Protocol):
    """A language model that reads texts for the graph."""

    @property
    def name(self) -> str:
        """Which model, at which address: answers of two are not exchanged."""

    @property
    def batch(self) -> int:
        """How many texts one call takes."""

    async def read(self, texts: Sequence[str]) -> ReadTexts:
        """What each text says; a text of which the model said nothing usable is missing.
        ModelUnavailable when there is no answer at all.
        """


class Graph(Protocol):
    """What a shell can ask of one owner's graph, here or on a server elsewhere. Concepts are named
    as people write them.
    """

    async def show(
        self, name: str, *, limit: int = 20, as_of: datetime | None = None, history: bool = False
    ) -> Neighbourhood: ...

    async def path(
        self, source: str, target: str, *, as_of: datetime | None = None
    ) -> GraphPath | None: ...

    async def stats(self) -> GraphStats: ...

    async def merge(self, into: str, other: str) -> Concept: ...

    async def split(self, concept: str, alias: str) -> Concept: ...
