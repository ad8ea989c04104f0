"""What the page shows about the machine that serves it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from recollect.adapters.files.home_files import read_benchmark, read_last_backup
from recollect.adapters.files.hook_log import HookLog
from recollect.core.admin.machine import Machine, read_hook_recalls

if TYPE_CHECKING:
    from recollect.core.admin.backup import Kind
    from recollect.core.admin.machine import StorageSize
    from recollect.core.sync.model import SyncStatus
    from recollect.settings import Settings

_HOOK_LINES: Final = 500

ReadMachine = Callable[[], Awaitable[Machine]]


def machine_reader(
    settings: Settings,
    kind: Kind,
    measure: Callable[[], Awaitable[StorageSize]],
    sync: Callable[[], Awaitable[SyncStatus]] | None = None,
) -> ReadMachine:
    """Return a function that reads what is recorded on this machine."""

    def read_files(storage: StorageSize, status: SyncStatus | None) -> Machine:
        lines = HookLog(f"{settings.home}/hooks").last_lines(_HOOK_LINES)
        return Machine(
            storage=storage,
            backup=read_last_backup(settings.home, kind),
            hook_recalls=read_hook_recalls(lines),
            benchmark=read_benchmark(settings.home),
            sync=status,
        )

    async def read() -> Machine:
        status = None if sync is None else await sync()
        return await asyncio.to_thread(read_files, await measure(), status)

    return read
