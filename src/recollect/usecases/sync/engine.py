"""The sync engine of a local store: pushes after writes, polls for changes, and retries with
exponential backoff when the server is unreachable.

It does not raise network errors: they are recorded for `recollect status`, and logged once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from recollect.core.errors import NotAllowed, RecollectError
from recollect.core.retry import SYNC_FIRST_WAIT, Backoff
from recollect.usecases.sync.sync import pull_all, push_all, record_error

if TYPE_CHECKING:
    from recollect.ports.stores import Clock
    from recollect.ports.sync import SyncServer, SyncStore

# How soon another process's write is noticed; a poll costs a few microseconds.
_POLL_SECONDS: Final = 1.0

Warn = Callable[[RecollectError], None]


class Engine:
    """Runs until cancelled. Call `wake` when something was written."""

    def __init__(
        self,
        local: SyncStore,
        server: SyncServer,
        clock: Clock,
        *,
        interval: float,
        warn: Warn = lambda _: None,
    ) -> None:
        self._local = local
        self._server = server
        self._clock = clock
        self._interval = interval
        self._warn = warn
        self._written = asyncio.Event()
        self._reached = asyncio.Event()

    def wake(self) -> None:
        self._written.set()

    async def run(self) -> None:
        """Run both directions concurrently. The first pull shows whether this is our server and
        whether it accepts the key; until then, and after a refused key, nothing is sent.
        """
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep_pulling())
            group.create_task(self._keep_pushing())
            group.create_task(self._watch_file())

    async def _keep_pulling(self) -> None:
        failures = 0
        while True:
            if await self._try(lambda: pull_all(self._local, self._server)):
                if failures or not self._reached.is_set():
                    self._reached.set()
                    self._written.set()  # send what is waiting
                failures = 0
                await asyncio.sleep(self._interval)
            else:
                failures += 1
                await self._back_off(failures)

    async def _keep_pushing(self) -> None:
        failures = 0
        while True:
            await self._reached.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval):
                    await self._written.wait()
            self._written.clear()
            if await self._try(self._push):
                failures = 0
            else:
                failures += 1
                self._written.set()
                await self._back_off(failures)

    async def _back_off(self, failures: int) -> None:
        jitter = random.random()  # noqa: S311  # no secret
        await asyncio.sleep(Backoff(SYNC_FIRST_WAIT, self._interval).wait(failures, jitter))

    async def _push(self) -> None:
        await push_all(self._local, self._server)
        await self._local.record_success(self._clock.now())

    async def _watch_file(self) -> None:
        """Notice writes of other processes to the same file: commands, hooks, a second agent."""
        seen: int | None = None
        while True:
            with suppress(RecollectError):
                now = await self._local.data_version()
                if seen is not None and now != seen and (await self._local.status()).waiting:
                    self._written.set()
                seen = now
            await asyncio.sleep(_POLL_SECONDS)

    async def _try(self, work: Callable[[], Awaitable[object]]) -> bool:
        try:
            await work()
        except RecollectError as error:
            if isinstance(error, NotAllowed):
                self._reached.clear()
            is_new = False
            with suppress(RecollectError):  # the local disk may be the fault
                is_new = await record_error(self._local, error)
            if is_new:
                self._warn(error)
            return False
        return True
