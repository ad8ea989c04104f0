"""The worker: embeds for every space that needs it, off the hot path, until it is stopped.

A model that cannot work is left alone for a while, longer each time, and so is a store that cannot
be reached; the other spaces go on. Nothing ends the worker but being cancelled.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from recollect.core.errors import RecollectError, StoreError
from recollect.core.recall.space import StoredSpace
from recollect.usecases.workers.backoff import (
    LEAST_PAUSE,
    Backoff,
    Sleep,
    backoff_after,
    is_transient,
    seconds_left,
    wait_for_news,
)
from recollect.usecases.workers.embed import (
    NO_EMBEDDER,
    EmbeddingContext,
    Tell,
    Trouble,
    embed_batch,
)

_QUIET_SECONDS: Final = 0.1
_LONGEST_BURST: Final = 1.0


class Worker:
    """Embeds for every space that is active or filling. Cancel it to stop it."""

    def __init__(
        self,
        context: EmbeddingContext,
        tell: Tell = lambda _: None,
        *,
        sleep: Sleep = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._parts = context
        self._tell = tell
        self._sleep = sleep
        self._now = now
        self._working: set[int] = set()  # spaces whose model is known to work
        self._rests: dict[
            int | None, Backoff
        ] = {}  # by space; None: the first space cannot be made

    async def run(self) -> None:
        """Work for ever: while there is something to do, and then whenever there may be."""
        lost: Backoff | None = None
        while True:
            try:
                if not await self._round():
                    await self._wait()
                lost = None
            except StoreError as error:
                lost = backoff_after(error, lost, self._now())
                self._tell(Trouble(None, error, lost.seconds))
                await self._sleep(lost.seconds)

    async def work_off(self) -> int:
        """Work until nothing waits but what failed, in this run or before, and say how many these
        are: they are tried again later. The first trouble that does not pass soon is raised.
        """
        while True:
            worked = await self._round()
            for rest in self._rests.values():
                if not is_transient(rest):
                    raise rest.error
            if worked:
                continue
            if self._rests:
                await self._sleep(seconds_left(self._rests.values(), self._now()))
                continue
            progress = [await self._parts.queue.progress(one) for one in await self._spaces()]
            failing = sum(one.failing for one in progress)
            if sum(one.waiting for one in progress) <= failing:
                return failing
            await self._parts.queue.wait_for_work(LEAST_PAUSE)  # somebody else has it in hand

    async def _round(self) -> bool:
        """One batch for each space, the active one first; whether there was anything to do."""
        worked = [await self._work_on(space) for space in await self._spaces()]
        return any(worked)

    async def _work_on(self, space: StoredSpace) -> bool:
        if self._resting(space.id):
            return False
        known = space.id in self._working
        try:
            done = await embed_batch(self._parts, space, known_to_work=known)
        except StoreError:
            raise
        except RecollectError as error:
            self._working.discard(space.id)
            self._trouble(space, error)
            return False
        self._working.add(space.id)
        self._rests.pop(space.id, None)
        if done is not None:
            self._tell(done)
        return done is not None

    async def _spaces(self) -> list[StoredSpace]:
        spaces = [one for one in await self._parts.queue.spaces() if one.state != "retired"]
        if not any(one.state == "active" for one in spaces) and not self._resting(None):
            try:
                first = await open_first_space(self._parts)
            except StoreError:
                raise
            except RecollectError as error:
                self._trouble(None, error)
            else:
                self._rests.pop(None, None)
                spaces += [] if first is None else [first]
        return sorted(spaces, key=lambda one: one.state != "active")

    async def _wait(self) -> None:
        rests = self._rests.values()
        wait_for_work = self._parts.queue.wait_for_work
        await wait_for_news(wait_for_work, rests, sleep=self._sleep, now=self._now())
        await self._let_a_burst_pass()

    async def _let_a_burst_pass(self) -> None:
        """Memories are often stored several at a time. Whoever stores them should not share the
        processor with us, and one batch is less work than many.
        """
        begun = self._now()
        while self._now() - begun < _LONGEST_BURST:
            heard = self._now()
            await self._parts.queue.wait_for_work(_QUIET_SECONDS)
            if self._now() - heard >= _QUIET_SECONDS:
                return

    def _resting(self, key: int | None) -> bool:
        rest = self._rests.get(key)
        return rest is not None and self._now() < rest.until

    def _trouble(self, space: StoredSpace | None, error: RecollectError) -> None:
        key = None if space is None else space.id
        self._rests[key] = rest = backoff_after(error, self._rests.get(key), self._now())
        self._tell(Trouble(space, error, rest.seconds))


async def retry_parked(context: EmbeddingContext) -> int:
    """Give another chance to what is parked or waits after a failure, in every space in use."""
    spaces = [one for one in await context.queue.spaces() if one.state != "retired"]
    return sum([await context.queue.retry_parked(one) for one in spaces])


async def open_first_space(context: EmbeddingContext) -> StoredSpace | None:
    """The space of the configured model, for a database that has no active one; None when no
    model is configured, or another process was faster.
    """
    if context.default == NO_EMBEDDER:
        return None
    before = {one.id for one in await context.queue.spaces()}
    embedder = await context.embedders.embedder(context.default)
    opened = await context.queue.open_space(context.default, embedder.space)
    if opened.state == "active":
        await context.queue.build_index(opened)
        return opened
    if opened.id not in before:  # nobody asked for a second space
        await context.queue.drop_space(opened)
    return None
