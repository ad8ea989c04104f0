"""Looks up the keys of requests with few database connections.

Every request needs its key looked up, and a revoked key must not work again, so nothing is cached.
But requests with the same key that arrive during a lookup share the next one: a key that floods the
server costs no more than any other. And keys that were never valid here are looked up one at a
time, so that guesses do not take connections from everyone else.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from recollect.core.privacy.keys import Key, digest

_LOOKUPS: Final = 4
_MAX_KNOWN: Final = 10_000

SignIn = Callable[[str], Awaitable[Key]]
"""The key with a text; NotAllowed if none is valid."""


class KeyLookups:
    """One per server."""

    def __init__(self, sign_in: SignIn) -> None:
        self._sign_in = sign_in
        self._pending: dict[bytes, asyncio.Task[Key]] = {}
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._known_lane = asyncio.Semaphore(_LOOKUPS)
        self._unknown_lane = asyncio.Semaphore(1)

    async def find(self, text: str) -> Key:
        """The valid key with this text, by a lookup that starts after this call; NotAllowed if
        there is none.
        """
        hashed = digest(text)
        pending = self._pending.get(hashed)
        if pending is None:
            pending = asyncio.create_task(self._look_up(hashed, text), name="key lookup")
            pending.add_done_callback(_retrieve)
            self._pending[hashed] = pending
        return await asyncio.shield(pending)

    async def _look_up(self, hashed: bytes, text: str) -> Key:
        async with self._known_lane if hashed in self._known else self._unknown_lane:
            del self._pending[hashed]  # later callers need a later lookup
            key = await self._sign_in(text)
        self._known[hashed] = None
        self._known.move_to_end(hashed)
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)
        return key


def _retrieve(task: asyncio.Task[Key]) -> None:
    """If everyone who waited is gone, nothing else would retrieve its error."""
    if not task.cancelled():
        task.exception()
