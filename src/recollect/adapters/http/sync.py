"""A server's sync over its REST API: the client that the engine talks to."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from recollect.adapters.http.client import RemoteService
from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.sync.model import (
    PROTOCOL,
    ChangePage,
    Outgoing,
    Pushed,
    Revision,
    check_protocol,
)
from recollect.wire.sync import ChangesOut, PushedOut, push_body


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
        body = push_body(
            store,
            [*items],
            [*revisions],
            sensitive=self._sensitive,
            epoch=epoch,
            protocol=self.protocol,
        )
        answer = await self.ask(PushedOut, "POST", "sync/push", body=body)
        check_protocol(answer.protocol, by="server")
        return answer.to_pushed(self._owner)

    async def pull(self, store: UUID, cursor: int, limit: int, *, count: bool) -> ChangePage:
        query = {
            "protocol": self.protocol,
            "store": str(store),
            "cursor": cursor,
            "limit": limit,
            "sensitive": self._sensitive,
            "count": count,
        }
        answer = await self.ask(ChangesOut, "GET", "sync/pull", query=query)
        check_protocol(answer.protocol, by="server")
        return answer.to_page(self._owner)
