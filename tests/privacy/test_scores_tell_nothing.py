"""What one owner keeps as sensitive cannot be learnt by another, neither from scores nor from
counts; and an owner who keeps much of it finds it as well as anything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from tests.adapters.postgres.test_statistics import frequencies
from tests.adapters.vectors import SPACE
from tests.conformance.samples import memory
from tests.serving import Running, running

from recollect.adapters.postgres.store import PostgresStore
from recollect.core.memory.memory import EVERYWHERE, Memory
from recollect.core.recall.settings import WordQuery

VICTIM, ATTACKER = "victim", "attacker"
PINS = ["4711", "0815", "1234", "9999", "2580"]
PIN = PINS[0]

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url) as opened:
        yield opened


async def scores(store: PostgresStore, owner: str, text: str) -> dict[UUID, float]:
    found = await store.search_words(owner, EVERYWHERE, WordQuery(text))
    return {hit.id: hit.score for hit in found}


async def guess(store: PostgresStore) -> list[float]:
    """The attack: an own memory of each guess, and what a recall of that guess scores it."""
    guesses = [
        memory(100 + number, f"guess {pin}", owner=ATTACKER) for number, pin in enumerate(PINS)
    ]
    for guess in guesses:
        if await store.get(ATTACKER, guess.id) is None:
            await store.add(guess)
    await store.maintain()
    return [
        (await scores(store, ATTACKER, pin))[one.id] for one, pin in zip(guesses, PINS, strict=True)
    ]


def secrets(*, is_sensitive: bool) -> list[Memory]:
    return [
        memory(number, f"the PIN is {PIN}", owner=VICTIM, is_sensitive=is_sensitive)
        for number in range(1, 4)
    ]


async def test_guessing_a_pin_by_scores_learns_nothing(store: PostgresStore) -> None:
    await store.add_many(secrets(is_sensitive=True))
    await store.add_many([memory(number, owner=VICTIM) for number in range(10, 20)])
    told = await guess(store)
    assert len(set(told)) == 1


async def test_guessing_a_pin_learns_nothing_after_a_memory_becomes_sensitive(
    store: PostgresStore, database_url: str
) -> None:
    """Also before the frequencies are next taken."""
    plain = secrets(is_sensitive=False)
    await store.add_many(plain)
    await guess(store)
    assert frequencies(database_url)[PIN] == 4
    for hit in plain:
        hidden = replace(hit, version=2, is_sensitive=True)
        assert await store.replace(hidden, based_on=1)
    assert PIN not in frequencies(database_url)
    told = [
        (await scores(store, ATTACKER, pin))[UUID(int=100 + number)]
        for number, pin in enumerate(PINS)
    ]
    assert len(set(told)) == 1


async def test_sensitive_memories_alone_do_not_make_every_write_count_words(
    store: PostgresStore, database_url: str
) -> None:
    """The frequencies know no plain memory yet, but the store did not grow by half."""
    await store.add_many([replace(memory(n), is_sensitive=True) for n in range(1, 101)])
    assert frequencies(database_url)[""] == 0
    await store.add(memory(200))
    assert frequencies(database_url)[""] == 0


async def test_sensitive_memories_are_ranked_by_rarity_among_their_owners(
    store: PostgresStore,
) -> None:
    """`router` and `password` are in all of them, `kestrel` in one: it decides, though none of
    these words is in a memory that others may know of.
    """
    common = [
        memory(number, f"the router password of site {number}", is_sensitive=True)
        for number in range(1, 60)
    ]
    rare = memory(60, "kestrel was set up by Nadia", is_sensitive=True)
    await store.add_many([*common, rare])
    await store.add_many([memory(number, "a router", owner=ATTACKER) for number in (90, 91)])
    await store.maintain()
    found = await scores(store, rare.owner, "router password kestrel")
    assert next(iter(found)) == rare.id


async def test_words_of_sensitive_memories_are_weighed_as_those_of_others(
    store: PostgresStore,
) -> None:
    """The same store twice, once all sensitive: the same order, and the same scores."""
    texts = ["the harbour", "the harbour bridge", "the old harbour bridge at night", "a bridge"]
    texts += ["the night watch"] * 5
    for owner, first, is_sensitive in (("open", 0, False), ("closed", 100, True)):
        many = [
            memory(first + number, text, owner=owner, is_sensitive=is_sensitive)
            for number, text in enumerate(texts, 1)
        ]
        await store.add_many(many)
    await store.maintain()
    query = "old harbour bridge at night"
    opened = [id.int for id in await scores(store, "open", query)]
    closed = [id.int - 100 for id in await scores(store, "closed", query)]
    assert closed == opened


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Running]:
    with running(database_url, tmp_path / "server") as up:
        yield up


def test_stats_count_the_callers_own_memories(server: Running, database_url: str) -> None:
    """The worker is off: a memory waits. Errors of another owner's memories are not shown."""
    with server.client() as mine, server.client() as others:
        queue = server.server.context.queue
        assert queue is not None
        opening = queue.open_space("compass", SPACE)
        asyncio.run_coroutine_threadsafe(opening, server.loop).result()
        for number in range(3):
            others.post("memories", json={"content": f"Berlin is a city, {number}"})
        mine.post("memories", json={"content": "The harbour"})
        with psycopg.connect(database_url, autocommit=True) as database:
            for table in ("embeddings", "extractions"):
                database.execute(
                    f"update {table} set last_error = 'it choked', due_at = 'infinity'"
                    " where memory_id in (select id from memories where content like 'Berlin%')"
                )
        told: dict[str, Any] = mine.get("stats").json()
        theirs: dict[str, Any] = others.get("stats").json()
    for part in ("embedding", "graph"):
        assert (told[part]["waiting"], told[part]["parked"]) == (1, 0), part
        assert told[part]["last_error"] is None
        assert theirs[part]["parked"] + theirs[part]["waiting"] == 3, part
