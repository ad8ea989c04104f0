"""No change is skipped, however late its transaction commits: many writers against one reader."""

from __future__ import annotations

import asyncio
import random
from uuid import UUID, uuid4

import psycopg
import pytest
from tests.strategies import new_id

from recollect.adapters.postgres.store import PostgresStore

pytestmark = pytest.mark.anyio

WRITERS = 12
EACH = 12
_INSERT = """
insert into memories (id, owner, content, category, tags, expanded_keywords, importance,
    is_sensitive, version, created_at, updated_at)
values (%s, %s, 'x', 'fact', '{}', '{}', 0.5, false, 1, now(), now())
"""


async def write(url: str, owner: str, written: set[UUID], seed: int) -> None:
    """Draw a position, then wait before the commit; every fifth write is rolled back."""
    chance = random.Random(seed)
    async with await psycopg.AsyncConnection.connect(url) as connection:
        for number in range(EACH):
            id = new_id()
            await connection.execute(_INSERT, (id, owner))
            await asyncio.sleep(chance.random() * 0.01)
            if number % 5 == 4:
                await connection.rollback()
            else:
                await connection.commit()
                written.add(id)


async def read(store: PostgresStore, owner: str, seen: list[UUID], stop: asyncio.Event) -> None:
    """Read on from the cursor, as a client does, and once more after the last write."""
    cursor, this = 0, uuid4()
    while True:
        is_last = stop.is_set()
        page = await store.changes.page(owner, this, cursor, 5, sensitive=True, count=False)
        assert page.cursor >= cursor
        cursor = page.cursor
        seen.extend(change.id for change in page.memories)
        if is_last and not page.has_more:
            return


async def write_and_read(url: str) -> tuple[set[UUID], list[UUID]]:
    written: set[UUID] = set()
    seen: list[UUID] = []
    stop = asyncio.Event()
    async with PostgresStore(url) as store:
        owners = ("ada", "ada", "eve")
        reading = asyncio.create_task(read(store, "ada", seen, stop))
        mine: set[UUID] = set()
        await asyncio.gather(
            *(
                write(url, owner := owners[n % 3], mine if owner == "ada" else written, n)
                for n in range(WRITERS)
            )
        )
        stop.set()
        await reading
    return mine, seen


async def test_a_reader_misses_nothing_of_many_writers(database_url: str) -> None:
    mine, seen = await write_and_read(database_url)
    assert len(mine) == WRITERS * 2 // 3 * (EACH - EACH // 5)
    assert set(seen) == mine
    assert len(seen) == len(mine)


async def commit_late(url: str) -> tuple[set[UUID], list[UUID]]:
    """One writer draws its position and waits; another writes and commits; the reader reads; then
    the first commits, and the reader reads again.
    """
    first, second = new_id(), new_id()
    seen: list[UUID] = []
    cursor, this = 0, uuid4()
    async with (
        PostgresStore(url) as store,
        await psycopg.AsyncConnection.connect(url) as early,
        await psycopg.AsyncConnection.connect(url, autocommit=True) as late,
    ):
        await early.execute(_INSERT, (first, "ada"))
        writing = asyncio.create_task(late.execute(_INSERT, (second, "ada")))
        await _done_or_waiting(url, writing)
        for commit in (early.commit, None):
            page = await store.changes.page("ada", this, cursor, 5, sensitive=True, count=False)
            cursor = page.cursor
            seen.extend(change.id for change in page.memories)
            if commit is not None:
                await commit()
                await writing
    return {first, second}, seen


async def _done_or_waiting(url: str, writing: asyncio.Task[object]) -> None:
    waiting = """
        select count(*) from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
    """
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as looking:
        while not writing.done():
            cursor = await looking.execute(waiting)
            row = await cursor.fetchone()
            if row is not None and row[0]:
                return
            await asyncio.sleep(0)


async def test_a_transaction_that_commits_late_is_not_skipped(database_url: str) -> None:
    written, seen = await commit_late(database_url)
    assert set(seen) == written


