"""The keys of a remote server, over its REST API with an admin key."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from recollect.adapters.http.client import RemoteService
from recollect.core.memory.ids import IdPart
from recollect.core.privacy.keys import Key
from recollect.wire.admin import KEYS, NEW_KEY, REVOKED
from recollect.wire.plain import to_plain


class RemoteKeys:
    """Implements the `Keys` port with an open connection to a server."""

    def __init__(self, server: RemoteService) -> None:
        self._ask = server.ask

    async def list(self) -> Sequence[Key]:
        return await self._ask(KEYS, "GET", "keys")

    async def create(
        self,
        owner: str | None = None,
        label: str = "",
        *,
        role: str = "member",
        project: str | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[Key, str]:
        body = {
            "owner": owner,
            "label": label,
            "role": role,
            "project": project,
            "expires_at": to_plain(expires_at),
        }
        return await self._ask(NEW_KEY, "POST", "keys", body=body)

    async def rotate(self, reference: str, grace: timedelta) -> tuple[Key, str]:
        body = {"grace_seconds": int(grace.total_seconds())}
        return await self._ask(NEW_KEY, "POST", f"{_path(reference)}/rotate", body=body)

    async def revoke(self, reference: str) -> UUID:
        return (await self._ask(REVOKED, "DELETE", _path(reference))).revoked


def _path(reference: str) -> str:
    """Check a reference before it becomes part of a URL: an id has only digits and hyphens."""
    return f"keys/{IdPart.parse(reference, shown_by='recollect keys list').text}"
