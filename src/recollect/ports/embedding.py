"""What embedding needs: models, the queue of memories without a vector, and the spaces."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from recollect.core.recall.late import Comparison, EmbeddedText, TokenVectors
    from recollect.core.recall.passages import PassageVector
    from recollect.core.recall.space import (
        EmbeddingJob,
        EmbeddingProgress,
        Gap,
        Space,
        StoredSpace,
    )


class Embedder(Protocol):
    """A model that turns text into vectors of one space."""

    @property
    def space(self) -> Space:
        """The space of its vectors. Vectors of two spaces are never compared."""

    @property
    def is_hosted(self) -> bool:
        """Whether text leaves this machine to be embedded."""

    def at_once(self, texts: Sequence[str]) -> int:
        """Return how many of these texts, from the first, it would embed in one batch: at least
        one. A text in a later batch may change in the meantime, so callers check it again before
        sending it.
        """

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector of length 1 for each text, in order."""

    def embed_query(self, text: str) -> Awaitable[list[float]]:
        """Return the vector of a question. A local model may start before it is awaited; errors are
        raised when it is.
        """


class TokenCodec(Protocol):
    """How the token vectors of one model are stored and compared with those of a query."""

    def encode(self, text: str, tokens: TokenVectors, start: int = 0) -> bytes:
        """Encode the vectors of a text's tokens, and where each token is in its memory's content:
        the text begins at character `start` of it.
        """

    def compare(
        self, query: str, tokens: TokenVectors, texts: Sequence[bytes]
    ) -> list[Comparison | None]:
        """Measure how well each text matches the query, token by token. None for one that cannot be
        read: damaged, or written by another codec.
        """


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """A model that also gives the vectors of a text's tokens, in the same pass. Not every model
    behind it exposes them: then `tokens` is None. The codec is None for a model whose tokens were
    not found to help.
    """

    @property
    def codec(self) -> TokenCodec | None: ...

    async def embed_documents_with_tokens(self, texts: Sequence[str]) -> list[EmbeddedText]:
        """Do what `embed_documents` does, with the tokens of each text."""

    def embed_query_with_tokens(self, text: str) -> Awaitable[EmbeddedText]:
        """Do what `embed_query` does, with the query's tokens, but without those of an instruction
        that the model wants before it.
        """


class BackgroundCache(Protocol):
    """Keeps the vectors of fixed texts for other processes. It may lose them at any time."""

    def read(self, space: Space, texts: Sequence[str]) -> list[list[float]] | None:
        """Return the vectors of these texts in this space, if they are cached."""

    def write(self, space: Space, texts: Sequence[str], vectors: Sequence[Sequence[float]]) -> None:
        """Cache them, if possible."""


class Embedders(Protocol):
    """The embedding models that this process can run, by name."""

    async def embedder(self, name: str) -> Embedder:
        """Return the model of this name, created once; ModelUnavailable if it cannot be loaded."""


class Spaces(Protocol):
    """The spaces; recall searches the active one. Every method can be repeated after a crash."""

    async def spaces(self) -> list[StoredSpace]:
        """Return all spaces, oldest first."""

    async def open_space(self, embedder: str, space: Space) -> StoredSpace:
        """Return the space, created if missing: active if there is no other, else filling. A
        retired space is filled again.
        """

    async def build_indexes(self, space: StoredSpace) -> None:
        """Build the indexes that make this space fast for owners with many memories, and drop those
        that are no longer needed. This takes minutes, and blocks no one else.
        """

    async def pending_indexes(self, space: StoredSpace) -> int:
        """Count the owners who still wait for their index; until then their recall is slower."""

    async def gap(self, space: StoredSpace) -> Gap:
        """Return what recall would miss if it searched this space now."""

    async def activate(self, space: StoredSpace) -> None:
        """Let recall search this space from the next request. The previous one is retired and
        becomes the former space; the former one before that is dropped. Atomic; does nothing if the
        space is already active.
        """

    async def retire(self, space: StoredSpace) -> None:
        """Stop filling the former space; it is kept for a rollback."""

    async def drop_space(self, space: StoredSpace) -> None:
        """Retire a space that is not active, then delete it and its vectors; after a crash it stays
        retired and can be dropped again. Conflict when it was opened again in the meantime.
        """


@runtime_checkable
class VectorOutbox(Protocol):
    """Changes of vectors that an engine outside the store has not confirmed yet."""

    async def drain(self) -> int:
        """Send some of them and return how many. StoreUnavailable if the engine cannot be
        reached.
        """

    async def unsent(self, owner: str | None = None) -> int:
        """Count those that wait, of an owner or of all."""

    async def wait_for_changes(self, seconds: float) -> None:
        """Return when there may be some, or after `seconds`."""

    async def rebuild(self) -> None:
        """Send everything again, into new collections, and remove the old ones."""

    async def leave(self) -> None:
        """Search in the store from now on, and remove everything from the engine."""

    async def describe(self) -> str:
        """Describe what the engine holds, for people. StoreUnavailable if it cannot be reached."""


Passages = Mapping["EmbeddingJob", Sequence["PassageVector"]]
"""The passages of each long text, in order."""

NO_PASSAGES: Passages = MappingProxyType({})

Tokens = Mapping["EmbeddingJob", Sequence[bytes]]
"""The encoded token vectors of each text that has any, a block for each passage, in order."""

NO_TOKENS: Tokens = MappingProxyType({})


class EmbeddingQueue(Spaces, Protocol):
    """Which memories a space still needs. There is no list of jobs to lose: a memory that is not
    sensitive and has no vector for its present text is a job (docs/adr/0008).
    """

    async def claim(
        self, space: StoredSpace, limit: int, max_bytes: int | None = None
    ) -> list[EmbeddingJob]:
        """Claim jobs that no other worker has. A job that may have killed its worker is claimed
        alone. Memories whose content is longer than `max_bytes` of UTF-8 are left to others.
        """

    async def finish(
        self,
        space: StoredSpace,
        done: Sequence[tuple[EmbeddingJob, Sequence[float]]],
        passages: Passages = NO_PASSAGES,
        tokens: Tokens = NO_TOKENS,
    ) -> int:
        """Store vectors whose text has not changed; return the number of memories. The vector in
        `done` is that of a text's first passage; the vectors of all passages of long texts are in
        `passages`.
        """

    async def fail(self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str) -> None:
        """Return failed jobs with the error; after too many attempts they are parked."""

    async def select_unchanged(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob]
    ) -> list[EmbeddingJob]:
        """Select the claimed jobs whose texts may still be embedded: none of their memories was
        edited, forgotten, erased or made sensitive since.
        """

    async def give_back(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str | None = None
    ) -> None:
        """Return jobs without counting an attempt: the worker stops, or the model fails. Such an
        error belongs to the space (`jobs` may be empty); `progress` reports it until vectors are
        stored again or the model has recovered.
        """

    async def clear_error(self, space: StoredSpace) -> None:
        """Clear the space's error, unless a job still waits for the model."""

    async def retry_parked(self, space: StoredSpace) -> int:
        """Retry parked and failed jobs now."""

    async def progress(self, space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
        """Count how many memories of an owner, or of all owners, a space has embedded."""

    async def token_bytes(self, space: StoredSpace, owner: str) -> int:
        """Return the size of an owner's token vectors in a space."""

    async def wait_for_work(self, seconds: float) -> None:
        """Return when there may be work, or after `seconds`."""
