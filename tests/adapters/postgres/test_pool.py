"""Connections are acquired, checked and replaced; a caller that gets none learns why. Reads are
retried when their backend is terminated; writes never are.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.conformance.samples import OWNER, memory
from tests.conformance.stores import NORTH, SPACE, embed_all, opened
from tests.strategies import MOMENT
from tests.waiting import wait_until

from recollect.adapters.postgres.access import ADMIN
from recollect.adapters.postgres.pipeline import Reading
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import StoreBusy, StoreUnavailable
from recollect.core.memory.ids import IdPart
from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.settings import WordQuery
from recollect.core.recall.space import StoredSpace
from recollect.ports.recall import VectorQuery

pytestmark = pytest.mark.anyio

# A slow machine must not fail a test; only errors reported after the timeout use a short one.
PATIENT = Timeouts(acquire=60)
SHORT = Timeouts(acquire=0.05)


@asynccontextmanager
async def open_pool(
    url: str, size: int = 3, timeouts: Timeouts = PATIENT, **options: Any
) -> AsyncIterator[Pool]:
    pool = Pool(url, size, timeouts, **options)
    await pool.open()
    try:
        yield pool
    finally:
        await pool.close()


async def backend(pool: Pool) -> int:
    async with pool.reading(ADMIN) as connection:
        return await backend_of(connection)


async def backend_of(connection: Connection | Reading) -> int:
    row = await (await connection.execute("select pg_backend_pid() as pid")).fetchone()
    assert row is not None
    return int(row["pid"])


@contextmanager
def refuse_connections(url: str) -> Iterator[psycopg.Connection]:
    """While entered, Postgres refuses new connections to this database."""
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


def find_closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


async def test_pool_reuses_the_connection_released_last(database_url: str) -> None:
    async with open_pool(database_url) as pool:
        async with pool.reading(ADMIN) as first, pool.reading(ADMIN) as second:
            last = await backend_of(first)
            assert await backend_of(second) != last
        assert [await backend(pool) for _ in range(3)] == [last] * 3


async def test_transaction_commits_or_rolls_back(database_url: str) -> None:
    write = "insert into settings (name, value) values (%s, '1')"
    async with open_pool(database_url, size=1) as pool:
        async with pool.transaction(ADMIN) as connection:
            await connection.execute(write, ("kept",))
        with suppress(KeyError):
            async with pool.transaction(ADMIN) as connection:
                await connection.execute(write, ("undone",))
                raise KeyError
        async with pool.reading(ADMIN) as connection:
            rows = await (await connection.execute("select name from settings")).fetchall()
        assert [row["name"] for row in rows] == ["kept"]


async def test_pool_discards_a_connection_released_inside_a_transaction(database_url: str) -> None:
    async with open_pool(database_url, size=1) as pool:
        async with pool.reading(ADMIN) as connection:
            left = await backend_of(connection)
            await connection.connection.execute("begin")
        async with pool.reading(ADMIN) as connection:
            assert await backend_of(connection) != left
            assert (
                connection.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            )


async def test_pool_reuses_the_connection_of_a_cancelled_read(database_url: str) -> None:
    async def sleep() -> None:
        async with pool.reading(ADMIN) as connection:
            await connection.execute("select pg_sleep(60)")

    # Postgres ignores a cancellation that arrives before the query does.
    running = (
        "select from pg_stat_activity where pid = %s and state = 'active'"
        " and query like '%%pg_sleep%%'"
    )
    async with open_pool(database_url, size=1) as pool:
        here = await backend(pool)
        sleeping = asyncio.create_task(sleep())
        with psycopg.connect(database_url, autocommit=True) as watcher:
            await asyncio.to_thread(
                wait_until, lambda: watcher.execute(running, [here]).fetchone() is not None
            )
        sleeping.cancel()
        await asyncio.wait([sleeping])
        assert sleeping.cancelled()
        assert await backend(pool) == here


async def test_acquire_times_out_as_busy_while_all_connections_are_in_use(
    database_url: str,
) -> None:
    async with open_pool(database_url, size=1, timeouts=SHORT) as pool, pool.transaction(ADMIN):
        with pytest.raises(StoreBusy, match="too busy"):
            await backend(pool)


async def test_a_released_connection_goes_to_the_first_waiter(database_url: str) -> None:
    async with open_pool(database_url, size=1) as pool:
        async with pool.transaction(ADMIN) as connection:
            here = await backend_of(connection)
            first, cancelled, second = (asyncio.create_task(backend(pool)) for _ in range(3))
            await asyncio.sleep(0)
            cancelled.cancel()
        assert [await first, await second] == [here, here]
        assert cancelled.cancelled()
        assert await backend(pool) == here


async def test_a_connection_handed_to_a_cancelled_waiter_is_not_lost(database_url: str) -> None:
    async with open_pool(database_url, size=1) as pool:
        async with pool.reading(ADMIN):
            waiting = asyncio.create_task(backend(pool))
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
        assert await backend(pool) > 0


async def test_acquire_reports_why_postgres_refuses_connections(emptied_database_url: str) -> None:
    async with open_pool(emptied_database_url, timeouts=SHORT) as pool:
        with refuse_connections(emptied_database_url) as keeper:
            end_all(keeper)
            while "too many" not in pool.last_error:
                with suppress(StoreUnavailable, StoreBusy):
                    await backend(pool)
            with pytest.raises(StoreBusy, match="no free connections"):
                await backend(pool)


async def test_a_waiter_is_served_once_postgres_accepts_connections_again(
    emptied_database_url: str,
) -> None:
    async with open_pool(emptied_database_url) as pool:
        with refuse_connections(emptied_database_url) as keeper:
            end_all(keeper)
            waiting = asyncio.create_task(backend(pool))
            await asyncio.to_thread(wait_until, lambda: "too many" in pool.last_error)
        assert await waiting > 0


async def test_open_reports_a_postgres_that_is_not_there(database_url: str) -> None:
    nowhere = make_conninfo(database_url, host="127.0.0.1", port=str(find_closed_port()))
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await Pool(nowhere, 1, Timeouts(database_connect=1)).open()


async def test_a_waiter_that_gets_no_new_connection_gets_a_released_one(
    emptied_database_url: str,
) -> None:
    async with open_pool(emptied_database_url) as pool, AsyncExitStack() as acquired:
        here = await backend_of(await acquired.enter_async_context(pool.reading(ADMIN)))
        with refuse_connections(emptied_database_url):
            waiting = asyncio.create_task(backend(pool))
            await asyncio.to_thread(wait_until, lambda: "too many" in pool.last_error)
            await acquired.aclose()
            assert await waiting == here


async def test_a_connection_made_for_a_cancelled_waiter_serves_the_next(database_url: str) -> None:
    async with open_pool(database_url) as pool, pool.reading(ADMIN):
        cancelled = asyncio.create_task(backend(pool))
        await asyncio.sleep(0)
        cancelled.cancel()
        await asyncio.wait([cancelled])
        assert cancelled.cancelled()
        await asyncio.to_thread(wait_until, lambda: pool.idle)
        assert await backend(pool) > 0


class Clock:
    """A clock that moves only when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_release_closes_a_connection_that_was_idle_for_too_long(database_url: str) -> None:
    clock = Clock()
    async with open_pool(database_url, clock=clock) as pool:
        async with pool.reading(ADMIN) as first, pool.reading(ADMIN) as second:
            pass
        clock.now += PATIENT.max_idle + 1
        await backend(pool)
        assert sorted((first.connection.closed, second.connection.closed)) == [False, True]


