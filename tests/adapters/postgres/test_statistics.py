"""Word frequencies stay fresh enough, and writers do not wait for that.

Most tests store them from the first memory on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest
from tests.conformance.samples import OWNER, memory, search
from tests.waiting import SECONDS, wait_until

from recollect.adapters.postgres.lexical import statistics as lexeme_stats
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.errors import Conflict
from recollect.core.memory.memory import Memory

pytestmark = pytest.mark.anyio

STORED_AT_ONCE = Limits(live_words=0)
LIMIT = SECONDS  # reached only by a write that waits for a lock


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url, limits=STORED_AT_ONCE) as opened:
        yield opened


def frequencies(url: str, owner: str = OWNER) -> dict[str, int]:
    """Return the frequency of each word; '' is the number of memories at that time."""
    with psycopg.connect(url) as connection:
        query = "select lexeme, ndoc from lexeme_stats where owner = %s"
        found = connection.execute(query, (owner,))
        return {word: count for word, count in found if not word.startswith(" ")}


def rows(url: str) -> int | None:
    return frequencies(url).get("")


def many(first: int, last: int, content: str = "a harbour") -> list[Memory]:
    return [memory(number, content) for number in range(first, last)]


@contextmanager
def hold_lock(url: str, lock: str) -> Iterator[None]:
    """Hold a lock in another session."""
    with psycopg.connect(url) as connection:
        connection.execute(lock.encode())
        yield


def refreshes() -> list[asyncio.Task[object]]:
    """Return the refreshes that run in the background."""
    return [task for task in asyncio.all_tasks() if task.get_name() == "refresh frequencies"]


async def test_a_small_store_is_refreshed_with_the_write(
    store: PostgresStore, database_url: str
) -> None:
    """They are refreshed when the store has grown by half: from 3 memories at the fifth, 5 >= 1.5 ×
    3.
    """
    taken: list[int | None] = []
    for number in range(1, 13):
        await store.add(memory(number))
        taken.append(rows(database_url))
    assert taken == [1, 2, 3, 3, 5, 5, 5, 8, 8, 8, 8, 12]


async def test_a_word_of_a_single_memory_has_no_frequency(
    store: PostgresStore, database_url: str
) -> None:
    await store.add_many([memory(1, "blue harbour"), memory(2, "red harbour"), memory(3, "green")])
    assert frequencies(database_url) == {"": 3, "harbour": 2, "fact": 3}


async def test_a_large_store_is_refreshed_in_the_background(database_url: str) -> None:
    async with PostgresStore(database_url, limits=Limits(live_words=0, small_owner=10)) as store:
        await store.add_many(many(1, 11))
        assert rows(database_url) == 10
        await store.add_many(many(11, 15))  # 14 < 1.5 × 10
        assert refreshes() == []
        await store.add(memory(15))  # 15 >= 1.5 × 10
        (refresh,) = refreshes()
        await refresh
        assert frequencies(database_url).items() >= {"": 15, "harbour": 14}.items()


async def test_an_owner_that_grew_unseen_is_noticed_with_the_next_write(database_url: str) -> None:
    async with PostgresStore(database_url, limits=STORED_AT_ONCE) as store:
        await store.add_many(many(1, 5))
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("delete from lexeme_stats")
    async with PostgresStore(database_url, limits=STORED_AT_ONCE) as store:
        await store.add(memory(5))
        assert rows(database_url) == 5


async def test_words_of_an_owner_with_few_memories_are_kept_nowhere(database_url: str) -> None:
    limits = Limits(live_words=10)
    async with PostgresStore(database_url, limits=limits) as store:
        await store.add_many(many(1, 10))
        await store.maintain()
        assert frequencies(database_url) == {}
        await store.add(memory(10, "a harbour"))
        assert frequencies(database_url) == {"": 10, "a": 10, "harbour": 10, "fact": 10}
        await store.add_many([memory(number, owner="eve") for number in range(1, 5)])
        assert frequencies(database_url, "eve") == {}
        assert rows(database_url) == 10


async def test_closing_ends_a_refresh(database_url: str) -> None:
    opening = PostgresStore(database_url, limits=Limits(live_words=0, small_owner=0))
    async with asyncio.timeout(LIMIT), opening as store:
        await store.add_many(many(1, 100))
        (refresh,) = refreshes()
    assert refresh.done()


# Until this lock is free, a rebuild does not end. It polls: the rebuild would not wait for a lock.
GATE = 42
CLOSE_THE_GATE = f"""
create function wait_at_the_gate() returns trigger language plpgsql as $$
begin
    while not pg_try_advisory_xact_lock({GATE}) loop
        perform pg_sleep(0.01);
    end loop;
    return null;
