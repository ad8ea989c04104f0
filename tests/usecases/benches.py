"""A worker on a clock of its own, over a queue and models in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from tests.usecases.queues import InMemoryQueue, Model, Time, parts_with

from recollect.core.errors import ModelUnavailable
from recollect.core.recall.space import StoredSpace
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import Embedded, EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker

GONE = ModelUnavailable("the model is gone", remedy="look")


def texts(number: int) -> dict[UUID, str]:
    return {UUID(int=place): f"text {place}" for place in range(number)}


@dataclass
class Bench:
    """A worker on a clock of its own; `run_until` stops it when the condition holds."""

    context: EmbeddingContext
    queue: InMemoryQueue
    time: Time = field(default_factory=Time)
    events: list[Embedded | BackoffEvent] = field(default_factory=list)

    @property
    def worker(self) -> Worker:
        return Worker(
            EmbeddingStep(self.context, self.events.append),
            sleep=self.time.sleep,
            now=self.time.now,
        )

    async def run_until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        done = asyncio.Event()
        looks = 0

        def look() -> None:
            nonlocal looks
            looks += 1
            assert looks < 1000, "the worker does not stop"
            self.time.moment += self.queue.waits[-1]
            checks.append(asyncio.ensure_future(check()))

        async def check() -> None:
            if await condition():
                done.set()

        checks: list[asyncio.Future[None]] = []
        self.queue.on_wait = look
        working = asyncio.ensure_future(self.worker.run())
        await asyncio.wait(
            [working, asyncio.ensure_future(done.wait())], return_when="FIRST_COMPLETED"
        )
        assert not working.done(), working
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        await asyncio.gather(*checks)

    async def all_embedded(self) -> bool:
        for space in await self.queue.spaces():
            if space.state == "retired":
                continue
            progress = await self.queue.progress(space)
            if progress.waiting or progress.parked:
                return False
        return bool(self.queue.known)


def bench(number: int, *models: Model, default: str = "") -> Bench:
    queue = InMemoryQueue(texts(number))
    return Bench(parts_with(queue, *models, default=default), queue)


async def open_space(one: Bench, model: Model) -> StoredSpace:
    return await one.queue.open_space(model.name, model.space)
