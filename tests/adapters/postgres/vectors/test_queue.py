"""The queue is the data: what is claimed, kept, failed, given back, parked and swept."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import psycopg
import pytest
from tests.adapters.vectors import EAST, NORTH, SPACE, embed_all, nearest, opened, rows, texts
from tests.conformance.samples import ids, memory

from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.vectors.index import PostgresVectors
from recollect.adapters.postgres.vectors.queue import MAX_ATTEMPTS
from recollect.core.admin.timeouts import Timeouts
from recollect.core.recall.space import EmbeddingProgress, StoredSpace

pytestmark = pytest.mark.anyio

_DUE = "update embeddings set due_at = now() where due_at < 'infinity'"


async def test_claim_covers_memories_stored_before_and_after_the_space(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        await store.add_many([memory(1, "before"), memory(2, "secret", is_sensitive=True)])
        space = await vectors.open_space("compass", SPACE)
        assert await vectors.progress(space) == EmbeddingProgress(0, 1, 0)
        await store.add(memory(3, "after"))
        await store.add_many([memory(4, "copied"), memory(5, "hidden", is_sensitive=True)])
        assert await vectors.progress(space) == EmbeddingProgress(0, 3, 0)
        assert await embed_all(vectors, space) == 3
        assert await vectors.progress(space) == EmbeddingProgress(3, 0, 0)
        assert await vectors.claim(space, 10) == []


async def test_a_sweep_goes_in_steps_and_resumes(emptied_database_url: str) -> None:
    limits = Limits(sweep=3)
    looked = "select swept_to from spaces"
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        await store.add_many([memory(number, str(number)) for number in range(1, 8)])
        space = await vectors.open_space("compass", SPACE)
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
        assert texts(await vectors.claim(space, 10)) == ["slow"]
        assert await vectors.claim(space, 10) == []
        swept = await rows(store, "select swept_to from spaces")
        assert [row["swept_to"] for row in swept] == [None]


async def test_two_workers_share_and_a_dead_ones_lease_runs_out(emptied_database_url: str) -> None:
    async with (
        opened(emptied_database_url, timeouts=Timeouts(lease=3_600)) as (store, one),
        opened(emptied_database_url, timeouts=Timeouts(lease=3_600)) as (_, other),
    ):
        space = await one.open_space("compass", SPACE)
        await store.add_many([memory(number, str(number)) for number in range(1, 7)])
        mine, theirs = await asyncio.gather(one.claim(space, 3), other.claim(space, 3))
        assert texts([*mine, *theirs]) == ["1", "2", "3", "4", "5", "6"]
        assert await one.claim(space, 10) == []
        await one.finish(space, [(job, NORTH) for job in mine])
        await rows(store, _DUE)  # an hour later
        again = [job for _ in theirs for job in await one.claim(space, 10)]
        assert texts(again) == texts(theirs)
        assert await other.finish(space, [(job, EAST) for job in theirs]) == 3
        assert await one.finish(space, [(job, NORTH) for job in theirs]) == 0, "once is enough"


async def test_a_lease_of_no_length_is_over_at_once(emptied_database_url: str) -> None:
    async with opened(emptied_database_url, timeouts=Timeouts(lease=0)) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        assert await vectors.claim(space, 1) == await vectors.claim(space, 1) != []


async def test_a_vector_for_an_older_text_is_dropped(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1, "old"), memory(2, "kept")])
        jobs = await vectors.claim(space, 10)
        await store.replace(memory(1, "new", version=2), based_on=1)
        assert await vectors.finish(space, [(job, NORTH) for job in jobs]) == 1
        await vectors.fail(space, [job for job in jobs if job.text == "old"], "too late")
        assert await vectors.progress(space) == EmbeddingProgress(1, 1, 0)
        assert texts(await vectors.claim(space, 10)) == ["new"], "at once, not after a delay"


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


@pytest.mark.parametrize("error", ["the model choked", None])
async def test_a_text_that_always_fails_is_parked_and_blocks_no_other(
    emptied_database_url: str, error: str | None
) -> None:
    """One that fails, and (None) one whose worker dies each time."""
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1, "poison"))
        for _ in range(MAX_ATTEMPTS):
            assert await claim_once(vectors, space, error) == 1
            assert await vectors.claim(space, 10) == [], "not before its time"
            await rows(store, _DUE)
        assert await vectors.claim(space, 10) == []
        expected = error or "its workers ended without an answer"
        assert await vectors.progress(space) == EmbeddingProgress(0, 0, 1, expected)
        await store.add(memory(2, "healthy"))
        assert await embed_all(vectors, space) == 1
        assert await vectors.retry_parked(space) == 1
        assert await embed_all(vectors, space) == 1
        assert await vectors.progress(space) == EmbeddingProgress(2, 0, 0)


async def test_the_delay_grows(emptied_database_url: str) -> None:
    seconds = "select extract(epoch from due_at - now())::float8 as seconds from embeddings"
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        delays = []
        for _ in range(MAX_ATTEMPTS - 1):
            await claim_once(vectors, space, "no")
            delays += [row["seconds"] for row in await rows(store, seconds)]
            await rows(store, _DUE)
        # Some seconds of each are over when it is looked at; how many is the machine's affair.
        assert all(
            most - 60 < delay <= most
            for most, delay in zip((5, 20, 80, 320, 1280, 3600, 3600), delays, strict=True)
        )


async def test_give_back_counts_no_attempt_and_reports_the_models_error(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        for _ in range(MAX_ATTEMPTS + 2):
            jobs = await vectors.claim(space, 1)
            assert len(jobs) == 1
            await vectors.give_back(space, jobs, "the model is away\0")
        assert await vectors.progress(space) == EmbeddingProgress(0, 1, 0, "the model is away ")
        await vectors.give_back(space, [], "still away")
        assert (await vectors.progress(space)).last_error == "still away"
        await embed_all(vectors, space)
        assert (await vectors.progress(space)).last_error is None


async def test_wait_for_work_returns_on_a_write_and_not_without_one(
    emptied_database_url: str,
) -> None:
    async with (
        opened(emptied_database_url) as (store, vectors),
        opened(emptied_database_url) as (_, worker),
    ):
        await vectors.open_space("compass", SPACE)
        await worker.wait_for_work(60)  # begins to listen, and says that there may be work
        waiting = asyncio.create_task(worker.wait_for_work(600))
        await worker.wait_for_work(0.05)
        assert not waiting.done()
        await store.add(memory(1))
        async with asyncio.timeout(120):
            await waiting
        await store.add(memory(2, is_sensitive=True))
        await worker.wait_for_work(0.05)
        await store.replace(memory(1, "another text", version=2), based_on=1)
        async with asyncio.timeout(120):
            await worker.wait_for_work(600)


async def test_the_ear_is_opened_again_after_its_connection_broke(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        await vectors.open_space("compass", SPACE)
        await vectors.wait_for_work(60)
        cut = "select pg_terminate_backend(pid) from pg_stat_activity"
        assert await rows(store, cut + " where query ilike 'listen %'")
        async with asyncio.timeout(120):
            await vectors.wait_for_work(600)  # told of the loss
            await vectors.wait_for_work(600)  # listens again
            waiting = asyncio.create_task(vectors.wait_for_work(600))
            await store.add(memory(1))
            await waiting


async def test_a_retired_space_is_kept_but_not_filled(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        first = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1, "stays"), memory(2, "changes")])
        await embed_all(vectors, first)
        second = await vectors.open_space("compass 2", replace(SPACE, revision="2"))
        await embed_all(vectors, second)
        await vectors.activate(second)
        await store.add(memory(3, "new"))
        await store.replace(memory(2, "changed", version=2), based_on=1)
        assert await nearest(vectors, first) == ids(1), "no vector of an old text"
        assert await vectors.claim(first, 10) == []
        again = await vectors.open_space("compass", SPACE)
        assert (again.id, again.state) == (first.id, "filling")
        assert texts(await vectors.claim(again, 10)) == ["changed", "new"]
