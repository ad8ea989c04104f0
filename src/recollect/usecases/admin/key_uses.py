"""Record when each key was last used, without delaying any request.

Uses are collected here and written once a minute, and when the server stops. A crash loses at most
the last minute.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.core.errors import StoreError
from recollect.ports.keys import KeyStore
from recollect.ports.stores import Clock
from recollect.usecases.tasks import repeating

_SECONDS: Final = 60.0


class KeyUses:
    """Use it within `key_uses`."""

    def __init__(self, keys: KeyStore, clock: Clock) -> None:
        self._keys = keys
        self._clock = clock
        self._used: dict[UUID, datetime] = {}

    def note(self, id: UUID) -> None:
        self._used[id] = self._clock.now()

    async def write(self) -> None:
        used, self._used = self._used, {}
        if not used:
            return
        try:
            await self._keys.note_key_uses(used)
        except StoreError:
            self._used = used | self._used  # next time


@asynccontextmanager
async def key_uses(keys: KeyStore, clock: Clock) -> AsyncIterator[KeyUses]:
    """While entered, recorded uses are written every minute; the rest at the end."""
    uses = KeyUses(keys, clock)
    async with repeating(uses.write, _SECONDS):
        yield uses
