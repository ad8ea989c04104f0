"""What a server needs to keep keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from recollect.core.privacy.keys import Key


class KeyStore(Protocol):
    """The keys a server knows. It keeps their hashes, never the keys."""

    async def add_key(self, key: Key) -> None:
        """Keep a new key."""

    async def add_first_key(self, key: Key) -> bool:
        """Keep a key if there has been none yet; however many try at once, one does."""

    async def find_key(self, digest: bytes) -> Key | None:
        """The key with this hash, revoked or not."""

    async def list_keys(self) -> Sequence[Key]:
        """All keys, oldest first."""

    async def revoke_key(self, id: UUID, at: datetime) -> bool:
        """Stop honouring a key at this moment; False when there is none that ends later."""

    async def replace_key(self, id: UUID, at: datetime, new: Key) -> bool:
        """Revoke a key at this moment and keep a new one, both or neither; False when there is no
        such key, or it is revoked already. However many try at once, one does.
        """

    async def note_key_uses(self, used: Mapping[UUID, datetime]) -> None:
        """Keep when each of these keys was last used."""


class Keys(Protocol):
    """What an admin can ask about the keys of a server, on its database or over its API. A
    `reference` is an id or any unambiguous end or beginning of one.
    """

    async def list(self) -> Sequence[Key]:
        """All keys, oldest first, never their texts."""

    async def create(
        self,
        owner: str | None = None,
        label: str = "",
        *,
        role: str = "member",
        project: str | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[Key, str]:
        """A new key, and its text."""

    async def rotate(self, reference: str, grace: timedelta) -> tuple[Key, str]:
        """A new key in the place of another, which stays valid for the grace period."""

    async def revoke(self, reference: str) -> UUID:
        """Stop honouring a key at once; its id."""
