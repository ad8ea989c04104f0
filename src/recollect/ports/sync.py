"""What sync needs: the client's store and its lock, the server, and the server's changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeAlias
from uuid import UUID

if TYPE_CHECKING:
    from recollect.core.memory.project import Into, Renamed
    from recollect.core.sync.model import (
        Answer,
        ChangePage,
        Decision,
        Outgoing,
        Peer,
        Pushed,
        Remote,
        RemoteRevision,
        Revision,
        SyncStatus,
    )


class Lock(Protocol):
    """Held by one process at a time."""

    def acquire(self) -> bool:
        """Acquire it, unless another process holds it. True also if this process holds it
        already.
        """

    def release(self) -> None: ...


class SyncServer(Protocol):
    """A server as the engine sees it: it accepts writes and lists changes."""

    async def push(
        self,
        store: UUID,
        items: Sequence[Outgoing],
        revisions: Sequence[Revision],
        epoch: UUID | None = None,
    ) -> Pushed:
        """Send writes. Nothing is written if the server is in another epoch than the given one."""

    async def pull(self, store: UUID, cursor: int, limit: int, *, count: bool) -> ChangePage: ...

    async def rename_project(self, project: str, name: str, into: Into = "any") -> Renamed: ...


class RevisionStore(Protocol):
    """Where the losing sides of conflicts are kept."""

    async def revisions(self, owner: str) -> list[Revision]:
        """Return those that are not resolved, oldest first."""

    async def resolve(self, owner: str, revision: Revision) -> None:
        """Mark this revision as resolved; NotFound if it no longer exists."""


class SyncStore(RevisionStore, Protocol):
    """The local store as the engine sees it. Each method is one durable transaction."""

    async def store_id(self) -> UUID:
        """Return the store's own id, created once."""

    async def cursor(self) -> int:
        """Return how far changes were pulled."""

    async def epoch(self) -> UUID | None:
        """Return the server's epoch in which changes were pulled."""

    async def bind_to(self, peer: Peer) -> bool:
        """Bind to this server and owner; Conflict if bound to another. False if the server is in
        another epoch, because it was restored from a backup.
        """

    async def claim(self, limit: int) -> tuple[list[Outgoing], list[Revision]]:
        """Return writes and revisions that wait. Their edit ids are stored before they are sent."""

    async def apply_push_result(
        self, items: Sequence[Outgoing], revisions: Sequence[Revision], pushed: Pushed
    ) -> None:
        """Apply the server's answer to what was sent; park what it refused for good."""

    async def apply_page(self, page: ChangePage) -> None:
        """Apply a page of changes and store its cursor, both or neither."""

    async def reset(self, *, relink: bool = False) -> None:
        """Forget what is known about the server, and queue everything to be compared again;
        `relink`: with whatever server is next.
        """

    async def park(self, item: Outgoing, reason: str, remedy: str) -> None:
        """Do not send a write until it is edited or retried."""

    async def keep_here(self, revision: Revision) -> None:
        """Do not send this revision any more: the server does not accept it."""

    async def retry_parked(self) -> int:
        """Queue parked writes again; return how many."""

    async def follow_settings(self, said: Mapping[str, object]) -> None:
        """Adopt the server's recall settings, as far as possible."""

    async def unsent_names(self) -> Mapping[str, str]:
        """The former names of projects that the server was not told yet, with what they mean."""

    async def note_named(self, names: Mapping[str, str]) -> None:
        """The server was told these."""

    async def follow_names(self, said: Mapping[str, str]) -> None:
        """Let former names of projects mean what they mean on the server."""

    async def record_success(self, at: datetime) -> None:
        """Record that everything is sent and pulled."""

    async def record_error(self, error: str, remedy: str, *, key_refused: bool) -> bool:
        """Record why sync fails; False if that is already known."""

    async def status(self) -> SyncStatus:
        """Return how far sync is."""

    async def unsent_ids(self) -> set[UUID]:
        """Return the memories whose present text the server does not have."""

    async def data_version(self) -> int:
        """Return a number that changes whenever another process has written."""


Decide: TypeAlias = "Callable[[Outgoing, Remote | None], Decision | None]"


class ChangeStore(RevisionStore, Protocol):
    """The server's side of sync: changes by a position, of which none can be skipped
    (docs/adr/0018).
    """

    async def peer(self, owner: str) -> Peer:
        """Return the identity of this server, for this owner."""

    async def apply(
        self, owner: str, store: UUID, items: Sequence[Outgoing], decide: Decide
    ) -> list[Answer]:
        """Apply what `decide` returns for each item and the memory it meets, in one transaction;
        each answer contains what is current afterwards.
        """

    async def keep_revisions(
        self, owner: str, revisions: Sequence[Revision]
    ) -> list[RemoteRevision]:
        """Store revisions of memories that exist; return those stored, with their positions."""

    async def page(
        self,
        owner: str,
        store: UUID,
        after: int,
        limit: int,
        *,
        sensitive: bool,
        count: bool,
        project: str | None = None,
    ) -> ChangePage:
        """Return changes after a position, those of sensitive memories included; `count` counts how
        many are left. Revisions of sensitive memories only if `sensitive` is set. With a project,
        erasures of that project alone.
        """
