"""One worker for every kind of work that no caller waits for: it runs a step until it is stopped.

A step does one round of work and says whether there was any. Then the worker waits for news. What
cannot work backs off, and the rest goes on; nothing ends the worker but being cancelled.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from recollect.core.errors import StoreError
from recollect.usecases.workers.backoff import (
    BackoffEvent,
    Backoffs,
    Pause,
    backoff_after,
    is_transient,
)

# How long work can go unnoticed when no one notifies of it.
POLL_SECONDS: Final = 10.0
_MIN_PAUSE: Final = 1.0
_LONGEST_BURST: Final = 1.0
_AFTER_A_BUG: Final = 60.0

Sleep = Callable[[float], Awaitable[None]]


class Step(Protocol):
    """One kind of work."""

    quiet_seconds: float
    """When nothing was stored for so long, a burst of stores is over."""

    async def work(self, backoffs: Backoffs) -> bool:
        """One round of the most urgent work, each part of it through `backoffs.attempt`; whether
        there was anything to do.
        """

    async def wait_for_work(self, seconds: float) -> None:
        """Until someone notifies of work, or so long."""

    async def count_left(self) -> tuple[int, int]:
        """How much waits, and how much of that has failed and is retried later."""

    def report(self, event: BackoffEvent) -> None:
        """Part of the work, or the store, backs off."""


class Worker:
    """Runs a step. Cancel it to stop it."""

    def __init__(
        self,
        step: Step,
        *,
        sleep: Sleep = asyncio.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._step = step
        self._sleep = sleep
        self._now = now
        self._backoffs = Backoffs(step.report, now)

    async def run(self) -> None:
        """Work for ever: while there is something to do, and then whenever there may be."""
        lost: Pause | None = None
        while True:
            try:
                if not await self._step.work(self._backoffs):
                    await self._wait_for_news()
                lost = None
            except StoreError as error:
                lost = backoff_after(error, lost, self._now())
                self._step.report(BackoffEvent("store", error, lost.seconds))
                await self._sleep(lost.seconds)

    async def work_off(self) -> int:
        """Work until nothing waits but what failed, in this run or before, and return how many
        those are: they are retried later. An error that keeps the rest from being done and does
        not pass soon is raised.
        """
        while True:
            if await self._step.work(self._backoffs):
                continue
            for backoff in self._backoffs:
                if not is_transient(backoff):
                    raise backoff.error
            if self._backoffs:
                await self._sleep(self._backoffs.seconds_left())
                continue
            waiting, failing = await self._step.count_left()
            if waiting <= failing:
                return failing
            await self._step.wait_for_work(_MIN_PAUSE)  # another process has claimed the rest

    async def _wait_for_news(self) -> None:
        """Until there is work, or a backoff ends, or it is time to poll."""
        seconds = POLL_SECONDS
        if self._backoffs:
            seconds = min(seconds, self._backoffs.seconds_left())
            # Work that must wait for its model would wake us again at once, and in vain.
            await self._sleep(_MIN_PAUSE)
        await self._step.wait_for_work(seconds)
        await self._let_a_burst_pass()

    async def _let_a_burst_pass(self) -> None:
        """Memories are often stored several at a time. Their writer should not share the processor
        with us, and one batch is less work than many.
        """
        begun = self._now()
        while self._now() - begun < _LONGEST_BURST:
            heard = self._now()
            await self._step.wait_for_work(self._step.quiet_seconds)
            if self._now() - heard >= self._step.quiet_seconds:
                return


async def persist(
    step: Step, on_bug: Callable[[Exception], None], sleep: Sleep = asyncio.sleep
) -> None:
    """Run a worker, and another one when a bug of ours ends it."""
    while True:
        try:
            await Worker(step).run()
        except Exception as error:  # noqa: BLE001  # a bug in a worker must not end its process
            on_bug(error)
            await sleep(_AFTER_A_BUG)
