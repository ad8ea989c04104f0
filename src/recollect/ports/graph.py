"""What the use cases need from the concept graph."""

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
    by memories that were stored by then. Without it, what is valid now.
    """

    async def version(self, owner: str) -> int:
        """Return a number that grows with every change that a walk could see; 0 before the
        first.
        """

    async def snapshot(self, owner: str, as_of: datetime | None = None) -> GraphSnapshot:
        """Return the whole graph as columns. It is read once per version, off the hot path."""

    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]:
        """Return the concepts with these normalised forms as a name or an alias, as far as they
        exist.
        """

    async def written(self, owner: str, keys: Collection[str]) -> dict[str, tuple[UUID, str]]:
        """Do the same, with each name as a memory writes it; without phrases, which are no
        names.
        """

    async def paths(
        self, owner: str, from_ids: Collection[UUID], memory_id: UUID
    ) -> list[GraphPath]:
        """Find the shortest paths from memories or concepts to a memory, for the explanation: at
        most one from each start, at most two relationships long.
        """


class Walk(Protocol):
    """A prepared walk."""

    async def __call__(self, fused: Sequence[Fused]) -> Sequence[Walked]:
        """Return the memories that it reaches from these, best first. It ignores the scope."""


class Walker(Protocol):
    """Walks over the concept graph, which the graph leg uses."""

    async def prepare(self, context: RecallContext) -> Walk | Declined:
        """Look up everything that a walk needs except where it starts."""


class ExtractionQueue(Protocol):
    """Which memories still have to be read for the graph. As for embedding, there is no list of
    jobs to lose: a job is a memory that is not sensitive and whose present text was not read at the
    required level (`core/graph/extraction.py`).
    """

    async def claim(self, below: int, limit: int) -> list[ExtractionJob]:
        """Claim some memories that were not read at level `below` or higher, and that no other
        worker has claimed. The claims of a worker that dies expire; a memory whose claim expired is
        then claimed alone, since it may be what killed the worker.
        """

    async def present(self, owner: str, ids: Collection[UUID]) -> list[ExtractionJob]:
        """Return those of the memories that may be read, even if they were read before."""

    async def finish(self, done: Sequence[tuple[ExtractionJob, Extraction]], by: int) -> int:
        """Store in the graph what was read at level `by` in texts that have not changed; return how
        many.
        """

    async def fail(self, jobs: Sequence[ExtractionJob], error: str) -> None:
        """Return failed jobs with the error; after too many attempts they are parked."""

    async def give_back(self, jobs: Sequence[ExtractionJob]) -> None:
        """Return jobs at once, without counting an attempt."""

    async def retry_parked(self) -> int:
        """Retry parked and failed jobs now."""

    async def read_again(self, most: int) -> int:
        """Queue the memories again that were read at this level or lower."""

    async def progress(self, below: int, owner: str | None = None) -> ExtractionProgress:
        """Return how many memories of an owner, or of all owners, were read at this level. Calls
        and tokens are always those of the whole store.
        """

    async def wait_for_work(self, seconds: float) -> None:
        """Return when there may be work, or after `seconds`."""

    async def spend(self, most: int) -> bool:
        """Count a call to a language model; False if `most` were already made today."""

    async def spent(self, tokens: int) -> None:
        """Count the tokens of a call."""

    async def answers(self, owner: str, by: str, tickets: Sequence[str]) -> dict[str, object]:
        """Return this language model's earlier answers about exactly these texts."""

    async def keep_answer(self, job: ExtractionJob, by: str, answer: object) -> None:
        """Store a language model's answer until the text changes."""


class ConceptNames(Protocol):
    """The names that still have to be compared with the others, by their vectors."""

    async def comparing_space(self) -> StoredSpace | None:
        """Return the space in which they are compared, if there is one."""

    async def to_compare(self, space: StoredSpace, limit: int) -> list[PendingConcept]:
        """Return some that wait, oldest first."""

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
        """Find for each name the nearest concepts among those compared before or earlier in the
        list, whose similarity is at least `least`, nearest first.
        """

    async def save_neighbours(
        self, space: StoredSpace, near: Sequence[tuple[PendingConcept, Sequence[Neighbour]]]
    ) -> None:
        """Store the neighbours of concepts, which then no longer wait."""

    async def merge(self, owner: str, into: UUID, gone: UUID, *, by_hand: bool) -> bool:
        """Merge two concepts into one; False if one is gone, or a person has decided otherwise."""


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
    """The whole graph of a store."""


class FactReader(Protocol):
    """A language model that reads texts for the graph."""

    @property
    def name(self) -> str:
        """Which model, at which address: the answers of two models are not interchangeable."""

    @property
    def batch(self) -> int:
        """How many texts one call takes."""

    async def read(self, texts: Sequence[str]) -> ReadTexts:
        """Read what each text says; a text is missing if the model's answer about it is unusable.
        ModelUnavailable if there is no answer at all.
        """


class Graph(Protocol):
    """What a shell can ask about one owner's graph, here or on another server. Concepts are named
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