async def test_release_keeps_a_connection_that_was_used_meanwhile(database_url: str) -> None:
    """Idle time counts from the last release, not from when the connection was made."""
    clock = Clock()
    async with open_pool(database_url, clock=clock) as pool:
        async with pool.reading(ADMIN) as first, pool.reading(ADMIN) as second:
            clock.now += PATIENT.max_idle - 1
        clock.now += 2
        await backend(pool)
        assert pool.idle == 2
        assert not first.connection.closed
        assert not second.connection.closed


async def test_release_closes_a_connection_that_is_too_old(database_url: str) -> None:
    clock = Clock()
    async with open_pool(database_url, clock=clock) as pool:
        async with pool.reading(ADMIN) as connection:
            clock.now += PATIENT.max_lifetime + 1
        assert connection.connection.closed
        assert await backend(pool) > 0


async def test_closing_fails_those_who_wait(database_url: str) -> None:
    async with open_pool(database_url, size=1) as pool:
        async with pool.reading(ADMIN):
            waiting = asyncio.create_task(backend(pool))
            await asyncio.sleep(0)
            await pool.close()
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await waiting


async def test_closing_closes_idle_connections_and_later_those_in_use(database_url: str) -> None:
    async with open_pool(database_url) as pool:
        async with pool.reading(ADMIN) as first, pool.reading(ADMIN) as second:
            async with pool.reading(ADMIN) as idle:
                pass
            await pool.close()
            assert idle.connection.closed
            assert not first.connection.closed
        assert first.connection.closed
        assert second.connection.closed
        with pytest.raises(StoreUnavailable):
            await backend(pool)


ONE = UUID(int=1)
Answer = TypeVar("Answer")
Reads = dict[str, tuple[str, Callable[[], Awaitable[object]]]]

_END_WAITING_BACKENDS = """
select pg_terminate_backend(pid, 60000) from pg_stat_activity
where datname = current_database() and application_name = 'recollect' and wait_event_type = 'Lock'
"""

