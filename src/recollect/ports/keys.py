"""What a server needs to store keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from recollect.core.privacy.keys import Key


class KeyStore(Protocol):
    """The keys that a server knows. It stores their hashes, never the keys."""

    async def add_key(self, key: Key) -> None:
        """Store a new key."""

    async def add_first_key(self, key: Key) -> bool:
        """Store a key if there has been none yet; of several that try at once, one succeeds."""

    async def find_key(self, digest: bytes) -> Key | None:
        """Find the key with this hash, revoked or not."""

    async def list_keys(self) -> Sequence[Key]:
        """Return all keys, oldest first."""

    async def revoke_key(self, id: UUID, at: datetime) -> bool:
        """Revoke a key at this moment; False if there is none that is valid for longer."""

    async def replace_key(self, id: UUID, at: datetime, new: Key) -> bool:
        """Revoke a key at this moment and store a new one, both or neither; False if there is no
        such key, or it is already revoked. Of several that try at once, one succeeds.
        """

    async def note_key_uses(self, used: Mapping[UUID, datetime]) -> None:
        """Store when each of these keys was last used."""


class Keys(Protocol):
    """What an admin can do with the keys of a server, on its database or over its API. A
    `reference` is an id or any unambiguous end or beginning of one.
    """

    async def list(self) -> Sequence[Key]:
        """Return all keys, oldest first, never their texts."""

    async def create(
        self,
        owner: str | None = None,
        label: str = "",
        *,
        role: str = "member",
        project: str | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[Key, str]:
        """Create a key; return it and its text."""

    async def rotate(self, reference: str, grace: timedelta) -> tuple[Key, str]:
        """Create a key that replaces another, which stays valid for the grace period."""

    async def revoke(self, reference: str) -> UUID:
        """Revoke a key at once and return its id."""