end
$$;
create trigger gate before insert on lexeme_stats
for each statement execute function wait_at_the_gate()
"""


def is_rebuilding(url: str) -> bool:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "select from pg_locks where locktype = 'advisory' and granted and classid = %s::int8"
            " and database = (select oid from pg_database where datname = current_database())",
            (lexeme_stats.REBUILD_LOCK,),
        )
        return found.fetchone() is not None


async def test_maintain_waits_for_a_refresh_in_progress(database_url: str) -> None:
    """The refresh may have begun before the last write, and keeps `maintain` from its own."""
    with psycopg.connect(database_url) as connection:
        connection.execute(CLOSE_THE_GATE.encode())
    async with PostgresStore(database_url, limits=Limits(live_words=0, small_owner=0)) as store:
        with hold_lock(database_url, f"select pg_advisory_xact_lock({GATE})"):
            await store.add_many(many(1, 4))
            await asyncio.to_thread(wait_until, lambda: is_rebuilding(database_url))
            await store.add(memory(4))
            maintaining = asyncio.create_task(store.maintain())
            done, _ = await asyncio.wait([maintaining], timeout=0.2)
        await maintaining
    assert not done
    assert rows(database_url) == 4


async def test_two_stores_on_one_database(store: PostgresStore, database_url: str) -> None:
    async with PostgresStore(database_url, limits=STORED_AT_ONCE) as other:
        await asyncio.gather(
            *(store.add(memory) for memory in many(1, 11)),
            *(other.add(memory) for memory in many(11, 21)),
        )
        await asyncio.gather(store.maintain(), other.maintain())
    assert frequencies(database_url).items() >= {"": 20, "harbour": 20}.items()


async def test_only_one_process_refreshes_at_a_time(
    store: PostgresStore, database_url: str
) -> None:
    await store.add(memory(1))
    async with asyncio.timeout(LIMIT):
        with hold_lock(
            database_url,
            f"select pg_advisory_xact_lock({lexeme_stats.REBUILD_LOCK}, hashtext('{OWNER}'))",
        ):
            await store.add(memory(2))
            await store.maintain()
            assert rows(database_url) == 1
    await store.maintain()
    assert rows(database_url) == 2


async def test_a_process_that_wrote_little_sees_that_another_wrote_much(
    store: PostgresStore, database_url: str
) -> None:
    """It would take the store for a small one, and make its write wait for a large rebuild."""
    async with PostgresStore(database_url, limits=STORED_AT_ONCE) as other:
        await other.add_many(many(1, 101))
    await store.add(memory(101))
    assert rows(database_url) == 100


LOCKS = {
    "the frequencies, by whoever rewrites the table": "lock table lexeme_stats",
    "the frequencies, by a long transaction": "update lexeme_stats set ndoc = ndoc",
    "the memories, by an index being built": "lock memories in share update exclusive mode",
}


@pytest.mark.parametrize("lock", LOCKS.values(), ids=LOCKS)
async def test_a_write_does_not_wait_for_locks_on_the_frequencies(
    store: PostgresStore, database_url: str, lock: str
) -> None:
    await store.add(memory(1))
    async with asyncio.timeout(LIMIT):
        with hold_lock(database_url, lock):
            await store.add(memory(2))
            await store.add_many(many(3, 6))
            await store.maintain()
            assert len(await store.get_many(OWNER, [memory.id for memory in many(1, 6)])) == 5
    await store.maintain()
    assert rows(database_url) == 5


async def test_a_locked_table_does_not_keep_a_store_from_opening(database_url: str) -> None:
    async with PostgresStore(database_url):
        pass  # has created the policies
    async with asyncio.timeout(LIMIT):
        with hold_lock(database_url, "lock table lexeme_stats"):
            async with PostgresStore(database_url, limits=STORED_AT_ONCE) as store:
                await store.add(memory(1))


async def test_a_failed_refresh_loses_no_memory(store: PostgresStore, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("alter table lexeme_stats rename to elsewhere")
        await store.add(memory(1))
        connection.execute("alter table elsewhere rename to lexeme_stats")
    await store.add(memory(2))
    assert rows(database_url) == 2


async def test_forgotten_memories_are_not_counted(store: PostgresStore, database_url: str) -> None:
    anchors = many(1, 3, "an anchor in the harbour")
    await store.add_many([*anchors, *many(3, 6)])
    assert frequencies(database_url) == {
        "": 5,
        "fact": 5,
        "harbour": 5,
        "a": 3,
        "an": 2,
        "anchor": 2,
        "in": 2,
        "the": 2,
    }
    for anchor in anchors:
        forgotten = replace(anchor, version=2, deleted_at=anchor.created_at)
        assert await store.replace(forgotten, based_on=anchor.version)
    await store.maintain()
    assert frequencies(database_url) == {"": 3, "a": 3, "fact": 3, "harbour": 3}


async def test_erasing_the_last_memory_of_a_word_removes_its_frequency(
    store: PostgresStore, database_url: str
) -> None:
    secret = "hunter example.com/it's"
    await store.add_many([*many(1, 4, f"{secret} harbour"), *many(4, 20)])
    words = {"hunter", "example.com", "example", "exampl", "com", "example.com/it", "it", "s"}
    before = frequencies(database_url)
    assert words <= before.keys()
    for number in (1, 2):
        assert await store.erase(OWNER, memory(number).id)
        assert before.keys() == frequencies(database_url).keys()
    assert await store.erase(OWNER, memory(3).id)
    assert frequencies(database_url).keys() == before.keys() - words
    assert await search(store, "hunter") == []


async def test_only_its_owner_erases(store: PostgresStore, database_url: str) -> None:
    await store.add_many(many(1, 3))
    before = frequencies(database_url)
    assert not await store.erase("somebody else", memory(1).id)
    assert frequencies(database_url) == before


async def test_many_are_added_all_or_none(store: PostgresStore, database_url: str) -> None:
    await store.add(memory(5, "the first to have this id"))
    with pytest.raises(Conflict):
        await store.add_many(many(1, 10))
    kept = await store.get_many(OWNER, [memory.id for memory in many(1, 10)])
    assert [memory.content for memory in kept.values()] == ["the first to have this id"]
    await store.add_many(many(1, 5))
    assert len(await search(store, "harbour")) == 4
    await store.add_many([])
