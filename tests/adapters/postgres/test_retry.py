"""Reads are retried when their backend is terminated; writes never are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from uuid import UUID

import psycopg
import pytest
from psycopg import errors, sql
from tests.conformance.places import NORTH, SPACE, embed_all, opened
from tests.conformance.samples import OWNER, memory
from tests.strategies import MOMENT
from tests.waiting import wait_until

from recollect.adapters.postgres.access import ADMIN
from recollect.adapters.postgres.errors import NotConnected, is_disconnect, translate
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.errors import StoreUnavailable
from recollect.core.memory.ids import IdPart
from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.settings import WordQuery
from recollect.core.recall.space import StoredSpace
from recollect.ports.recall import VectorQuery

pytestmark = pytest.mark.anyio

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


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (errors.AdminShutdown(), True),
        (errors.CrashShutdown(), True),
        (psycopg.OperationalError("server closed the connection unexpectedly"), True),
        (errors.ConnectionFailure(), True),  # as PgBouncer reports it
        (NotConnected(), False),
        (errors.CannotConnectNow(), False),
        (errors.InsufficientPrivilege(), False),
    ],
)
async def test_only_a_connection_that_broke_in_use_is_a_disconnect(
    error: psycopg.Error, lost: bool
) -> None:
    translated = translate(error)
    translated.__cause__ = error
    assert isinstance(translated, StoreUnavailable)
    assert is_disconnect(translated) is lost
