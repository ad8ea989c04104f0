"""The worker of the concept graph: reads what is new, compares new names, until it is stopped.

It runs beside the one that embeds, and behind it: whoever stores or recalls waits for neither. What
cannot work is left alone for a while, longer each time, and the rest goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from recollect.core.errors import RecollectError, StoreError
from recollect.usecases.graph.extract import (
    Compared,
    Extracted,
    GraphContext,
    GraphTrouble,
    TellGraph,
    compare_batch,
    extract_batch,
)
from recollect.usecases.graph.read import read_batch
from recollect.usecases.workers.backoff import (
    LEAST_PAUSE,
    Backoff,
    Sleep,
    backoff_after,
    is_transient,
    seconds_left,
    wait_for_news,
)

_QUIET_SECONDS: Final = 0.2

Part = Literal["store", "language model", "embedder"]


class GraphWorker:
    """Fills the graph. Cancel it to stop it."""

    def __init__(
        self,
        context: GraphContext,
        tell: TellGraph = lambda _: None,
        *,
        sleep: Sleep = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parts = context
        self._tell = tell
        self._sleep = sleep
        self._now = now
        self._rests: dict[Part, Backoff] = {}

    async def run(self) -> None:
        """Work for ever: while there is something to do, and then whenever there may be."""
        while True:
            try:
                if not await self._round():
                    await self._wait()
                self._rests.pop("store", None)
            except StoreError as error:
                await self._sleep(self._trouble("store", error).seconds)

    async def work_off(self) -> int:
        """Work until nothing waits but what failed, in this run or before, and say how many these
        are: they are tried again later. Trouble that keeps what is left is raised.
        """
        while True:
            if not await self._round():
                for rest in self._rests.values():
                    if not is_transient(rest):
                        raise rest.error
                if self._rests:
                    await self._sleep(seconds_left(self._rests.values(), self._now()))
                    continue
                progress = await self._parts.progress()
                if progress.waiting <= progress.failing:
                    return progress.failing
                await self._parts.store.wait_for_work(LEAST_PAUSE)  # somebody else has it

    async def _round(self) -> bool:
        """One batch of the most urgent kind of work; whether there was any."""
        worked: Extracted | Compared | None = await extract_batch(self._parts)
        if worked is None:
            worked = await self._try("language model", read_batch)
        if worked is None:
            worked = await self._try("embedder", compare_batch)
        if worked is None:
            return False
        self._tell(worked)
        return True

    async def _try(
        self,
        part: Part,
        work: Callable[[GraphContext], Awaitable[Extracted | Compared | None]],
    ) -> Extracted | Compared | None:
        rest = self._rests.get(part)
        if rest is not None and self._now() < rest.until:
            return None
        try:
            worked = await work(self._parts)
        except StoreError:
            raise
        except RecollectError as error:
            self._trouble(part, error)
            return None
        self._rests.pop(part, None)
        return worked

    async def _wait(self) -> None:
        rests = self._rests.values()
        wait_for_work = self._parts.store.wait_for_work
        await wait_for_news(wait_for_work, rests, sleep=self._sleep, now=self._now())
        # Memories are often stored several at a time: one batch of them is less work than many.
        await self._sleep(_QUIET_SECONDS)

    def _trouble(self, part: Part, error: RecollectError) -> Backoff:
        self._rests[part] = rest = backoff_after(error, self._rests.get(part), self._now())
        self._tell(GraphTrouble(part, error, rest.seconds))
        return rest
