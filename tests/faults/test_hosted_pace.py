"""A slow hosted model gets its work done, and a busy one is left alone.

The HTTP server is real, the time is simulated: the server sets how long a request takes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from tests.clocks import AdvancingClock, run_advancing
from tests.loopback import Fault, Loopback, Request, Spoiled, Stall, Status
from tests.usecases.queues import InMemoryQueue

from recollect.adapters.models.embedders.hosted import COMPATIBLE, FIRST_TEXTS, HostedEmbedder
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import ModelBusy
from recollect.core.recall.space import EmbeddingJob, StoredSpace
from recollect.core.retry import DOCUMENT_RETRIES
from recollect.ports.embedding import NO_PASSAGES, NO_TOKENS, Passages, Tokens
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import Embedded, EmbeddingContext, OnEmbedding
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker

FINE = Spoiled()  # a correct answer
TEXTS = {UUID(int=place): f"text {place}" for place in range(50)}


@dataclass
class Timed(InMemoryQueue):
    """A queue that knows how long claims are held; waiting for work advances the time."""

    loop: AdvancingClock = field(default_factory=AdvancingClock)
    claimed_at: float = 0.0
    in_hand: list[float] = field(default_factory=list)

    async def claim(
        self, space: StoredSpace, limit: int, max_bytes: int | None = None
    ) -> list[EmbeddingJob]:
        self.claimed_at = self.loop.time()
        return await super().claim(space, limit, max_bytes)

    async def finish(
        self,
        space: StoredSpace,
        done: Sequence[tuple[EmbeddingJob, Sequence[float]]],
        passages: Passages = NO_PASSAGES,
        tokens: Tokens = NO_TOKENS,
    ) -> int:
        self.in_hand.append(self.loop.time() - self.claimed_at)
        return await super().finish(space, done, passages, tokens)

    async def give_back(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str | None = None
    ) -> None:
        if jobs:
            self.in_hand.append(self.loop.time() - self.claimed_at)
        await super().give_back(space, jobs, error)

    async def wait_for_work(self, seconds: float) -> None:
        await self.pass_by(seconds)

    async def pass_by(self, seconds: float) -> None:
        self.loop.advance(seconds)
        await asyncio.sleep(0)


@dataclass
class SingleEmbedder:
    """Implements `Embedders` with a single model."""

    model: HostedEmbedder

    async def embedder(self, name: str) -> HostedEmbedder:
        return self.model


@asynccontextmanager
async def working(
    loop: AdvancingClock, server: Loopback, tell: OnEmbedding = lambda _: None
) -> AsyncIterator[tuple[Timed, Worker, HostedEmbedder]]:
    async with HostedEmbedder(
        COMPATIBLE, egress="local", model="x", dimension=8, base_url=server.base_url
    ) as model:
        queue = Timed(dict(TEXTS), loop=loop)
        context = EmbeddingContext(queue, SingleEmbedder(model), "x")
        yield queue, Worker(EmbeddingStep(context, tell), sleep=queue.pass_by, now=loop.time), model


@pytest.mark.parametrize(
    ("seconds", "in_vain"),
    [
        (0.1, []),
        (1.0, []),
        (3.0, [FIRST_TEXTS]),
        (12.0, [FIRST_TEXTS, FIRST_TEXTS // 2, FIRST_TEXTS // 4]),
    ],
)
def test_a_slow_server_gets_its_work_done(seconds: float, in_vain: list[int]) -> None:
    """It takes `seconds` per text; requests of the sizes `in_vain` time out."""
    gave_up: list[int] = []

    async def run(loop: AdvancingClock) -> list[float]:
        def slowly(request: Request) -> Fault:
            takes = seconds * len(request.body["input"])
            if takes < DOCUMENT_RETRIES.request_seconds:
                loop.advance(takes)
                return FINE
            gave_up.append(len(request.body["input"]))
            return Stall(lambda: loop.advance(DOCUMENT_RETRIES.request_seconds))

        server.misbehave(*[slowly] * 1000)
        async with working(loop, server) as (queue, worker, _):
            await worker.work_off()
            assert len(queue.kept) == len(TEXTS)
            return queue.in_hand

    with Loopback("compatible") as server:
        in_hand = run_advancing(run)
    assert gave_up == in_vain
    assert max(in_hand) <= Timeouts().lease - 10.0
    sent = [
        text for request in server.requests for text in request.body["input"] if text != "recollect"
    ]
    assert len(sent) == len(TEXTS) + sum(in_vain)


def test_a_service_that_asks_to_be_left_alone_is_left_alone() -> None:
    """By the next round, by the probe and by queries; afterwards the work continues."""
    troubles: list[BackoffEvent] = []
    arrivals: list[float] = []

    async def run(loop: AdvancingClock) -> None:
        in_trouble, all_kept = asyncio.Event(), asyncio.Event()
        embedded = 0

        def tell(note: Embedded | BackoffEvent) -> None:
            nonlocal embedded
            if isinstance(note, BackoffEvent):
                troubles.append(note)
                in_trouble.set()
            else:
                embedded += note.kept
                if embedded == len(TEXTS):
                    all_kept.set()

        def busy(_: Request) -> Fault:
            arrivals.append(loop.time())
            return Status(429, (("Retry-After", "600"),))

        def ready(_: Request) -> Fault:
            arrivals.append(loop.time())
            return FINE

        server.misbehave(ready, busy, *[ready] * 100)
        async with working(loop, server, tell) as (_, worker, model):
            round_the_clock = asyncio.ensure_future(worker.run())
            await in_trouble.wait()
            with pytest.raises(ModelBusy):
                await model.embed_query("is anybody there")
            await all_kept.wait()
            round_the_clock.cancel()
            with pytest.raises(asyncio.CancelledError):
                await round_the_clock

    with Loopback("compatible") as server:
        run_advancing(run)
    assert [trouble.seconds for trouble in troubles] == [600]
    assert arrivals[2] - arrivals[1] >= 600
