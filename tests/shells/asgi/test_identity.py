"""Keys are looked up for every request, with few queries to the store."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from functools import partial

import pytest

from recollect.core.errors import NotAllowed
from recollect.core.privacy.keys import Key
from recollect.shells.asgi.identity import KeyLookups
from recollect.usecases.admin.keys import authenticate, issue_key, revoke_key
from recollect_bench.in_memory import InMemoryStore


class Clock:
    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC)


class SlowStore(InMemoryStore):
    """Answers only when the test allows it, and counts lookups."""

    def __init__(self) -> None:
        super().__init__()
        self.lookups = 0
        self.open = asyncio.Event()

    async def find_key(self, digest: bytes) -> Key | None:
        self.lookups += 1
        await self.open.wait()
        return await super().find_key(digest)


async def settle() -> None:
    """Let every task run as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.anyio
async def test_requests_that_wait_share_a_lookup() -> None:
    store = SlowStore()
    _, text = await issue_key(store, Clock(), "me", "")
    lookups = KeyLookups(partial(authenticate, store, Clock()))
    waiting = [asyncio.create_task(lookups.find(text)) for _ in range(100)]
    await settle()
    more = [asyncio.create_task(lookups.find(text)) for _ in range(100)]
    await settle()
    store.open.set()
    found = await asyncio.gather(*waiting, *more)
    assert {key.owner for key in found} == {"me"}
    assert store.lookups == 2


@pytest.mark.anyio
async def test_a_lookup_that_began_before_does_not_answer_a_later_request() -> None:
    store = SlowStore()
    key, text = await issue_key(store, Clock(), "me", "")
    lookups = KeyLookups(partial(authenticate, store, Clock()))
    store.open.set()
    assert (await lookups.find(text)).id == key.id
    await revoke_key(store, Clock(), key.id)
    with pytest.raises(NotAllowed):
        await lookups.find(text)


@pytest.mark.anyio
async def test_guesses_do_not_hold_up_a_known_key() -> None:
    store = SlowStore()
    _, text = await issue_key(store, Clock(), "me", "")
    lookups = KeyLookups(partial(authenticate, store, Clock()))
    store.open.set()
    await lookups.find(text)
    store.open.clear()
    before = store.lookups
    guesses = [asyncio.create_task(lookups.find(f"rk_{number}")) for number in range(50)]
    known = asyncio.create_task(lookups.find(text))
    await settle()
    assert store.lookups == before + 2  # one guess, and the known key
    store.open.set()
    assert (await known).owner == "me"
    refused = await asyncio.gather(*guesses, return_exceptions=True)
    assert all(isinstance(error, NotAllowed) for error in refused)
