"""The step that builds indexes: for the active space, at once and then periodically."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.usecases.queues import InMemoryQueue

from recollect.core.recall.space import Space
from recollect.usecases.workers.backoff import Backoffs
from recollect.usecases.workers.steps import CHECK_SECONDS, IndexStep
from recollect.usecases.workers.worker import Worker

pytestmark = pytest.mark.anyio

SPACE = Space("m", "1", 2)


async def _two_spaces() -> tuple[InMemoryQueue, list[int]]:
    queue = InMemoryQueue()
    active = await queue.open_space("m", SPACE)
    filling = await queue.open_space("n", replace(SPACE, model="n"))
    return queue, [active.id, filling.id]


async def test_only_the_active_space_is_indexed() -> None:
    queue, (active, _) = await _two_spaces()
    assert await Worker(IndexStep(queue)).work_off() == 0
    assert queue.indexed == {active}


async def test_indexes_are_checked_again_after_a_while() -> None:
    queue, (active, _) = await _two_spaces()
    times = iter([0.0, 0.0, 0.0, CHECK_SECONDS - 1, CHECK_SECONDS, CHECK_SECONDS])
    step = IndexStep(queue, now=lambda: next(times))
    backoffs = Backoffs(step.report, lambda: 0.0)
    built: list[bool] = []
    for _ in range(3):
        queue.indexed.clear()
        await step.work(backoffs)
        built.append(active in queue.indexed)
    assert built == [True, False, True]
