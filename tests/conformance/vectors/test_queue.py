"""The queue is the data: what is claimed, stored, failed, given back, parked and swept."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.conformance.samples import fill, ids, memory
from tests.conformance.stores import (
    EAST,
    NORTH,
    SPACE,
    Place,
    Vectors,
    embed_all,
    make_due,
    nearest,
    opened,
    texts,
)

from recollect.core.admin.timeouts import Timeouts
from recollect.core.recall.space import EmbeddingProgress, StoredSpace
from recollect.core.retry import MAX_JOB_ATTEMPTS

pytestmark = pytest.mark.anyio

_DUE = "update embeddings set due_at = now() where due_at < 'infinity'"


async def test_claim_covers_memories_stored_before_and_after_the_space(
    place: Place,
) -> None:
    async with opened(place) as (store, vectors):
        await fill(store, *[memory(1, "before"), memory(2, "secret", is_sensitive=True)])
        space = await vectors.open_space("compass", SPACE)
        assert await vectors.progress(space) == EmbeddingProgress(0, 1, 0)
        await store.add(memory(3, "after"))
        await fill(store, *[memory(4, "copied"), memory(5, "hidden", is_sensitive=True)])
        assert await vectors.progress(space) == EmbeddingProgress(0, 3, 0)
        assert await embed_all(vectors, space) == 3
        assert await vectors.progress(space) == EmbeddingProgress(3, 0, 0)
        assert await vectors.claim(space, 10) == []


async def test_a_claim_can_leave_long_texts_to_others(place: Place) -> None:
    """However many there are before the short ones."""
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, *[memory(number, "ü" * 51) for number in range(1, 4)])
        await fill(store, *[memory(4, "ü" * 50), memory(5, "short")])
        assert texts(await vectors.claim(space, 2, max_bytes=100)) == ["short", "ü" * 50]
        assert await vectors.claim(space, 2, max_bytes=100) == []
        assert len(await vectors.claim(space, 10)) == 3


async def test_two_workers_share_and_a_dead_ones_lease_runs_out(place: Place) -> None:
    async with (
        opened(place, timeouts=Timeouts(lease=3_600)) as (store, one),
        opened(place, timeouts=Timeouts(lease=3_600)) as (_, other),
    ):
        space = await one.open_space("compass", SPACE)
        await fill(store, *[memory(number, str(number)) for number in range(1, 7)])
        mine, theirs = await asyncio.gather(one.claim(space, 3), other.claim(space, 3))
        assert texts([*mine, *theirs]) == ["1", "2", "3", "4", "5", "6"]
        assert await one.claim(space, 10) == []
        await one.finish(space, [(job, NORTH) for job in mine])
        await make_due(store)  # an hour later
        again = [job for _ in theirs for job in await one.claim(space, 10)]
        assert texts(again) == texts(theirs)
        assert await other.finish(space, [(job, EAST) for job in theirs]) == 3
        assert await one.finish(space, [(job, NORTH) for job in theirs]) == 0, "once is enough"


async def test_a_lease_of_no_length_is_over_at_once(place: Place) -> None:
    async with opened(place, timeouts=Timeouts(lease=0)) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        assert await vectors.claim(space, 1) == await vectors.claim(space, 1) != []


async def test_a_vector_for_an_older_text_is_dropped(place: Place) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await fill(store, *[memory(1, "old"), memory(2, "kept")])
        jobs = await vectors.claim(space, 10)
        await store.replace(memory(1, "new", version=2), based_on=1)
        assert await vectors.finish(space, [(job, NORTH) for job in jobs]) == 1
        await vectors.fail(space, [job for job in jobs if job.text == "old"], "too late")
        assert await vectors.progress(space) == EmbeddingProgress(1, 1, 0)
        assert texts(await vectors.claim(space, 10)) == ["new"], "at once, not after a delay"


async def claim_once(vectors: Vectors, space: StoredSpace, error: str | None) -> int:
    jobs = await vectors.claim(space, 10)
    if error is not None:
        await vectors.fail(space, jobs, error)
    return len(jobs)


@pytest.mark.parametrize("error", ["the model choked", None])
async def test_a_text_that_always_fails_is_parked_and_blocks_no_other(
    place: Place, error: str | None
) -> None:
    """One that fails, and (None) one whose worker dies each time."""
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1, "poison"))
        for _ in range(MAX_JOB_ATTEMPTS):
            assert await claim_once(vectors, space, error) == 1
            assert await vectors.claim(space, 10) == [], "not before its time"
            await make_due(store)
        assert await vectors.claim(space, 10) == []
        expected = error or "its workers ended without an answer"
        assert await vectors.progress(space) == EmbeddingProgress(0, 0, 1, expected)
        await store.add(memory(2, "healthy"))
        assert await embed_all(vectors, space) == 1
        assert await vectors.retry_parked(space) == 1
        assert await embed_all(vectors, space) == 1
        assert await vectors.progress(space) == EmbeddingProgress(2, 0, 0)


async def test_give_back_counts_no_attempt_and_reports_the_models_error(
    place: Place,
) -> None:
    async with opened(place) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        for _ in range(MAX_JOB_ATTEMPTS + 2):
            jobs = await vectors.claim(space, 1)
            assert len(jobs) == 1
            await vectors.give_back(space, jobs, "the model is away\0")
        assert await vectors.progress(space) == EmbeddingProgress(0, 1, 0, "the model is away ")
        await vectors.give_back(space, [], "still away")
        assert (await vectors.progress(space)).last_error == "still away"
        await embed_all(vectors, space)
        assert (await vectors.progress(space)).last_error is None


async def test_wait_for_work_returns_on_a_write_and_not_without_one(
    place: Place,
) -> None:
    async with (
        opened(place) as (store, vectors),
        opened(place) as (_, worker),
    ):
        await vectors.open_space("compass", SPACE)
        await worker.wait_for_work(60)  # begins to listen, and reports that there may be work
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


async def test_a_retired_space_is_kept_but_not_filled(place: Place) -> None:
    async with opened(place) as (store, vectors):
        first = await vectors.open_space("compass", SPACE)
        await fill(store, *[memory(1, "stays"), memory(2, "changes")])
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
