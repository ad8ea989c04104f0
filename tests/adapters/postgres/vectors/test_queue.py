"""The queue is the data: what is claimed, stored, failed, given back, parked and swept."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from tests.conformance.samples import ids, memory
from tests.conformance.stores import NORTH, SPACE, nearest, opened, rows, texts
from tests.waiting import wait_until_async

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.postgres.vectors.queue import PostgresVectors
from recollect.core.recall.space import EmbeddingProgress, StoredSpace
from recollect.core.retry import MAX_JOB_ATTEMPTS

pytestmark = pytest.mark.anyio

_DUE = "update embeddings set due_at = now() where due_at < 'infinity'"


async def _wait_for_earlier_writers(store: PostgresStore) -> None:
    """Transactions of all databases count, and other tests have some open."""
    ended = "select pg_snapshot_xmin(pg_current_snapshot()) > opened_in as ended from spaces"

    async def have_ended() -> bool:
        return all(row["ended"] for row in await rows(store, ended))

    await wait_until_async(have_ended)


async def test_a_sweep_goes_in_steps_and_resumes(emptied_database_url: str) -> None:
    limits = Limits(sweep=3)
    looked = "select swept_to from spaces"
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        await store.add_many([memory(number, str(number)) for number in range(1, 8)])
        space = await vectors.open_space("compass", SPACE)
        await _wait_for_earlier_writers(store)
        assert texts(await vectors.claim(space, 100)) == ["1", "2", "3"]
        assert [row["swept_to"] for row in await rows(store, looked)] == ids(3)
        assert await vectors.progress(space) == EmbeddingProgress(0, 7, 0)
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        assert texts(await vectors.claim(space, 100)) == ["4", "5", "6"]
        assert texts(await vectors.claim(space, 100)) == ["7"]
        assert await vectors.claim(space, 100) == []
        assert [row["swept_to"] for row in await rows(store, looked)] == [None]


async def test_a_sweep_waits_for_writers_older_than_the_space(emptied_database_url: str) -> None:
    """Its trigger saw no space, and no sweep sees its row before it commits."""
    async with opened(emptied_database_url) as (store, vectors):
        await store.add(memory(1, "early"))
        with psycopg.connect(emptied_database_url) as slow:
            slow.execute(
                "insert into memories (id, owner, content, category, tags, expanded_keywords,"
                " importance, is_sensitive, version, created_at, updated_at)"
                " values (%s, 'ada', 'slow', 'fact', '{}', '{}', 0, false, 1, now(), now())",
                ids(2),
            )
            space = await vectors.open_space("compass", SPACE)
            assert texts(await vectors.claim(space, 10)) == ["early"]
            assert await vectors.claim(space, 10) == []
        await _wait_for_earlier_writers(store)
        assert texts(await vectors.claim(space, 10)) == ["slow"]
        assert await vectors.claim(space, 10) == []
        swept = await rows(store, "select swept_to from spaces")
        assert [row["swept_to"] for row in swept] == [None]


async def test_claims_and_edits_do_not_wait_for_each_other(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1, "one"), memory(2, "two")])
        jobs = await vectors.claim(space, 10)
        await store.replace(memory(2, "two", importance=0.1, version=2), based_on=1)
        with psycopg.connect(emptied_database_url) as editing:
            editing.execute("update memories set content = 'edited' where id = %s", ids(1))
            async with asyncio.timeout(120):
                assert await vectors.finish(space, [(job, NORTH) for job in jobs]) == 1
            editing.rollback()
        assert await nearest(vectors, space) == ids(2)
        await rows(store, _DUE)
        assert texts(await vectors.claim(space, 10)) == ["one"], "still a job"


async def test_claim_skips_a_memory_that_is_being_edited(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1, "one"), memory(2, "two")])
        with psycopg.connect(emptied_database_url) as editing:
            editing.execute("update memories set content = 'edited' where id = %s", ids(1))
            async with asyncio.timeout(120):
                assert texts(await vectors.claim(space, 10)) == ["two"]
        assert texts(await vectors.claim(space, 10)) == ["edited"]


async def claim_once(vectors: PostgresVectors, space: StoredSpace, error: str | None) -> int:
    jobs = await vectors.claim(space, 10)
    if error is not None:
        await vectors.fail(space, jobs, error)
    return len(jobs)


async def test_the_delay_grows(emptied_database_url: str) -> None:
    seconds = "select extract(epoch from due_at - now())::float8 as seconds from embeddings"
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        delays = []
        for _ in range(MAX_JOB_ATTEMPTS - 1):
            await claim_once(vectors, space, "no")
            delays += [row["seconds"] for row in await rows(store, seconds)]
            await rows(store, _DUE)
        # Some seconds of each have passed when it is read; how many depends on the machine.
        assert all(
            most - 60 < delay <= most
            for most, delay in zip((5, 20, 80, 320, 1280, 3600, 3600), delays, strict=True)
        )


async def test_the_listener_reconnects_after_its_connection_broke(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        await vectors.open_space("compass", SPACE)
        await vectors.wait_for_work(60)
        cut = "select pg_terminate_backend(pid) from pg_stat_activity"
        assert await rows(store, cut + " where query ilike 'listen %'")
        async with asyncio.timeout(120):
            await vectors.wait_for_work(600)  # notices the loss
            await vectors.wait_for_work(600)  # listens again
            waiting = asyncio.create_task(vectors.wait_for_work(600))
            await store.add(memory(1))
            await waiting
