"""Vector indexes: for large owners only, a limited number, and no row is ever missed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from math import hypot
from typing import Any

import pytest
from psycopg import AsyncConnection
from tests.conformance.samples import OWNER, memory
from tests.conformance.stores import NORTH, SPACE, embed_all, embed_as, nearest, opened, rows

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.hnsw import index_name
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.space import Space, StoredSpace

pytestmark = pytest.mark.anyio

LIMITS = Limits(exact_rows=-1, index_rows=4, max_indexes=2)
_INDEXES = """
select c.relname as name from pg_class c join pg_am a on a.oid = c.relam
where a.amname = 'hnsw' and starts_with(c.relname, 'embeddings') order by 1
"""
_SCANS = """
select c.relname as name, pg_stat_get_numscans(c.oid) as scans
from pg_class c where starts_with(c.relname, 'embeddings_hnsw')
"""
NORTH3 = [1.0, 0.0, 0.0]
ODD_NAMES = ("o'brien", 'a "quoted" one', "back\\slash", "100 %s", "naïve ☃\nline", "x" * 300)


async def add(store: PostgresStore, owner: str, count: int, first: int = 1) -> None:
    await store.add_many([memory(n, owner=owner) for n in range(first, first + count)])


async def list_indexes(store: PostgresStore) -> list[str]:
    return [row["name"] for row in await rows(store, _INDEXES)]


def names(space: StoredSpace, *owners: str) -> list[str]:
    return sorted(index_name(space.id, owner) for owner in owners)


async def remove(store: PostgresStore, owner: str, count: int) -> None:
    for id in [each.id for each in await store.page(owner, EVERYWHERE, None, count)]:
        await store.erase(owner, id)


async def test_only_large_owners_get_an_index(emptied_database_url: str) -> None:
    async with opened(emptied_database_url, limits=LIMITS) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await add(store, "small", 4)
        await add(store, "large", 5)
        assert await vectors.pending_indexes(space) == 0, "none has a vector yet"
        jobs = await vectors.claim(space, 100)
        await vectors.finish(space, [(job, NORTH) for job in jobs])
        assert await vectors.pending_indexes(space) == 1
        assert not (await vectors.survey("large", EVERYWHERE)).use_index
        await vectors.build_indexes(space)
        assert await vectors.pending_indexes(space) == 0
        assert await list_indexes(store) == names(space, "large")
        assert (await vectors.survey("large", EVERYWHERE)).use_index
        assert not (await vectors.survey("small", EVERYWHERE)).use_index


async def test_a_small_scope_of_a_large_owner_is_compared(emptied_database_url: str) -> None:
    limits = Limits(exact_rows=50, index_rows=4)
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await add(store, OWNER, 100)
        await embed_all(vectors, space)
        assert (await vectors.survey(OWNER, EVERYWHERE)).use_index
        assert not (await vectors.survey(OWNER, Scope(project="atlas"))).use_index


async def test_a_search_walks_the_index_of_its_owner(emptied_database_url: str) -> None:
    async with opened(emptied_database_url, limits=LIMITS, connections=1) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await add(store, "one", 20)
        await add(store, "other", 20)
        await embed_all(vectors, space)
        assert len(await nearest(vectors, space, owner="one", depth=5)) == 5
        await rows(store, "select pg_stat_force_next_flush()")
        scans = {row["name"]: row["scans"] for row in await rows(store, _SCANS)}
        assert scans == {index_name(space.id, "one"): 1, index_name(space.id, "other"): 0}


async def test_small_owners_among_large_ones_get_complete_answers(
    emptied_database_url: str,
) -> None:
    draw = random.Random(7)
    owners = {"large": 300, "larger": 400, **{f"small {n}": 12 for n in range(30)}}
    limits = Limits(exact_rows=50, index_rows=200)
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        space = await vectors.open_space("sphere", Space("sphere", "1", 3))
        wanted, first = {}, 1
        for owner, count in owners.items():
            await add(store, owner, count, first)
            for number in range(first, first + count):
                wanted[memory(number).id] = [draw.gauss() for _ in range(3)]
            first += count
        await embed_as(vectors, space, wanted)
        assert await list_indexes(store) == names(space, "large", "larger")
        for owner, count in owners.items():
            found = await nearest(vectors, space, NORTH3, owner=owner, depth=10)
            mine = [memory.id for memory in await store.page(owner, EVERYWHERE, None, count)]
            best = sorted((-_cosine(wanted[id]), id) for id in mine)
            assert found == [id for _, id in best[:10]], owner
            assert len(await nearest(vectors, space, NORTH3, owner=owner, depth=count)) == count


def _cosine(vector: Sequence[float]) -> float:
    return vector[0] / hypot(*vector)


async def test_the_largest_owners_have_the_indexes(emptied_database_url: str) -> None:
    async with opened(emptied_database_url, limits=LIMITS) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        for owner, count in (("a", 6), ("b", 8), ("c", 7)):
            await add(store, owner, count)
        await embed_all(vectors, space)
        assert await list_indexes(store) == names(space, "b", "c")
        await add(store, "a", 4, first=50)
        await embed_all(vectors, space)
        assert await list_indexes(store) == names(space, "b", "c"), "not for a few more"
        await add(store, "a", 20, first=100)
        await embed_all(vectors, space)
        assert await list_indexes(store) == names(space, "a", "b")


async def test_an_index_is_dropped_when_its_owner_has_half_as_many(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url, limits=LIMITS) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await add(store, OWNER, 5)
        await embed_all(vectors, space)
        await remove(store, OWNER, 2)
        await vectors.build_indexes(space)
        assert await list_indexes(store) == names(space, OWNER)
        await remove(store, OWNER, 1)
        await vectors.build_indexes(space)
        assert await list_indexes(store) == []


async def test_erasing_an_owner_drops_its_indexes(emptied_database_url: str) -> None:
    async with opened(emptied_database_url, limits=LIMITS) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await add(store, "gone", 5)
        await add(store, "stays", 5)
        await embed_all(vectors, space)
        await store.light_eraser.erase_owner("gone")
        assert await list_indexes(store) == names(space, "stays")


async def test_two_servers_build_each_index_once(emptied_database_url: str) -> None:
    async with (
        opened(emptied_database_url, limits=LIMITS) as (store, one),
        opened(emptied_database_url, limits=LIMITS) as (_, other),
    ):
        space = await one.open_space("compass", SPACE)
        await add(store, "a", 5)
        await add(store, "b", 5)
        jobs = await one.claim(space, 100)
        await one.finish(space, [(job, NORTH) for job in jobs])
        await asyncio.gather(*(each.build_indexes(space) for each in (one, other) * 2))
        assert await list_indexes(store) == names(space, "a", "b")
        assert await invalid(store) == []


async def invalid(store: PostgresStore) -> list[Any]:
    return await rows(store, "select 1 from pg_index where not indisvalid")


async def test_a_leftover_of_an_owner_that_needs_no_index_is_dropped(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url, limits=LIMITS) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await add(store, OWNER, 5)
        jobs = await vectors.claim(space, 100)
        await vectors.finish(space, [(job, NORTH) for job in jobs])
        await rows(store, "update embeddings set vector = '[1,2,3]'")
        with pytest.raises(Exception, match="refused"):
            await vectors.build_indexes(space)
        assert len(await invalid(store)) == 1
        await remove(store, OWNER, 5)
        await vectors.build_indexes(space)
        assert await list_indexes(store) == []


async def test_a_cancelled_build_ends_at_once_and_is_done_later(emptied_database_url: str) -> None:
    """As when a server stops while its worker builds."""
    async with (
        asyncio.timeout(120),
        opened(emptied_database_url, limits=LIMITS) as (store, vectors),
        await AsyncConnection.connect(emptied_database_url) as writer,
    ):
        space = await vectors.open_space("compass", SPACE)
        await add(store, OWNER, 5)
        jobs = await vectors.claim(space, 100)
        await vectors.finish(space, [(job, NORTH) for job in jobs])
        await writer.execute("lock table embeddings in row exclusive mode")
        building = asyncio.create_task(vectors.build_indexes(space))
        while not await invalid(store):  # noqa: ASYNC110  # no notification
            await asyncio.sleep(0.01)
        building.cancel()
        with pytest.raises(asyncio.CancelledError):
            await building
        await writer.rollback()
        assert await vectors.pending_indexes(space) == 1
        assert len(await nearest(vectors, space, depth=5)) == 5
        await vectors.build_indexes(space)
        assert await list_indexes(store) == names(space, OWNER)
        assert await invalid(store) == []


@pytest.mark.parametrize("owner", ODD_NAMES)
async def test_owners_may_have_any_name(emptied_database_url: str, owner: str) -> None:
    async with opened(emptied_database_url, limits=LIMITS, connections=1) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await add(store, owner, 9)
        await embed_all(vectors, space)
        assert await list_indexes(store) == names(space, owner)
        assert len(await nearest(vectors, space, owner=owner, depth=3)) == 3
        await rows(store, "select pg_stat_force_next_flush()")
        assert [row["scans"] for row in await rows(store, _SCANS)] == [1]
        await vectors.drop_indexes(space)
        assert await list_indexes(store) == []
        await vectors.build_indexes(space)
        assert await list_indexes(store) == names(space, owner)
