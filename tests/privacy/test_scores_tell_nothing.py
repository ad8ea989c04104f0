"""An owner's sensitive memories cannot be inferred by another, neither from scores nor from counts;
and an owner with many of them finds them as well as anything else.
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
from tests.conformance.samples import memory
from tests.conformance.stores import SPACE
from tests.serving import Running, running

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.settings import WordQuery

VICTIM, ATTACKER = "victim", "attacker"
PIN = "4711"

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url) as opened:
        yield opened


async def scores(store: PostgresStore, owner: str, text: str) -> dict[UUID, float]:
    found = await store.search_words(owner, EVERYWHERE, WordQuery(text))
    return {hit.id: hit.score for hit in found}


async def test_words_of_a_memory_that_became_sensitive_are_not_kept(database_url: str) -> None:
    """Even before the frequencies are next computed."""
    plain = [memory(number, f"the PIN is {PIN}", owner=VICTIM) for number in range(1, 4)]
    async with PostgresStore(database_url, limits=Limits(live_words=0)) as store:
        await store.add_many(plain)
        assert frequencies(database_url, VICTIM)[PIN] == 3
        for memo in plain:
            hidden = replace(memo, version=2, is_sensitive=True)
            assert await store.replace(hidden, based_on=1)
        assert PIN not in frequencies(database_url, VICTIM)


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
        stats: dict[str, Any] = mine.get("stats").json()
        theirs: dict[str, Any] = others.get("stats").json()
    for part in ("embedding", "graph"):
        assert (stats[part]["waiting"], stats[part]["parked"]) == (1, 0), part
        assert stats[part]["last_error"] is None
        assert theirs[part]["parked"] + theirs[part]["waiting"] == 3, part
