"""Connections are lent, looked at and replaced; whoever gets none is told why."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.waiting import wait_until

from recollect.adapters.postgres import pool
from recollect.adapters.postgres import timeouts as patience
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.core.errors import StoreBusy, StoreUnavailable

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def opened(url: str, connections: int = 3) -> AsyncIterator[Pool]:
    lending = Pool(url, connections)
    await lending.open()
    try:
        yield lending
    finally:
        await lending.close()


@pytest.fixture(autouse=True)
def much_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a slow machine fails no test."""
    monkeypatch.setattr(patience, "POOL_SECONDS", 60)


@contextmanager
def patience_of(seconds: float) -> Iterator[None]:
    """For what is told only when nobody waits any longer."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(patience, "POOL_SECONDS", seconds)
        yield


async def backend(lending: Pool) -> int:
    async with lending.reading() as connection:
        return await backend_of(connection)


async def backend_of(connection: Connection) -> int:
    row = await (await connection.execute("select pg_backend_pid() as pid")).fetchone()
    assert row is not None
    return int(row["pid"])


@contextmanager
def refusing(url: str) -> Iterator[psycopg.Connection]:
    """While entered, Postgres gives nobody a connection to this database; who has one keeps it."""
    name = sql.Identifier(str(conninfo_to_dict(url)["dbname"]))
    limit = sql.SQL("alter database {} connection limit {}")
    with psycopg.connect(url, autocommit=True) as keeper:
        keeper.execute(limit.format(name, 0))
        try:
            yield keeper
        finally:
            keeper.execute(limit.format(name, -1))


def end_all(keeper: psycopg.Connection) -> None:
    keeper.execute(
        "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
        " where datname = current_database() and pid <> pg_backend_pid()"
    )


def closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


async def test_the_backend_that_worked_last_works_next(database_url: str) -> None:
    async with opened(database_url) as lending:
        async with lending.reading() as one, lending.reading() as other:
            last = await backend_of(one)
            assert await backend_of(other) != last
        assert [await backend(lending) for _ in range(3)] == [last] * 3


async def test_what_went_wrong_in_a_transaction_is_undone_and_what_went_well_is_kept(
    database_url: str,
) -> None:
    write = "insert into settings (name, value) values (%s, '1')"
    async with opened(database_url, connections=1) as lending:
        async with lending.transaction() as connection:
            await connection.execute(write, ("kept",))
        with suppress(KeyError):
            async with lending.transaction() as connection:
                await connection.execute(write, ("undone",))
                raise KeyError
        async with lending.reading() as connection:
            rows = await (await connection.execute("select name from settings")).fetchall()
        assert [row["name"] for row in rows] == ["kept"]


async def test_one_that_is_left_in_the_middle_of_something_is_not_lent_again(
    database_url: str,
) -> None:
    async with opened(database_url, connections=1) as lending:
        async with lending.reading() as connection:
            left = await backend_of(connection)
            await connection.execute("begin")
        async with lending.reading() as connection:
            assert await backend_of(connection) != left
            assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


async def test_one_whose_reader_was_stopped_answers_the_next_one(database_url: str) -> None:
    async def sleep() -> None:
        async with lending.reading() as connection:
            asleep.set()
            await connection.execute("select pg_sleep(60)")

    asleep = asyncio.Event()
    async with opened(database_url, connections=1) as lending:
        here = await backend(lending)
        sleeping = asyncio.create_task(sleep())
        await asleep.wait()
        sleeping.cancel()
        await asyncio.wait([sleeping])
        assert sleeping.cancelled()
        assert await backend(lending) == here


async def test_when_all_are_lent_it_is_busy_until_one_comes_back(database_url: str) -> None:
    async with opened(database_url, connections=1) as lending:
        async with lending.transaction() as connection:
            here = await backend_of(connection)
            with patience_of(0.05), pytest.raises(StoreBusy, match="too busy"):
                await backend(lending)
            first, stopped, second = (asyncio.create_task(backend(lending)) for _ in range(3))
            await asyncio.sleep(0)
            stopped.cancel()
        assert [await first, await second] == [here, here]
        assert stopped.cancelled()
        assert await backend(lending) == here


async def test_one_that_comes_in_the_moment_its_asker_is_stopped_is_not_lost(
    database_url: str,
) -> None:
    async with opened(database_url, connections=1) as lending:
        async with lending.reading():
            asking = asyncio.create_task(backend(lending))
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled()
        assert await backend(lending) > 0


async def test_a_postgres_that_has_none_left_says_so_when_it_gives_none(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as lending:
        with refusing(emptied_database_url) as keeper:
            end_all(keeper)
            asking = asyncio.create_task(backend(lending))
            await asyncio.to_thread(wait_until, lambda: "too many" in lending._refusal)
            with patience_of(0.05), pytest.raises(StoreBusy, match="no connection left"):
                await backend(lending)
        assert await asking > 0


async def test_a_postgres_that_is_not_there_cannot_be_reached(database_url: str) -> None:
    nowhere = make_conninfo(database_url, host="127.0.0.1", port=str(closed_port()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(patience, "CONNECT_SECONDS", 0.1)
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await Pool(nowhere, 1).open()


async def test_who_can_have_no_new_one_gets_one_that_comes_back(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as lending, AsyncExitStack() as lent:
        here = await backend_of(await lent.enter_async_context(lending.reading()))
        with refusing(emptied_database_url):
            asking = asyncio.create_task(backend(lending))
            await asyncio.to_thread(wait_until, lambda: "too many" in lending._refusal)
            await lent.aclose()
            assert await asking == here


async def test_one_that_takes_longer_to_make_than_its_asker_waits_is_there_for_the_next(
    database_url: str,
) -> None:
    async with opened(database_url) as lending, lending.reading():
        stopped = asyncio.create_task(backend(lending))
        await asyncio.sleep(0)
        stopped.cancel()
        await asyncio.wait([stopped])
        assert stopped.cancelled()
        assert lending._making is not None
        await lending._making
        with patience_of(0.0):
            assert await backend(lending) > 0


async def test_an_old_one_and_one_of_a_rush_that_is_over_are_closed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(database_url) as lending:
        async with lending.reading() as one, lending.reading() as other:
            pass
        monkeypatch.setattr(pool, "_REST_SECONDS", 0.0)
        await backend(lending)
        assert sorted((one.closed, other.closed)) == [False, True]
        kept = other if one.closed else one
        monkeypatch.setattr(pool, "_LIFE_SECONDS", 0.0)
        await backend(lending)
        assert kept.closed


async def test_one_that_is_used_again_and_again_is_kept(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(pool, "monotonic", lambda: clock[0])
    async with opened(database_url) as lending:
        here = await backend(lending)
        for _ in range(4):
            clock[0] += 500.0
            async with lending.reading() as one, lending.reading():
                assert await backend_of(one) == here


async def test_whoever_waits_when_it_is_closed_is_told(database_url: str) -> None:
    async with opened(database_url, connections=1) as lending:
        async with lending.reading():
            waiting = asyncio.create_task(backend(lending))
            await asyncio.sleep(0)
            await lending.close()
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await waiting


async def test_when_it_is_closed_all_are_even_those_that_are_lent(database_url: str) -> None:
    async with opened(database_url) as lending:
        async with lending.reading() as one, lending.reading() as other:
            async with lending.reading() as rested:
                pass
            await lending.close()
            assert rested.closed
            assert not one.closed
        assert one.closed
        assert other.closed
        with pytest.raises(StoreUnavailable):
            await backend(lending)
