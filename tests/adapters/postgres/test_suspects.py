"""A text that kills its workers takes no other with it, and is told apart from failing texts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from tests.conformance.graphs import memory as graph_memory
from tests.conformance.samples import ids, memory
from tests.conformance.stores import NORTH, SPACE, opened, rows, texts

from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import ModelUnavailable
from recollect.core.graph.extraction import BY_RULES, Extraction, ExtractionJob, read_by_rules
from recollect.core.recall.space import EmbeddingProgress, Space
from recollect.core.retry import MAX_JOB_ATTEMPTS
from recollect.usecases.graph.extract import RULES_BATCH, GraphContext
from recollect.usecases.workers import reembed
from recollect.usecases.workers.embed import BATCH, EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep, GraphStep
from recollect.usecases.workers.worker import Worker

pytestmark = pytest.mark.anyio

KILLER, CHOKER = "killer", "choker"
WORKER_DIED = "its workers ended without an answer"
_LATER = "update embeddings set due_at = now() + interval '1 hour' where vector is null"


class Killed(BaseException):
    """The worker is gone: no code after it runs that could give back or count."""


@dataclass
class Deadly:
    """Embedder and embedders in one: one text kills whoever embeds it, another only fails."""

    asked: list[list[str]] = field(default_factory=list)
    space: Space = SPACE
    is_hosted: bool = False
    down: ModelUnavailable | None = None

    def at_once(self, texts: Sequence[str]) -> int:
        return len(texts)

    async def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked.append(list(texts))
        if self.down is not None:
            raise self.down
        if KILLER in texts:
            raise Killed
        if CHOKER in texts:
            raise ValueError
        return [NORTH for _ in texts]

    async def embed_query(self, text: str) -> list[float]:
        return NORTH

    async def embedder(self, name: str) -> Deadly:
        return self


def parts_of(store: PostgresStore, model: Deadly) -> EmbeddingContext:
    assert store.vectors is not None
    return EmbeddingContext(store.vectors, model, "compass")


async def deaths_until_done(worker: Worker) -> int:
    deaths = 0
    while True:
        try:
            await worker.work_off()
        except Killed:
            deaths += 1
        else:
            return deaths


@pytest.mark.parametrize("place", [1, BATCH])
async def test_only_the_text_that_ends_its_workers_is_parked(
    emptied_database_url: str, place: int
) -> None:
    numbers = range(1, BATCH + 1)
    stored = [memory(n, KILLER if n == place else f"text {n}") for n in numbers]
    async with opened(emptied_database_url, timeouts=Timeouts(lease=0)) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many(stored)
        model = Deadly()
        assert (
            await deaths_until_done(Worker(EmbeddingStep(parts_of(store, model))))
            == MAX_JOB_ATTEMPTS
        )
        assert await vectors.progress(space) == EmbeddingProgress(BATCH - 1, 0, 1, WORKER_DIED)
        parked = "select memory_id from embeddings where vector is null"
        assert [row["memory_id"] for row in await rows(store, parked)] == ids(place)
        together = [asked for asked in model.asked if KILLER in asked and len(asked) > 1]
        assert [len(asked) for asked in together] == [BATCH], "it is alone the second time"


async def test_texts_claimed_with_a_suspect_are_cleared_and_new_ones_batched(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url, timeouts=Timeouts(lease=0)) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1, "old"), memory(2, "older")])
        assert len(await vectors.claim(space, 10)) == 2  # and its worker dies
        await store.add_many([memory(n, f"new {n}") for n in range(3, 6)])
        claims = []
        while jobs := await vectors.claim(space, 10):
            claims.append(texts(jobs))
            await vectors.finish(space, [(job, NORTH) for job in jobs])
        assert sorted(claims) == [["new 3", "new 4", "new 5"], ["old"], ["older"]]
        left = await rows(store, "select attempts from embeddings")
        assert {row["attempts"] for row in left} == {0}


async def test_a_text_that_only_fails_is_tried_again_with_others(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1, "one"), memory(2, "two")])
        await vectors.fail(space, await vectors.claim(space, 10), "no")
        await rows(store, "update embeddings set due_at = now()")
        assert texts(await vectors.claim(space, 10)) == ["one", "two"]


async def test_a_text_that_failed_and_was_given_back_is_not_a_suspect(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        await store.add_many([memory(number, str(number)) for number in range(1, 4)])
        space = await vectors.open_space("compass", SPACE)
        for given_back in (False, True):
            jobs = await vectors.claim(space, 10)
            assert len(jobs) == 3
            if given_back:
                await vectors.give_back(space, jobs, "the model is away")
            else:
                await vectors.fail(space, jobs, "it is too long")
                await rows(store, "update embeddings set due_at = now() returning memory_id")
        assert len(await vectors.claim(space, 10)) == 3


async def test_progress_tells_failed_texts_from_claimed_ones(emptied_database_url: str) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add_many([memory(1, "fails"), memory(2, "in hand"), memory(3, "waits")])
        first, second = await vectors.claim(space, 2)
        await vectors.fail(space, [first], "no")
        expected = EmbeddingProgress(0, 3, 0, "no", failing=1, soon=1)
        assert await vectors.progress(space) == expected
        await rows(store, "update embeddings set attempts = 3 where last_error is not null")
        assert (await vectors.progress(space)).soon == 0, "it failed too often to be waited for"
        await rows(store, "update embeddings set attempts = 1 where last_error is not null")
        await rows(store, _LATER + " and last_error is not null")
        assert (await vectors.progress(space)).soon == 0, "an hour is not soon"
        assert await vectors.retry_parked(space) == 1
        assert (await vectors.progress(space)).failing == 0, "due now"
        assert texts(await vectors.claim(space, 10)) == ["fails", "waits"]
        assert await vectors.progress(space) == EmbeddingProgress(0, 3, 0)
        assert await vectors.finish(space, [(second, NORTH)]) == 1, "it was left in its hand"


async def test_working_off_does_not_wait_for_what_failed_in_an_earlier_run(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        await store.add_many([memory(1, CHOKER), memory(2, "good")])
        context = parts_of(store, Deadly())
        async with asyncio.timeout(120):
            assert await Worker(EmbeddingStep(context)).work_off() == 1
        await rows(store, _LATER)
        await store.add(memory(3, "new"))
        async with asyncio.timeout(120):
            assert await Worker(EmbeddingStep(context)).work_off() == 1
        (space,) = await vectors.spaces()
        assert (await vectors.progress(space)).embedded == 2


async def test_changing_the_model_does_not_wait_for_what_another_worker_failed_with(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        await store.add_many([memory(1, CHOKER), memory(2, "good")])
        first = await vectors.open_space("compass", SPACE)
        await vectors.fail(first, await vectors.claim(first, 10), "no")
        second = Deadly(space=Space("second", "1", 2))
        space = await vectors.open_space("second", second.space)
        good, bad = sorted(await vectors.claim(space, 10), key=lambda job: job.text == CHOKER)
        await vectors.finish(space, [(good, NORTH)])
        await vectors.fail(space, [bad], "no")
        await rows(store, _LATER)
        context = EmbeddingContext(vectors, second, "second")
        async with asyncio.timeout(120):
            switched = await reembed.reembed(context, "second", accept_parked=True)
        assert (switched.id, switched.state) == (space.id, "active")


@pytest.mark.parametrize("is_hosted", [False, True])
@pytest.mark.parametrize("content", [None, CHOKER])
async def test_the_error_of_a_model_is_over_when_it_works_again(
    emptied_database_url: str, content: str | None, *, is_hosted: bool
) -> None:
    """Even if nothing waits for it, or only a text that it cannot read."""
    async with opened(emptied_database_url) as (store, vectors):
        await store.add(memory(1))
        model = Deadly(is_hosted=is_hosted)
        context = parts_of(store, model)
        await Worker(EmbeddingStep(context)).work_off()
        (space,) = await vectors.spaces()
        await vectors.give_back(space, [], "no index")
        assert (await vectors.progress(space)).last_error == "no index"
        if content is not None:
            await store.add(memory(2, content))
        await Worker(EmbeddingStep(context)).work_off()
        last_error = (await vectors.progress(space)).last_error
        assert last_error == (None if content is None else "ValueError")


async def test_the_models_error_stays_until_it_answers(
    emptied_database_url: str,
) -> None:
    async with opened(emptied_database_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        await vectors.give_back(space, await vectors.claim(space, 1), "away")
        jobs = await vectors.claim(space, 1)
        await vectors.clear_error(space)
        assert (await vectors.progress(space)).last_error == "away"
        await vectors.fail(space, jobs, "no")
        await vectors.clear_error(space)
        assert (await vectors.progress(space)).last_error == "no"


async def test_only_the_text_that_ends_the_readers_is_parked(emptied_database_url: str) -> None:
    def read(job: ExtractionJob) -> Extraction:
        if job.content == KILLER:
            raise Killed
        return read_by_rules(job)

    numbers = range(1, RULES_BATCH + 1)
    async with opened(emptied_database_url, timeouts=Timeouts(lease=0)) as (store, _):
        await store.add_many([graph_memory(n, KILLER if n == 7 else f"text {n}") for n in numbers])
        worker = Worker(GraphStep(GraphContext(store.graph, rules=read)))
        assert await deaths_until_done(worker) == MAX_JOB_ATTEMPTS
        progress = await store.graph.progress(BY_RULES)
        assert (progress.extracted, progress.waiting) == (RULES_BATCH - 1, 0)
        assert (progress.parked, progress.last_error) == (1, WORKER_DIED)


async def test_reading_does_not_wait_for_what_failed_in_an_earlier_run(
    emptied_database_url: str,
) -> None:
    later = "update extractions set due_at = now() + interval '1 hour'"
    async with opened(emptied_database_url) as (store, _):
        await store.add_many([graph_memory(1, "one"), graph_memory(2, "two")])
        first, second = await store.graph.claim(BY_RULES, 10)
        await store.graph.fail([first], "no")
        await store.graph.give_back([second])
        await rows(store, later + " where last_error is not null")
        async with asyncio.timeout(120):
            assert await Worker(GraphStep(GraphContext(store.graph))).work_off() == 1
        progress = await store.graph.progress(BY_RULES)
        assert (progress.extracted, progress.waiting, progress.failing) == (1, 1, 1)
        assert await store.graph.retry_parked() == 1
        assert await Worker(GraphStep(GraphContext(store.graph))).work_off() == 0