_END_OTHER_BACKENDS = """
select pg_terminate_backend(pid, 60000) from pg_stat_activity
where datname = current_database() and application_name = 'recollect' and pid <> pg_backend_pid()
"""


async def ask_while_lost(
    url: str, table: str, asked: Callable[[], Awaitable[Answer]], times: int = 1
) -> Answer:
    """Ask while the backend that does the work is terminated `times` times, and return the answer.
    It is terminated in the middle, while it waits for a table that is locked here.
    """
    with psycopg.connect(url) as keeper, psycopg.connect(url, autocommit=True) as other:
        keeper.execute(
            sql.SQL("lock table {} in access exclusive mode").format(sql.Identifier(table))
        )
        asking = asyncio.ensure_future(asked())
        ended: list[object] = []

        def enough() -> bool:
            ended.extend(other.execute(_END_WAITING_BACKENDS))
            return len(ended) == times or asking.done()

        await asyncio.to_thread(wait_until, enough)
        keeper.rollback()
        assert len(ended) == times, f"{table} is not needed for it"
        return await asking


@asynccontextmanager
async def with_one_memory(
    url: str,
) -> AsyncIterator[tuple[PostgresStore, PostgresVectors, StoredSpace]]:
    async with opened(url) as (store, vectors):
        await store.add(memory(1, "sparrows fly"))
        space = await vectors.open_space("compass", SPACE)
        await embed_all(vectors, space)
        yield store, vectors, space


def reads_of(store: PostgresStore, vectors: PostgresVectors, space: StoredSpace) -> Reads:
    """Return everything that a recall reads, each with a table that it needs."""
    words = WordQuery(text="sparrows", expanded="", depth=5)
    vector = VectorQuery(space, NORTH, depth=5)
    return {
        "key": ("keys", lambda: store.keys.find_key(b"unknown")),
        "settings": ("settings", store.read_settings),
        "words": ("memories", lambda: store.search_words(OWNER, EVERYWHERE, words)),
        "survey": ("spaces", lambda: vectors.survey(OWNER, EVERYWHERE)),
        "nearest": ("embeddings", lambda: vectors.nearest(OWNER, EVERYWHERE, vector)),
        "version": ("graph_versions", lambda: store.graph.version(OWNER)),
        "snapshot": ("concepts", lambda: store.graph.snapshot(OWNER)),
        "named": ("concept_names", lambda: store.graph.named(OWNER, ["sparrow"])),
        "written": ("concept_names", lambda: store.graph.written(OWNER, ["sparrow"])),
        "paths": ("memory_concepts", lambda: store.graph.paths(OWNER, [ONE], ONE)),
        "hits": ("memories", lambda: store.fetch(OWNER, [ONE])),
        "hits then": ("memories", lambda: store.fetch(OWNER, [ONE], MOMENT)),
        "links": ("memory_links", lambda: store.follow(OWNER, [ONE], [])),
        "many": ("memories", lambda: store.get_many(OWNER, [ONE])),
        "one": ("memories", lambda: store.get(OWNER, ONE)),
        "prefix": (
            "memories",
            lambda: store.ids_with_prefix(OWNER, IdPart.parse("0000"), 5, forgotten=False),
        ),
        "page": ("memories", lambda: store.page(OWNER, EVERYWHERE, None, 5)),
    }


async def test_every_read_of_a_recall_is_retried_once(database_url: str) -> None:
    async with with_one_memory(database_url) as parts:
        for name, (table, read) in reads_of(*parts).items():
            undisturbed = await read()
            assert await ask_while_lost(database_url, table, read) == undisturbed, name


async def test_a_second_disconnect_is_raised(database_url: str) -> None:
    async with PostgresStore(database_url) as store:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await ask_while_lost(database_url, "settings", store.read_settings, times=2)
        assert await store.read_settings() == {}


async def test_a_write_is_never_retried(database_url: str) -> None:
    async with PostgresStore(database_url) as store:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await ask_while_lost(database_url, "memories", lambda: store.add(memory(1)))
        assert await store.get(OWNER, ONE) is None


async def test_all_idle_connections_that_died_are_replaced_at_once(
    database_url: str,
) -> None:
    """When Postgres restarts, all connections end. If they were found dead one after another, with
    backoff in between, replacing eight would take longer than any caller waits.
    """
    at_once = asyncio.Barrier(8)

    async def use_one() -> None:
        async with store.pool.reading(ADMIN):
            await at_once.wait()

    async with PostgresStore(database_url) as store:
        async with asyncio.TaskGroup() as users:
            for _ in range(at_once.parties):
                users.create_task(use_one())
        with psycopg.connect(database_url, autocommit=True) as other:
            ended = other.execute(_END_OTHER_BACKENDS).fetchall()
        assert len(ended) >= at_once.parties
        assert await store.read_settings() == {}
