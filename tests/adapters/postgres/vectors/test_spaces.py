"""Spaces: opened once however many callers, indexed, switched in one step, dropped."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from random import Random
from typing import LiteralString

import psycopg
import pytest
from tests.conformance.samples import OWNER, ids, memory
from tests.conformance.stores import NORTH, SPACE, active, embed_all, nearest, opened, rows

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.hnsw import index_name
from recollect.core.errors import Conflict, InvalidInput, StoreBusy
from recollect.core.recall.space import Space, StoredSpace

pytestmark = pytest.mark.anyio

INDEX_ALL = Limits(index_rows=0)

_INDEXES = """
select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid
where c.relname like 'embeddings_hnsw_%%' and %s order by 1
"""


def index_of(space: StoredSpace, owner: str = OWNER) -> dict[str, object]:
    return {"relname": index_name(space.id, owner), "indisvalid": True}


async def test_the_first_space_is_active_and_the_next_one_fills(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (_, vectors):
        assert await active(vectors) is None
        first = await vectors.open_space("compass", SPACE)
        assert (first.state, first.space, first.embedder) == ("active", SPACE, "compass")
        assert await active(vectors) == first
        second = await vectors.open_space("voyage", Space("voyage", "", 1024))
        assert second.state == "filling"
        assert await active(vectors) == first
        assert await vectors.spaces() == [first, second]


async def test_open_space_called_concurrently_returns_one_space(emptied_database_url: str) -> None:
    async with (
        opened(emptied_database_url) as (_, one),
        opened(emptied_database_url) as (_, other),
    ):
        found = await asyncio.gather(*(each.open_space("m", SPACE) for each in (one, other) * 4))
        assert len({space.id for space in found}) == 1
        assert {space.state for space in found} == {"active"}


async def test_a_query_instruction_and_a_new_name_are_no_new_space(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (_, vectors):
        first = await vectors.open_space("compass", SPACE)
        dressed = replace(SPACE, query_instruction="Find: ")
        again = await vectors.open_space("folder:/compass", dressed)
        assert again == replace(first, embedder="folder:/compass", space=dressed)
        assert await active(vectors) == again


async def test_postgres_keeps_one_space_active(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (_, vectors):
        await vectors.open_space("compass", SPACE)
        await vectors.open_space("compass 2", replace(SPACE, revision="2"))
    with (
        psycopg.connect(emptied_database_url) as connection,
        pytest.raises(psycopg.errors.UniqueViolation, match="spaces_active"),
    ):
        connection.execute("update spaces set state = 'active'")


async def test_switching_and_dropping(emptied_database_url: str) -> None:
    async with opened(emptied_database_url, limits=INDEX_ALL) as (store, vectors):
        first = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1), memory(2)])
        await embed_all(vectors, first)
        second = await vectors.open_space("sphere", Space("sphere", "1", 3))
        with pytest.raises(Conflict, match="recall uses"):
            await vectors.drop_space(first)
        await embed_all(vectors, second, [0.0, 0.0, 1.0])
        await vectors.activate(second)
        serving = await active(vectors)
        assert serving == replace(second, state="active")
        assert await nearest(vectors, serving, [0.0, 0.0, 1.0]) == ids(1, 2)
        assert await nearest(vectors, first) == ids(1, 2), "retained for the rollback"
        await vectors.drop_space(first)
        assert await vectors.spaces() == [serving]
        assert await rows(store, _INDEXES, True) == [index_of(second)]
        assert len(await rows(store, "select 1 from embeddings")) == 2
        with pytest.raises(Conflict, match="no longer there"):
            await vectors.activate(first)
        with pytest.raises(Conflict, match="no longer there"):
            await vectors.drop_space(first)


async def test_a_retired_space_is_opened_again_and_its_gaps_filled_before_a_switch(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        first = await vectors.open_space("compass", SPACE)
        await embed_all(vectors, first)
        second = await vectors.open_space("compass 2", replace(SPACE, revision="2"))
        await vectors.activate(second)
        await store.add(memory(1))
        with pytest.raises(Conflict, match="dropped in the meantime"):
            await vectors.activate(first)
        back = await vectors.open_space("compass", SPACE)
        assert await embed_all(vectors, back, NORTH) == 1
        await vectors.activate(back)
        assert [space.state for space in await vectors.spaces()] == ["active", "retired"]


async def test_a_leftover_of_a_killed_build_is_built_again(emptied_database_url: str) -> None:
    async with opened(emptied_database_url, limits=INDEX_ALL) as (store, vectors):
        await vectors.open_space("compass", SPACE)
        space = await vectors.open_space("compass 2", replace(SPACE, revision="2"))
        await store.add(memory(1))
        jobs = await vectors.claim(space, 1)
        await vectors.finish(space, [(job, NORTH) for job in jobs])
        # A vector of another length makes the build fail half way, like one that is killed.
        await rows(store, "update embeddings set vector = '[1,2,3]' where space_id = %s", space.id)
        with pytest.raises(Exception, match="refused"):
            await vectors.build_indexes(space)
        left = await rows(store, _INDEXES, True)
        assert {**index_of(space), "indisvalid": False} in left
        await rows(store, "update embeddings set vector = '[1,2]' where space_id = %s", space.id)
        await asyncio.gather(vectors.build_indexes(space), vectors.build_indexes(space))
        assert index_of(space) in await rows(store, _INDEXES, True)
        await vectors.build_indexes(space)


_BUILDING = """
select 1 from pg_stat_progress_create_index
where datname = current_database() and index_relid <> 0
"""
_DROPPING = """
select 1 from pg_stat_activity
where datname = current_database() and query ilike 'drop index%'
    and state = 'active' and wait_event_type = 'Lock'
