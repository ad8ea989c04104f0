"""Building a vector index: in memory, within a limit, and for its own session only."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import AsyncConnection, sql
from psycopg.rows import dict_row
from tests.conformance.samples import OWNER, memory
from tests.conformance.stores import embed_all, opened
from tests.conftest import Cluster

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.vectors.hnsw import SpaceIndexes, index_name
from recollect.core.recall.space import Space, StoredSpace

pytestmark = pytest.mark.anyio

LONG = Space("long", "1", 4_000)
# This many vectors of 4,000 numbers take more than two megabytes.
MANY = 300


@pytest.fixture
def little_memory_url(database_url: str) -> str:
    """A database whose sessions begin with the least memory that Postgres allows."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        connection.execute(
            sql.SQL("alter database {} set maintenance_work_mem = '1MB'").format(name)
        )
    return database_url


async def fill_space(url: str) -> StoredSpace:
    async with opened(url) as (store, vectors):
        space = await vectors.open_space("long", LONG)
        await store.add_many([memory(number) for number in range(1, MANY + 1)])
        await embed_all(vectors, space, [1.0] * LONG.dimension)
    return space


async def memory_after_building(url: str, space: StoredSpace, limits: Limits | None = None) -> str:
    """Return the memory setting of the session that built the index, after the build."""
    async with (
        await AsyncConnection.connect(url, autocommit=True, row_factory=dict_row) as guard,
        await AsyncConnection.connect(url, autocommit=True, row_factory=dict_row) as connection,
    ):
        indexes = SpaceIndexes(guard, connection, space.id)
        await indexes.build(space.space.dimension, limits or Limits(index_rows=0))
        cursor = await connection.execute("show maintenance_work_mem")
        row = await cursor.fetchone() or {}
    return str(row["maintenance_work_mem"])


def index_is_valid(url: str, space: StoredSpace) -> bool:
    query = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"
    with psycopg.connect(url) as connection:
        return connection.execute(query, [index_name(space.id, OWNER)]).fetchone() == (True,)


async def test_a_build_asks_for_the_memory_that_the_index_takes(little_memory_url: str) -> None:
    space = await fill_space(little_memory_url)
    assert not index_is_valid(little_memory_url, space)
    # 1 + 300 × (820 + 2 × 4,000) bytes, in whole megabytes
    assert await memory_after_building(little_memory_url, space) == "3MB"
    assert index_is_valid(little_memory_url, space)


async def test_a_build_asks_for_no_more_memory_than_the_limit(little_memory_url: str) -> None:
    space = await fill_space(little_memory_url)
    limits = Limits(index_memory_mb=2, index_rows=0)
    assert await memory_after_building(little_memory_url, space, limits) == "2MB"


async def test_a_build_keeps_a_larger_memory_setting(database_url: str) -> None:
    space = await fill_space(database_url)
    assert await memory_after_building(database_url, space) == "256MB"


@pytest.fixture
def stingy_url(little_memory_url: str, cluster: Cluster) -> Iterator[str]:
    """A Postgres that rejects builds with more memory than its own setting, as it does when the
    shared memory of a container is too small.
    """
    with psycopg.connect(little_memory_url) as connection:
        name = connection.info.dbname
    with psycopg.connect(cluster.admin_url, dbname=name, autocommit=True) as connection:
        connection.execute("""
            create function refuse() returns event_trigger language plpgsql as $$
            begin
                if current_setting('maintenance_work_mem') <> '1MB' then
                    raise exception 'no room' using errcode = 'disk_full';
                end if;
            end
            $$
        """)
        connection.execute("""
            create event trigger refuse on ddl_command_start when tag in ('CREATE INDEX')
            execute function refuse()
        """)
        yield little_memory_url


async def test_a_build_goes_on_without_memory_that_postgres_refuses(stingy_url: str) -> None:
    space = await fill_space(stingy_url)
    assert await memory_after_building(stingy_url, space) == "1MB"
    assert index_is_valid(stingy_url, space)
