"""A server's sync over its REST API: the client that the engine talks to."""

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
    """Implements the `SyncServer` port, and `Service` for whatever is asked of the server itself.
    `owner` is whose memories these are here; `sensitive`: such memories may travel.
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
            replace(answer, remote=answer.remote and self._own(answer.remote))
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
        return replace(page, memories=tuple(map(self._own, page.memories)))

    def _own(self, remote: Remote) -> Remote:
        """With the memory's owner on this machine, whom the server may call otherwise."""
        if remote.state is None:
            return remote
        memory = replace(remote.state.memory, owner=self._owner)
        return replace(remote, state=replace(remote.state, memory=memory))
