"""Run sync for a local store: to completion on request, briefly after a command, or for the
lifetime of a process. One process at a time; errors are recorded for `recollect status`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import NotAllowed, RecollectError, StoreBusy
from recollect.core.privacy.redaction import locations, safe_message
from recollect.core.retry import SYNC_RESTART_SECONDS
from recollect.usecases.sync.sync import OnStep, pull_page, push_all, record_error, silent, sync
from recollect.usecases.tasks import cancel_and_wait

if TYPE_CHECKING:
    from recollect.core.sync.model import SyncStatus
    from recollect.ports.stores import Clock
    from recollect.ports.sync import Lock, SyncServer, SyncStore
    from recollect.usecases.sync.engine import Engine

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SyncRun:
    """A local store, the server behind it, and the lock that one process holds while it syncs."""

    local: SyncStore
    server: SyncServer
    clock: Clock
    lock: Lock
    timeouts: Timeouts = TIMEOUTS

    async def run_to_end(
        self, *, retry: bool = False, relink: bool = False, on_step: OnStep = silent
    ) -> SyncStatus:
        """Sync until both sides are equal. `retry` includes what the server refused. `relink` sends
        everything to a server that this store does not belong to. Raises StoreBusy while another
        process syncs.
        """
        if not self.lock.acquire():
            raise StoreBusy(
                "another process is syncing this store",
                remedy="Let it finish: `recollect status` shows how far it is.",
            )
        try:
            if relink:
                await self.local.reset(relink=True)
            if retry:
                await self.local.retry_parked()
            await sync(self.local, self.server, self.clock, on_step)
        except RecollectError as error:
            await record_error(self.local, error)
            raise
        finally:
            self.lock.release()
        return await self.local.status()

    async def push_briefly(self) -> RecollectError | None:
        """Push what a command wrote, within a short timeout. The rest is sent by the next command,
        `recollect sync` or a running agent. A refused key is returned the first time, so that it
        can be shown.
        """
        if not self.lock.acquire():
            return None  # the process that holds the lock notices the write
        try:
            async with asyncio.timeout(self.timeouts.push_after_command):
                has_more = await pull_page(self.local, self.server, silent)
                await push_all(self.local, self.server)
                while has_more:
                    has_more = await pull_page(self.local, self.server, silent)
                await self.local.record_success(self.clock.now())
        except TimeoutError:
            return None
        except RecollectError as error:
            is_new = await record_error(self.local, error)
            return error if is_new and isinstance(error, NotAllowed) else None
        finally:
            self.lock.release()
        return None

    @asynccontextmanager
    async def running(self, engine: Engine) -> AsyncIterator[None]:
        """Inside the block, run the engine as soon as no other process of this store runs one."""
        task = asyncio.create_task(self._keep_running(engine))
        try:
            yield
        finally:
            await cancel_and_wait(task)

    async def _keep_running(self, engine: Engine) -> None:
        while True:
            try:
                if self.lock.acquire():
                    await engine.run()
            except Exception as error:  # noqa: BLE001  # a bug of ours must not end the syncing
                log.error("the sync engine failed: %s at %s", safe_message(error), locations(error))  # noqa: TRY400  # its text may quote a memory
            finally:
                self.lock.release()
            await asyncio.sleep(SYNC_RESTART_SECONDS)
