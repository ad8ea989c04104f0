"""What the use cases need from the world, as small Protocols that speak the domain.

Every method of a store takes the owner first: there is no way to ask a question that is not
limited to one owner.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias
from uuid import UUID

from recollect.key_ports import KeyStore as KeyStore
from recollect.space_ports import Spaces

if TYPE_CHECKING:
    from recollect.core.batch import BatchItem, Remembered
    from recollect.core.explain import WhyReport
    from recollect.core.following import AsOf, Fetched, Followed
    from recollect.core.fusion import Answers, Fused, Fusion, Weights
    from recollect.core.ids import IdPrefix
    from recollect.core.memory import Changes, Draft, Memory, Scope, Stats
    from recollect.core.paging import Cursor, Page
    from recollect.core.recall import Candidate, Declined, RecallRequest, Recollection
    from recollect.core.recall_settings import RecallSettings, SettingChange, WordQuery
    from recollect.core.space import EmbeddingJob, EmbeddingProgress, Space, StoredSpace, Survey
    from recollect.core.sync import (
        Answer,
        ChangePage,
        ConflictReport,
        Decision,
        Keep,
        Outgoing,
        Peer,
        Remote,
        RemoteRevision,
        Revision,
    )


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, with its time zone."""


class MemoryStore(Protocol):
    """Where memories live. What `add`, `replace` and `erase` acknowledge survives a kill.

    Memories and scopes arrive checked (`core/memory.py`): no text in them is unstorable.
    """

    async def add(self, memory: Memory) -> None:
        """Keep a new memory; Conflict when its id is taken."""

    async def add_unless_known(self, memory: Memory) -> Memory | None:
        """Keep a new memory unless there is one that says the same (`core/repeated.py`): then that
        one is the answer. However many writers store a text at once, one memory is kept.
        """

    async def add_all(self, memories: Sequence[Memory]) -> set[UUID]:
        """Keep those whose id is not taken, all in one transaction; the ids of those kept."""

    async def get(self, owner: str, id: UUID) -> Memory | None:
        """One memory, forgotten or not."""

    async def get_many(
        self, owner: str, ids: Collection[UUID], *, forgotten: bool = False
    ) -> dict[UUID, Memory]:
        """Those of the memories that exist; forgotten ones only when asked for."""

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
        """The same, and which of them another memory supersedes."""

    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Followed:
        """To the last successors, the newest of several each time, and to what links name."""

    async def ids_with_prefix(
        self,
        owner: str,
        prefix: IdPrefix,
        limit: int,
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        """The ids that begin so, in order; forgotten ones only when asked for. With a project,
        those of that project alone.
        """

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        """Put this state in the place of version `based_on`; False when that is not current."""

    async def erase(self, owner: str, id: UUID) -> bool:
        """Remove every trace of a memory; False when there was none."""

    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        """A scope's memories, newest first, from behind the cursor on."""

    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        """The lexical leg: matching memories, best first. No text can make it raise."""

    async def find_same(self, memories: Sequence[Memory]) -> dict[UUID, Memory]:
        """Of new memories of one owner, by their ids, the stored ones that say the same."""

    async def projects(self, owner: str) -> list[str]:
        """The projects that hold a memory which is not forgotten."""

    async def stats(self, owner: str, project: str | None = None) -> Stats:
        """What this owner has stored, in all or in one project, in numbers."""


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


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What the dense leg looks for: the vectors nearest to `vector`, in its own space alone, in a
    scope of about so many rows.
    """

    space: StoredSpace
    vector: Sequence[float]
    rows: int
    depth: int = 50
    exclude: frozenset[UUID] = frozenset()


class VectorIndex(Protocol):
    """The vectors of memories, where the store has a place for them."""

    async def survey(self, owner: str, scope: Scope) -> Survey:
        """What can be known before there is a vector."""

    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        """The dense leg: memories by cosine, best first; never fewer than exist in the scope,
        and no vector that was made for an older text.
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


class Reranker(Protocol):
    """A model that reads query and text together: the optional second stage."""

    @property
    def is_hosted(self) -> bool:
        """Whether text leaves this machine to be judged."""

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, larger is better."""


class SettingsStore(Protocol):
    """Run-time settings as rows, shared by every process on the store."""

    async def read_settings(self) -> Mapping[str, object]:
        """The settings that were changed from their defaults."""

    async def write_settings(self, changes: Mapping[str, object], *, by: str, at: datetime) -> None:
        """Keep these values and, of those that differ, who changed them; all of it or nothing."""

    async def settings_log(self, limit: int) -> list[SettingChange]:
        """The latest changes, newest first."""


class Leg(Protocol):
    """One way to find candidates, ordered best first; it raises when it should have and could not,
    and declines when there is nothing to ask.
    """

    async def __call__(
        self, owner: str, request: RecallRequest, settings: RecallSettings
    ) -> Sequence[Candidate] | Declined: ...


class Fuser(Protocol):
    """Merges the legs' answers as `core/fusion.py` defines it, wherever the sums are made."""

    async def __call__(
        self, answers: Answers, weights: Weights, fusion: Fusion, constant: float
    ) -> list[Fused]: ...


class Recollect(Protocol):
    """Everything a shell can ask, for one owner: the use cases here, or a server elsewhere.

    A `reference` is an id or any unambiguous prefix of one; a project may be named by a short name
    (`core/project.py`), of which `project_meant` says what it means, also in a folder.
    """

    async def remember(self, draft: Draft) -> Memory: ...
    async def remember_many(self, batch: Sequence[BatchItem]) -> list[Remembered]: ...
    async def recall(self, request: RecallRequest) -> Recollection: ...
    async def why(self, reference: str, request: RecallRequest) -> WhyReport: ...
    async def get(self, reference: str) -> Memory: ...
    async def page(self, scope: Scope, cursor: str | None, limit: int) -> Page: ...
    async def update(
        self, reference: str, changes: Changes, *, based_on: int | None = None
    ) -> Memory: ...
    async def link(self, reference: str, kind: str, target: str) -> Memory: ...
    async def unlink(self, reference: str, kind: str, target: str) -> Memory: ...
    async def forget(self, reference: str, *, forever: bool = False) -> UUID: ...
    async def project_meant(self, name: str, here: str | None = None) -> str: ...
    async def stats(self) -> Stats: ...
    async def settings(self) -> RecallSettings: ...
    async def change_settings(self, changes: Mapping[str, object]) -> RecallSettings: ...
    async def settings_log(self, limit: int) -> list[SettingChange]: ...
    async def conflicts(self) -> list[ConflictReport]: ...
    async def resolve(self, reference: str, keep: Keep) -> ConflictReport: ...


class RevisionStore(Protocol):
    """Where the losing sides of conflicts are kept."""

    async def revisions(self, owner: str) -> list[Revision]:
        """Those that nobody has resolved, oldest first."""

    async def resolve(self, owner: str, revision: Revision) -> None:
        """Keep that this revision is resolved; NotFound when it is not there any more."""


Decide: TypeAlias = "Callable[[Outgoing, Remote | None], Decision | None]"


class ChangeStore(RevisionStore, Protocol):
    """The server's side of sync: changes by a position that cannot be skipped (docs/adr/0018)."""

    async def peer(self, owner: str) -> Peer:
        """Which server this is, for this owner."""

    async def apply(
        self, owner: str, store: UUID, items: Sequence[Outgoing], decide: Decide
    ) -> list[Answer]:
        """Do what `decide` says of each item and of the memory it meets, all in one transaction;
        each answer holds what is current afterwards.
        """

    async def keep_revisions(
        self, owner: str, revisions: Sequence[Revision]
    ) -> list[RemoteRevision]:
        """Keep revisions of memories that are there; those kept, with their positions."""

    async def page(
        self, owner: str, store: UUID, after: int, limit: int, *, sensitive: bool, count: bool
    ) -> ChangePage:
        """Changes behind a position, sensitive memories among them; `count` tells how many are
        left. Revisions of sensitive memories only when asked for.
        """
