"""A recall reports what is not embedded yet, from a count that it does not wait for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from uuid import UUID

import pytest
from tests.usecases.queues import InMemoryQueue, Model

from recollect.core.recall.request import RecallRequest
from recollect.core.recall.space import EmbeddingProgress, StoredSpace
from recollect.usecases.context import Context
from recollect.usecases.recall.backlog import REFRESH_SECONDS, Backlog
from recollect.usecases.recall.recall import recall

pytestmark = pytest.mark.anyio
REMEDY = "Run the worker."


@dataclass
class SlowQueue(InMemoryQueue):
    seconds: float = 1.0
    counts: int = 0

    async def progress(self, space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
        self.counts += 1
        await asyncio.sleep(self.seconds)
        return await super().progress(space, owner)


async def embed_one_of_three(queue: InMemoryQueue) -> StoredSpace:
    space = await queue.open_space("m", Model("m").space)
    (job, *_) = await queue.claim(space, 1)
    await queue.finish(space, [(job, [1.0, 1.0])])
    return space


async def embed_the_rest(queue: InMemoryQueue, space: StoredSpace) -> None:
    for job in await queue.claim(space, 5):
        await queue.finish(space, [(job, [1.0, 1.0])])


def texts() -> dict[UUID, str]:
    return {UUID(int=number): f"text {number}" for number in range(1, 4)}


async def test_recall_reports_the_backlog_without_waiting_for_a_long_count(
    context: Context,
) -> None:
    queue = SlowQueue(texts())
    space = await embed_one_of_three(queue)
    async with Backlog(queue, REMEDY) as backlog:
        hinted = replace(context, hint=backlog.hint)
        assert (await recall(hinted, "me", RecallRequest("anything"))).hint is None
        await asyncio.sleep(2)
        for _ in range(5):
            found = await recall(hinted, "me", RecallRequest("anything"))
            assert found.hint == (
                "1 of 3 memories are embedded; the other 2 are found by words only so far. "
                "Run the worker."
            )
        assert queue.counts == 1
        await embed_the_rest(queue, space)
        await asyncio.sleep(REFRESH_SECONDS + 2)
        assert (await recall(hinted, "me", RecallRequest("anything"))).hint is None
        assert queue.counts == 2
        await asyncio.sleep(REFRESH_SECONDS * 10)
        assert queue.counts == 3  # requested by the recall above, and by nothing else


async def test_memories_embedded_meanwhile_are_not_reported_as_waiting(context: Context) -> None:
    queue = InMemoryQueue(texts())
    space = await embed_one_of_three(queue)
    async with Backlog(queue, REMEDY) as backlog:
        hinted = replace(context, hint=backlog.hint)
        await backlog.count("me")
        assert "the other 2 are" in str((await recall(hinted, "me", RecallRequest("any"))).hint)
        await embed_the_rest(queue, space)
        await asyncio.sleep(2)  # a quick count is soon repeated
        assert (await recall(hinted, "me", RecallRequest("any"))).hint is None


async def test_backlog_counts_again_after_a_failure(context: Context) -> None:
    class BrokenQueue(InMemoryQueue):
        is_broken = True

        async def spaces(self) -> list[StoredSpace]:
            if self.is_broken:
                raise OSError
            return await super().spaces()

    queue = BrokenQueue({UUID(int=1): "text"})
    await queue.open_space("m", Model("m").space)
    async with Backlog(queue, REMEDY) as backlog:
        assert backlog.hint("me") is None
        await asyncio.sleep(1)
        assert backlog.hint("me") is None
        queue.is_broken = False
        await asyncio.sleep(REFRESH_SECONDS + 1)
        assert backlog.hint("me") is not None
