"""Recollect on a real Citus cluster, if there is one.

RECOLLECT_TEST_CITUS_URL names an empty database on the coordinator, with the extensions citus and
vector, for a login that owns it and is not a superuser. Its tables are dropped first. Citus is not
available everywhere, so this is skipped without the variable, in CI as well.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from tests.conformance.graphs import stated
from tests.conformance.samples import OWNER, memory
from tests.conformance.stores import NORTH, SPACE

from recollect.adapters.postgres.distribute import distribute
from recollect.adapters.postgres.migrate import migrate
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.distribution import DEFAULT_SHARDS
from recollect.core.admin.timeouts import Timeouts
from recollect.core.graph.extraction import BY_RULES
from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.settings import WordQuery
from recollect.ports.recall import VectorQuery

pytestmark = pytest.mark.anyio

OTHER = "bob"
MINE = [memory(number, f"The lighthouse keeper number {number}") for number in range(1, 9)]
THEIRS = [replace(one, owner=OTHER, content=f"{one.content}, of another") for one in MINE]


@pytest.fixture
def citus_url() -> str:
    url = os.environ.get("RECOLLECT_TEST_CITUS_URL")
    if url is None:
        pytest.skip("there is no Citus cluster: set RECOLLECT_TEST_CITUS_URL")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop view if exists own_memories")
        tables = connection.execute(
            "select relname from pg_class where relkind = 'r'"
            " and relnamespace = current_schema()::regnamespace and pg_has_role(relowner, 'usage')"
        ).fetchall()
        for (name,) in tables:
            drop = sql.SQL("drop table if exists {} cascade").format(sql.Identifier(name))
            connection.execute(drop)
        functions = connection.execute(
            "select oid::regprocedure::text from pg_proc where proname like 'recollect\\_%'"
        ).fetchall()
        for (name,) in functions:
            connection.execute(f"drop function {name} cascade")
    migrate(url)
    return url


@pytest.fixture
async def store(citus_url: str) -> AsyncIterator[PostgresStore]:
    found = distribute(
        citus_url, Timeouts(), shards=DEFAULT_SHARDS, report=lambda _text, _share: None
    )
    assert found.is_complete, found
    async with PostgresStore(citus_url) as opened:
        assert opened.pool.is_distributed
        await opened.add_many([*MINE, *THEIRS])
        yield opened


async def test_rows_of_before_are_distributed(citus_url: str) -> None:
    async with PostgresStore(citus_url) as before:
        await before.add_many([*MINE, *THEIRS])
    for _ in range(2):  # the second run changes nothing
        found = distribute(citus_url, Timeouts(), shards=4, report=lambda _text, _share: None)
        assert found.is_complete, found
    async with PostgresStore(citus_url) as after:
        for memory in (*MINE, *THEIRS):
            assert await after.get(memory.owner, memory.id) == memory
        page = await after.changes.page(OWNER, UUID(int=7), 0, 100, sensitive=True, count=True)
        assert len(page.memories) == len(MINE)


async def test_owners_are_kept_apart(store: PostgresStore) -> None:
    assert {memory.id for memory in await store.page(OWNER, EVERYWHERE, None, 50)} == {
        memory.id for memory in MINE
    }
    async with store.pool.transaction(OWNER) as connection:
        cursor = await connection.execute("select distinct owner from memories")
        assert await cursor.fetchall() == [{"owner": OWNER}], "the policies hold on the nodes"


async def test_memories_change_with_their_history(store: PostgresStore) -> None:
    changed = replace(MINE[0], content="A blue door", version=2)
    assert await store.replace(changed, based_on=1)
    assert await store.erase(OWNER, MINE[1].id)
    found = await store.search_words(OWNER, EVERYWHERE, WordQuery("blue door", depth=5))
    assert [memory.id for memory in found] == [changed.id]
    page = await store.changes.page(OWNER, UUID(int=7), 0, 100, sensitive=True, count=True)
    assert [memory.id for memory in page.memories][-2:] == [changed.id, MINE[1].id]
    assert page.memories[-1].is_erased


async def test_queues_are_drained_owner_by_owner(store: PostgresStore) -> None:
    assert store.vectors is not None
    space = await store.vectors.open_space("compass", SPACE)
    embedded = 0
    while jobs := await store.vectors.claim(space, 100):
        embedded += await store.vectors.finish(space, [(job, NORTH) for job in jobs])
    assert embedded == len(MINE) + len(THEIRS)
    found = await store.vectors.nearest(
        OWNER, EVERYWHERE, VectorQuery(space, NORTH, use_index=False, depth=50)
    )
    assert {memory.id for memory in found} == {memory.id for memory in MINE}
    extraction = stated(("Ada Byron", "lives in", "Marblehead"))
    read = 0
    while texts := await store.graph.claim(BY_RULES, 100):
        read += await store.graph.finish([(job, extraction) for job in texts], BY_RULES)
    assert read == len(MINE) + len(THEIRS)
    assert len(await store.graph.named(OWNER, ["ada byron", "marblehead"])) == 2


async def test_an_owner_is_erased(store: PostgresStore) -> None:
    erased = await store.light_eraser.erase_owner(OWNER)
    assert erased.memories == len(MINE)
    assert await store.page(OWNER, EVERYWHERE, None, 50) == []
    assert len(await store.page(OTHER, EVERYWHERE, None, 50)) == len(THEIRS)
