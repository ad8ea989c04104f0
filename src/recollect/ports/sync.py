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
        """Hold it, unless another process does. True for the process that holds it already."""

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
        """Nothing is written when the server is in another epoch than the one named."""

    async def pull(self, store: UUID, cursor: int, limit: int, *, count: bool) -> ChangePage: ...

    async def rename_project(self, project: str, name: str, into: Into = "any") -> Renamed: ...


class RevisionStore(Protocol):
    """Where the losing sides of conflicts are kept."""

    async def revisions(self, owner: str) -> list[Revision]:
        """Those that are not resolved, oldest first."""

    async def resolve(self, owner: str, revision: Revision) -> None:
        """Keep that this revision is resolved; NotFound when it is not there any more."""


class SyncStore(RevisionStore, Protocol):
    """The local store as the engine sees it. Each method is one transaction on the disk."""

    async def store_id(self) -> UUID:
        """The store's own id, made once."""

    async def cursor(self) -> int:
        """How far changes were pulled."""

    async def epoch(self) -> UUID | None:
        """The server's epoch in which changes were pulled."""

    async def bind_to(self, peer: Peer) -> bool:
        """Bind to this server and owner; Conflict when it is bound to another. False when it is in
        another epoch, for it was restored from a backup.
        """

    async def claim(self, limit: int) -> tuple[list[Outgoing], list[Revision]]:
        """Writes and revisions that wait, with their edit ids on the disk before they are sent."""

    async def apply_push_result(
        self, items: Sequence[Outgoing], revisions: Sequence[Revision], pushed: Pushed
    ) -> None:
        """Take in what the server says of what was sent; park what it refused for good."""

    async def apply_page(self, page: ChangePage) -> None:
        """Take in a page of changes and remember its cursor, both or neither."""

    async def reset(self, *, relink: bool = False) -> None:
        """Forget what is known of the server, and let everything wait to be compared again;
        `relink`: with whatever server comes next.
        """

    async def park(self, item: Outgoing, reason: str, remedy: str) -> None:
        """Keep a write from being sent until it is edited or retried."""

    async def keep_here(self, revision: Revision) -> None:
        """Send this revision no more: the server does not take it."""

    async def retry_parked(self) -> int:
        """Give parked writes another chance."""

    async def follow_settings(self, said: Mapping[str, object]) -> None:
        """Let recall rank here as it does on the server, as far as it can."""

    async def unsent_names(self) -> Mapping[str, str]:
        """The former names of projects that the server was not told yet, with what they mean."""

    async def note_named(self, names: Mapping[str, str]) -> None:
        """The server was told these."""

    async def follow_names(self, said: Mapping[str, str]) -> None:
        """Let former names of projects mean what they mean on the server."""

    async def record_success(self, at: datetime) -> None:
        """All is sent and pulled."""

    async def record_error(self, error: str, remedy: str, *, key_refused: bool) -> bool:
        """Why sync does not get on; False when that is known already."""

    async def status(self) -> SyncStatus:
        """How far it is."""

    async def unsent_ids(self) -> set[UUID]:
        """The memories whose present text the server does not have."""

    async def data_version(self) -> int:
        """A number that is another one after any other process has written."""


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
        """Changes behind a position, sensitive memories among them; `count` counts how many are
        left. Revisions of sensitive memories only when asked for. With a project, erasures of that
        project alone.
        """
