"""The base of every part of the local store besides its memories: threads and clock."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from typing import Final, TypeVar

from recollect.adapters.sql.session import SqlComponent, Work
from recollect.adapters.sqlite.session import SqliteSession
from recollect.adapters.sqlite.thread import Threads, transaction
from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.usecases.coroutines import run_directly

T = TypeVar("T")

PARKED: Final = 2**62
"""When a parked job is due: never."""

_LOOK_SECONDS: Final = 0.1


def system_microseconds() -> int:
    return time.time_ns() // 1_000


class SqliteComponent(SqlComponent):
    """Shares the threads of its store; opened and closed by it."""

    def __init__(
        self,
        threads: Threads,
        timeouts: Timeouts = TIMEOUTS,
        now: Callable[[], int] = system_microseconds,
    ) -> None:
        self._reader = threads.reader
        self._writer = threads.writer
        self._searcher = threads.searcher
        self._background = threads.background
        self._timeouts = timeouts
        self._now = now
        self._seen: int | None = None

    async def wait_for_work(self, seconds: float) -> None:
        """Return when any process has written to the file since the last wait, or after `seconds`.
        A check takes microseconds.
        """
        until = time.monotonic() + seconds
        while True:
            version = await self._reader.run(
                lambda reader: int(reader.execute("PRAGMA data_version").fetchone()[0])
            )
            if version != self._seen:
                self._seen = version
                return
            left = until - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _LOOK_SECONDS))

    async def _read(self, owner: str | None, work: Work[T]) -> T:  # noqa: ARG002  # statements name it
        return await self._reader.run_until_cancelled(
            lambda reader: run_directly(work(SqliteSession(reader, self._now())))
        )

    async def _write(self, owner: str | None, work: Work[T]) -> T:  # noqa: ARG002  # statements name it
        def do(writer: sqlite3.Connection) -> T:
            with transaction(writer):
                return run_directly(work(SqliteSession(writer, self._now())))

        return await self._writer.run(do)

    def _lease_end(self) -> int:
        return self._now() + int(self._timeouts.lease * 1_000_000)
