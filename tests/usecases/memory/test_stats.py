"""What an owner has stored, with the figures of the embedding where there is one."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from tests.conformance.samples import memory
from tests.usecases.queues import InMemoryQueue, Model

from recollect.core.admin.stats import Stats
from recollect.core.recall.space import EmbeddingStats
from recollect.usecases.context import Context
from recollect.usecases.memory.stats import stats

pytestmark = pytest.mark.anyio


async def test_without_a_place_for_vectors_there_are_no_figures(context: Context) -> None:
    assert await stats(context, "me") == Stats(0, 0, 0)


async def test_stats_count_what_expires_within_a_week(context: Context) -> None:
    now = context.clock.now()
    for number, days in enumerate((-1, 6, 8), 1):
        end = now + timedelta(days=days)
        await context.store.add(memory(number, owner="me", valid_until=end))
    counted = await stats(context, "me")
    assert (counted.memories, counted.expiring) == (3, 1)


async def test_the_figures_are_those_of_the_active_space(context: Context) -> None:
    queue = InMemoryQueue({UUID(int=1): "a", UUID(int=2): "b"})
    embedding = replace(context, queue=queue)
    assert (await stats(embedding, "me")).embedding is None
    active = await queue.open_space("m", Model("m").space)
    await queue.open_space("other", Model("other").space)
    (job,) = await queue.claim(active, 1)
    await queue.finish(active, [(job, [1.0, 1.0])])
    await queue.give_back(active, [], "the model is gone")
    found = (await stats(embedding, "me")).embedding
    assert found == EmbeddingStats("m@1/2", 1, 1, 0, "the model is gone", embedder="m")
