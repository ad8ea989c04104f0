"""The worker for background work: it runs a step until it is cancelled.

A step does one round of work and returns whether there was any. If not, the worker waits until work
is announced. Work that fails backs off while the rest continues.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from recollect.core.errors import StoreError
from recollect.core.retry import WORKER_RESTART_SECONDS
from recollect.usecases.workers.backoff import (
    BackoffEvent,
    Backoffs,
    Pause,
    backoff_after,
    is_transient,
)

# How long work can go unnoticed if it is not announced.
POLL_SECONDS: Final = 10.0
_MIN_PAUSE: Final = 1.0
_MAX_BURST: Final = 1.0

Sleep = Callable[[float], Awaitable[None]]


class Step(Protocol):
    """One kind of work."""

    quiet_seconds: float
    """A burst of writes is over once nothing was stored for this long."""

    async def work(self, backoffs: Backoffs) -> bool:
        """Do one round of the most urgent work, each part of it through `backoffs.attempt`; return
        whether there was anything to do.
        """

    async def wait_for_work(self, seconds: float) -> None:
        """Return when work is announced, or after `seconds`."""

    async def count_left(self) -> tuple[int, int]:
        """Return how much work waits, and how much of that has failed and is retried later."""

    def report(self, event: BackoffEvent) -> None:
        """Report that part of the work, or the store, backs off."""


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
        """Work forever; wait while there is nothing to do."""
        lost: Pause | None = None
        while True:
            try:
                if not await self._step.work(self._backoffs):
                    await self._wait_for_work()
                lost = None
            except StoreError as error:
                lost = backoff_after(error, lost, self._now())
                self._step.report(BackoffEvent("store", error, lost.seconds))
                await self._sleep(lost.seconds)

    async def work_off(self) -> int:
        """Work until all that is left has failed, in this run or before, and return how much that
        is: it is retried later. Raise an error that blocks the rest and is not transient.
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

    async def _wait_for_work(self) -> None:
        """Return when there is work, a backoff ends, or it is time to poll."""
        seconds = POLL_SECONDS
        if self._backoffs:
            seconds = min(seconds, self._backoffs.seconds_left())
            # Work that waits for its model would wake the worker again at once, for nothing.
            await self._sleep(_MIN_PAUSE)
        await self._step.wait_for_work(seconds)
        await self._wait_for_burst()

    async def _wait_for_burst(self) -> None:
        """Wait until a burst of writes is over. Memories are often stored several at a time: their
        writer should have the processor to itself, and one batch is less work than many.
        """
        begun = self._now()
        while self._now() - begun < _MAX_BURST:
            heard = self._now()
            await self._step.wait_for_work(self._step.quiet_seconds)
            if self._now() - heard >= self._step.quiet_seconds:
                return


async def persist(
    step: Step, on_bug: Callable[[Exception], None], sleep: Sleep = asyncio.sleep
) -> None:
    """Run a worker; start another if a bug ends it."""
    while True:
        try:
            await Worker(step).run()
        except Exception as error:  # noqa: BLE001  # a bug in a worker must not end its process
            on_bug(error)
            await sleep(WORKER_RESTART_SECONDS)
