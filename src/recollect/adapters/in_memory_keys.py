"""Keys that last as long as the process: those of the page of a local store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from recollect.core.privacy.keys import Key


@dataclass(slots=True)
class InMemoryKeys:
    """Implements KeyStore. No call waits, so each one is atomic."""

    _keys: dict[UUID, Key] = field(default_factory=dict)

    async def add_key(self, key: Key) -> None:
        self._keys[key.id] = key

    async def add_first_key(self, key: Key) -> bool:
        if self._keys:
            return False
        await self.add_key(key)
        return True

    async def find_key(self, digest: bytes) -> Key | None:
        return next((key for key in self._keys.values() if key.digest == digest), None)

    async def list_keys(self) -> Sequence[Key]:
        return sorted(self._keys.values(), key=lambda key: (key.created_at, key.id))

    async def revoke_key(self, id: UUID, at: datetime) -> bool:
        key = self._keys.get(id)
        if key is None or (key.revoked_at is not None and key.revoked_at <= at):
            return False
        self._keys[id] = replace(key, revoked_at=at)
        return True

    async def replace_key(self, id: UUID, at: datetime, new: Key) -> bool:
        key = self._keys.get(id)
        if key is None or key.revoked_at is not None:
            return False
        self._keys |= {id: replace(key, revoked_at=at), new.id: new}
        return True

    async def note_key_uses(self, used: Mapping[UUID, datetime]) -> None:
        for id in used.keys() & self._keys.keys():
            self._keys[id] = replace(self._keys[id], last_used_at=used[id])
