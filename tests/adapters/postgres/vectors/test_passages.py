"""Passages in the HNSW indexes, and during transactions that change their memory."""

from __future__ import annotations

import random
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, ids, memory
from tests.conformance.stores import NORTH, SPACE, embed_all, nearest, opened

from recollect.adapters.postgres.limits import Limits
from recollect.core.memory.memory import EVERYWHERE
from recollect.core.recall.background import gain_by_chance
from recollect.core.recall.passages import PassageVector
from recollect.core.recall.space import Space
from recollect.core.text.passages import Span
from recollect.ports.recall import VectorQuery

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("spread", [0.0, 0.1])
async def test_index_and_exact_search_agree_on_passages(
    emptied_database_url: str, spread: float
) -> None:
    draw = random.Random(5)

    def spot() -> list[float]:
        return [draw.uniform(-1.0, 1.0) for _ in range(3)]

    parts = {
        UUID(int=n): [PassageVector(Span(k, k + 1), spot()) for k in range(1 + n % 20)]
        for n in range(1, 301)
    }
    limits = Limits(exact_rows=-1, index_rows=0)
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        space = await vectors.open_space("sphere", Space("sphere", "1", 3))
        await store.add_many(memory(id.int) for id in parts)
        while jobs := await vectors.claim(space, 100):
            done = [(job, parts[job.memory_id][0].vector) for job in jobs]
            long = {job: parts[job.memory_id] for job in jobs if parts[job.memory_id][1:]}
            assert await vectors.finish(space, done, long) == len(jobs)
        await vectors.build_indexes(space)
        survey = await vectors.survey(OWNER, EVERYWHERE)
        assert (survey.use_index, survey.has_passages) == (True, True)
        for depth in (1, 10, 50, 300):
            query = spot()
            exact = VectorQuery(space, query, use_index=False, spread=spread, depth=depth)
            walk = VectorQuery(space, query, use_index=True, spread=spread, depth=depth)
            wanted = await vectors.nearest(OWNER, EVERYWHERE, exact)
            assert len({found.id for found in wanted}) == depth
            assert await vectors.nearest(OWNER, EVERYWHERE, walk) == wanted


async def test_an_index_does_not_lose_short_texts_among_nearer_passages(
    emptied_database_url: str,
) -> None:
    """The nearest passages, all that a walk reaches, are those of long texts."""
    limits = Limits(exact_rows=-1, index_rows=0)
    async with opened(emptied_database_url, limits=limits) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many(memory(number) for number in range(1, 11))
        parts = [PassageVector(Span(k, k + 1), [1.0, 0.001 * k]) for k in range(100)]
        jobs = await vectors.claim(space, 10)
        await vectors.finish(space, [(job, NORTH) for job in jobs], dict.fromkeys(jobs, parts))
        await store.add_many([memory(11), memory(12)])
        await embed_all(vectors, space, [0.96, 0.28])
        query = VectorQuery(space, NORTH, use_index=True, spread=0.1, depth=3)
        found = await vectors.nearest(OWNER, EVERYWHERE, query)
        assert [candidate.id for candidate in found] == ids(11, 12, 1)
        assert found[2].score == pytest.approx(1.0 - 0.1 * gain_by_chance(100), abs=2e-3)


async def test_an_owner_of_few_long_texts_gets_an_index(emptied_database_url: str) -> None:
    async with opened(emptied_database_url, limits=Limits(index_rows=50)) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1), memory(2)])
        assert await vectors.pending_indexes(space) == 0
        jobs = await vectors.claim(space, 10)
        parts = [PassageVector(Span(n, n + 1), NORTH) for n in range(40)]
        await vectors.finish(space, [(job, NORTH) for job in jobs], dict.fromkeys(jobs, parts))
        assert await vectors.pending_indexes(space) == 1


async def test_survey_reports_owners_without_long_texts(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1)])
        (job,) = await vectors.claim(space, 10)
        await vectors.finish(space, [(job, NORTH)])
        assert not (await vectors.survey(OWNER, EVERYWHERE)).has_passages


async def test_finish_skips_a_memory_that_is_being_changed(emptied_database_url: str) -> None:
    """The change holds the memory and will need its vectors: waiting for it would be a deadlock."""
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1), memory(2)])
        jobs = await vectors.claim(space, 10)
        parts = [PassageVector(Span(0, 1), NORTH), PassageVector(Span(1, 2), NORTH)]
        async with store.pool.transaction(OWNER) as other:
            await other.execute(
                "update memories set is_sensitive = false where id = %s", (UUID(int=1),)
            )
            done = [(job, NORTH) for job in jobs]
            assert await vectors.finish(space, done, dict.fromkeys(jobs, parts)) == 1
        assert await nearest(vectors, space) == ids(2)