async def test_without_the_lock_a_late_transaction_is_skipped(database_url: str) -> None:
    """Proves that the tests above can fail: a plain sequence skips the late one."""
    async with PostgresStore(database_url):
        pass  # has created the policies
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("create sequence plain")
        connection.execute("grant usage on sequence plain to public")
        connection.execute(
            "create or replace function recollect_draw(whose text, many bigint) returns bigint"
            " language sql volatile return nextval('plain')"
        )
        connection.execute("insert into owners values ('ada', 1000)")
    written, seen = await commit_late(database_url)
    assert len(written - set(seen)) == 1


async def test_a_cursor_reveals_nothing_of_other_owners_writes(database_url: str) -> None:
    """Two stores with the same writes by one owner; in the second, another writes in between."""
    from tests.conformance.samples import memory

    cursors: list[list[int]] = []
    async with PostgresStore(database_url) as store:
        for owner, others in (("quiet", 0), ("busy", 50)):
            seen: list[int] = []
            for number in range(1, 6):
                await store.add(memory(number, owner=owner))
                many = [memory(1000 * number + n, owner=f"beside {owner}") for n in range(others)]
                await store.add_many(many)
                page = await store.changes.page(owner, uuid4(), 0, 100, sensitive=True, count=True)
                seen += [page.cursor, *(remote.change for remote in page.memories)]
            cursors.append(seen)
    assert cursors[0] == cursors[1]


async def test_writers_of_many_rows_and_of_one_do_not_lock_each_other_out(
    database_url: str,
) -> None:
    """Pushes lock rows by id before positions, as single writers do: no transaction deadlocks."""
    from dataclasses import replace
    from datetime import UTC, datetime

    from tests.conformance.samples import OWNER, memory

    from recollect.core.memory.memory import Limits
    from recollect.core.sync.decide import decide
    from recollect.core.sync.model import Outgoing

    now = datetime.now(UTC)
    ids = [new_id() for _ in range(6)]
    async with PostgresStore(database_url) as store:
        for id in ids:
            await store.add(replace(memory(1), id=id))

        async def push(number: int) -> None:
            order = ids if number % 2 else ids[::-1]
            current = {id: await store.get(OWNER, id) for id in order}
            items = [
                Outgoing(
                    id, uuid4(), stored.version, stored.version + 1, {"content": "p"}, now, now
                )
                for id in order
                if (stored := current[id]) is not None
            ]
            await store.changes.apply(
                OWNER, uuid4(), items, lambda item, there: decide(OWNER, item, there, Limits(), now)
            )

        async def edit(number: int) -> None:
            stored = await store.get(OWNER, ids[number % len(ids)])
            assert stored is not None
            await store.replace(
                replace(stored, version=stored.version + 1), based_on=stored.version
            )

        work = [push(n) if n % 3 else edit(n) for n in range(60)]
        await asyncio.gather(*work)


async def test_what_is_pushed_twice_at_once_is_stored_once(database_url: str) -> None:
    """After a broken connection the first push may still be at work when the second comes."""
    from datetime import UTC, datetime

    from tests.conformance.samples import OWNER

    from recollect.core.memory.memory import Limits
    from recollect.core.sync.decide import decide
    from recollect.core.sync.model import Outgoing

    now = datetime.now(UTC)
    fields = {"content": "the harbour", "category": "fact"}
    async with PostgresStore(database_url) as store:
        writer = uuid4()
        items = [Outgoing(new_id(), uuid4(), 0, 1, fields, now, now) for _ in range(20)]

        async def push() -> list[UUID]:
            answers = await store.changes.apply(
                OWNER, writer, items, lambda item, there: decide(OWNER, item, there, Limits(), now)
            )
            assert all(answer.remote is not None for answer in answers)
            return [answer.id for answer in answers]

        expected = [item.id for item in items]
        assert await asyncio.gather(*(push() for _ in range(4))) == [expected] * 4
        assert (await store.stats(OWNER)).memories == len(items)
