"""Sync with a server over its REST API: the client that the sync engine uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from recollect.adapters.http.client import RemoteService
from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.sync.model import (
    PROTOCOL,
    ChangePage,
    Outgoing,
    Pushed,
    Remote,
    Revision,
    check_protocol,
)
from recollect.wire.plain import to_plain
from recollect.wire.sync import CHANGES, PUSHED


class RemoteSync(RemoteService):
    """Implements the `SyncServer` port, and `Service` for requests to the server itself. `owner` is
    the owner of these memories in the local store; `sensitive`: sensitive memories may be sent.
    """

    def __init__(
        self,
        url: str,
        key: str,
        *,
        owner: str,
        sensitive: bool = False,
        timeouts: Timeouts = TIMEOUTS,
    ) -> None:
        super().__init__(url, key, timeouts=timeouts)
        self._owner = owner
        self._sensitive = sensitive
        self.protocol = PROTOCOL

    async def push(
        self,
        store: UUID,
        items: Sequence[Outgoing],
        revisions: Sequence[Revision],
        epoch: UUID | None = None,
    ) -> Pushed:
        body = {
            "protocol": self.protocol,
            "store": store,
            "epoch": epoch,
            "sensitive": self._sensitive,
            "memories": to_plain(items),
            "revisions": to_plain(revisions),
        }
        pushed = await self.ask(PUSHED, "POST", "sync/push", body=body)
        check_protocol(pushed.peer.protocol, by="server")
        answers = [
            replace(answer, remote=answer.remote and self._with_local_owner(answer.remote))
            for answer in pushed.answers
        ]
        return replace(pushed, answers=tuple(answers))

    async def pull(self, store: UUID, cursor: int, limit: int, *, count: bool) -> ChangePage:
        query = {
            "protocol": self.protocol,
            "store": str(store),
            "cursor": cursor,
            "limit": limit,
            "sensitive": self._sensitive,
            "count": count,
        }
        page = await self.ask(CHANGES, "GET", "sync/pull", query=query)
        check_protocol(page.peer.protocol, by="server")
        return replace(page, memories=tuple(map(self._with_local_owner, page.memories)))

    def _with_local_owner(self, remote: Remote) -> Remote:
        """Replace the owner's name on the server by the one on this machine."""
        if remote.state is None:
            return remote
        memory = replace(remote.state.memory, owner=self._owner)
        return replace(remote, state=replace(remote.state, memory=memory))