"""


async def test_drop_space_cancels_an_index_build(
    emptied_database_url: str,
) -> None:
    """A writer that does not end holds up the build, and then the removal of what it left."""
    async with (
        asyncio.timeout(120),
        opened(emptied_database_url, limits=INDEX_ALL) as (store, vectors),
        await psycopg.AsyncConnection.connect(emptied_database_url) as writer,
    ):
        first = await vectors.open_space("compass", SPACE)
        space = await vectors.open_space("compass 2", replace(SPACE, revision="2"))
        await store.add(memory(1))
        jobs = await vectors.claim(space, 1)
        await vectors.finish(space, [(job, NORTH) for job in jobs])
        await writer.execute("lock table embeddings in row exclusive mode")
        building = asyncio.create_task(vectors.build_indexes(space))
        await appears(store, _BUILDING)
        dropping = asyncio.create_task(vectors.drop_space(space))
        with pytest.raises(StoreBusy):
            await building
        await appears(store, _DROPPING)
        await store.add(memory(2))
        assert await nearest(vectors, first) == []
        await writer.rollback()
        await dropping
        assert await vectors.spaces() == [first]
        assert await rows(store, _INDEXES, True) == []


async def test_a_space_that_was_given_up_gets_no_index(emptied_database_url: str) -> None:
    async with opened(emptied_database_url, limits=INDEX_ALL) as (store, vectors):
        await vectors.open_space("compass", SPACE)
        space = await vectors.open_space("compass 2", replace(SPACE, revision="2"))
        await store.add(memory(1))
        jobs = await vectors.claim(space, 1)
        await vectors.finish(space, [(job, NORTH) for job in jobs])
        # As it is between the two steps of giving a space up.
        await rows(store, "update spaces set state = 'retired' where id = %s", space.id)
        await vectors.build_indexes(space)
        assert await rows(store, _INDEXES, True) == []


async def test_remove_some_leaves_a_space_that_was_opened_again(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        await vectors.open_space("compass", SPACE)
        space = await vectors.open_space("compass 2", replace(SPACE, revision="2"))
        await store.add(memory(1))
        await embed_all(vectors, space)
        assert not await vectors.remove_some(space)
        assert await nearest(vectors, space) == ids(1)
        assert space in await vectors.spaces()


async def appears(store: PostgresStore, statement: LiteralString) -> None:
    while not await rows(store, statement):  # noqa: ASYNC110  # no notification
        await asyncio.sleep(0.01)


async def test_open_space_refuses_a_dimension_that_cannot_be_indexed(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (_, vectors):
        with pytest.raises(InvalidInput, match="4,096 numbers"):
            await vectors.open_space("large", Space("large", "1", 4096))
        longest = await vectors.open_space("long", Space("long", "1", 4000))
        assert longest.state == "active"


async def test_long_vectors_stay_in_their_row(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("long", Space("long", "1", 3072))
        await store.add(memory(1))
        direction = [Random(number).gauss() for number in range(3072)]
        assert await embed_all(vectors, space, direction) == 1
        assert await nearest(vectors, space, direction) == ids(1)
        size = "select pg_relation_size(reltoastrelid) as bytes from pg_class"
        (row,) = await rows(store, size + " where relname = 'embeddings'")
        assert row["bytes"] == 0
