"""What embedding needs: models, the queue of memories without a vector, and the spaces."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from recollect.core.recall.space import (
        EmbeddingJob,
        EmbeddingProgress,
        Space,
        StoredSpace,
    )


from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.core.recall.space import Gap, Space, StoredSpace


class Embedder(Protocol):
    """A model that turns text into vectors of one space."""

    @property
    def space(self) -> Space:
        """What it writes. Vectors of two spaces are never compared."""

    @property
    def is_hosted(self) -> bool:
        """Whether text leaves this machine to be embedded."""

    def at_once(self, texts: Sequence[str]) -> int:
        """How many of these, from the first on, it would embed in one go: at least one. A text
        that is sent later may have changed since, so whoever can look again does.
        """

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector of length 1 for each text, in order."""

    def embed_query(self, text: str) -> Awaitable[list[float]]:
        """The vector of a question. A model of this machine may begin before it is awaited; errors
        come with the awaiting.
        """


class Embedders(Protocol):
    """The embedding models that this process can run, by name."""

    async def embedder(self, name: str) -> Embedder:
        """The model of this name, made once and kept; ModelUnavailable when it cannot be had."""


class Spaces(Protocol):
    """The spaces, of which recall asks the active one. Whoever is killed in a method can call it
    again.
    """

    async def spaces(self) -> list[StoredSpace]:
        """All spaces, oldest first."""

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        """The space, made when it is not there: active when no other is, else filling. One that
        was retired is filling again.
        """

    async def build_indexes(self, space: StoredSpace) -> None:
        """Build the indexes that make this space fast for owners with many memories, and drop
        those that are no longer needed. Takes minutes, and no one else waits for it.
        """

    async def pending_indexes(self, space: StoredSpace) -> int:
        """How many owners still wait for their index; until then their recall is slower."""

    async def gap(self, space: StoredSpace) -> Gap:
        """What recall would lose if it asked this space now."""

    async def activate(self, space: StoredSpace) -> None:
        """From the next request on this space is asked. The one before it is retired and becomes
        the former one; whichever was that is given up. All of it or nothing, and nothing when the
        space is active already.
        """

    async def retire(self, space: StoredSpace) -> None:
        """Fill the former space no longer; it is kept for the way back as it was before."""

    async def drop_space(self, space: StoredSpace) -> None:
        """Give up a space that is not active and remove it with its vectors. Killed on the way it
        stays given up, and can be removed again. Conflict when `space` was seen given up and
        somebody has opened it since.
        """


class EmbeddingQueue(Spaces, Protocol):
    """Which memories a space still needs. There is no list of jobs to lose: a memory that is not
    sensitive and has no vector for its present text is a job (docs/adr/0008).
    """

    async def claim(self, space: StoredSpace, limit: int) -> list[EmbeddingJob]:
        """Take some jobs that nobody else has; alone one whose worker died and gave it back so."""

    async def finish(
        self, space: StoredSpace, done: Sequence[tuple[EmbeddingJob, Sequence[float]]]
    ) -> int:
        """Keep vectors whose text is still the same, and say how many were kept."""

    async def fail(self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str) -> None:
        """Give jobs back with the reason; tried too often, they are parked."""

    async def unchanged(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob]
    ) -> list[EmbeddingJob]:
        """Of jobs that were claimed those whose texts may still be embedded: nobody has edited,
        forgotten or erased one of their memories since, or made it sensitive.
        """

    async def give_back(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str | None = None
    ) -> None:
        """Give jobs back untried, at once and uncounted: the worker stops, or the whole model is
        at fault. Such an error is the space's own (`jobs` may be empty) and is told by `progress`
        until the next vectors are kept, or the model has recovered.
        """

    async def recovered(self, space: StoredSpace) -> None:
        """What was told of the model is over, unless somebody still waits for its answer."""

    async def retry_parked(self, space: StoredSpace) -> int:
        """Give parked jobs, and those that failed and wait for their turn, another chance now."""

    async def progress(self, space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
        """How far a space is with the memories of an owner; unsaid, with those of all."""

    async def wait_for_work(self, seconds: float) -> None:
        """Return when there may be work, at the latest after this long."""
