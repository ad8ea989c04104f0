"""One thread with one connection: how blocking SQLite is used from asynchronous code.

A store has one thread for writing and several for reading, so that a long write keeps no recall
waiting, nor a search by meaning one by words. Jobs of a thread run one after another, in the order
they came.

SQLite itself goes on with a file that was removed or replaced, and what is written to it is
silently lost. So a thread checks, for each job, whether its file is still the one at the path.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from recollect.adapters.sqlite.errors import moved_error, translate

T = TypeVar("T")
# Steps of SQLite's virtual machine, some tens for a row: a few looks in a millisecond.
_STEPS_BETWEEN_LOOKS: Final = 10_000


class FallbackConnection(sqlite3.Connection):
    """A connection on a full disk, where the files that SQLite keeps beside the database cannot be
    made. It serves one job: the next one finds out whether there is room again.
    """


@dataclass(slots=True, eq=False)
class _Job:
    acknowledged: bool
    abandoned: bool = False


class SqliteThread:
    """Opens its connection with its first job, so that a process that only reads never writes."""

    def __init__(
        self, name: str, path: Path, connect: Callable[[Path], sqlite3.Connection]
    ) -> None:
        self._path = path
        self._connect = connect
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"recollect-{name}")
        self._running = _Job(acknowledged=False)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work in this thread. When the caller is cancelled it runs on to its end:
        a write is either done or not, never broken off.
        """
        job = _Job(acknowledged=True)
        return await asyncio.wrap_future(self._thread.submit(self._do, job, work))

    async def run_until_cancelled(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work, and stop its statement when the caller is cancelled (a deadline passed)."""
        job = _Job(acknowledged=False)
        try:
            return await asyncio.wrap_future(self._thread.submit(self._do, job, work))
        except asyncio.CancelledError:
            job.abandoned = True
            raise

    async def run_disconnected(self, work: Callable[[], T]) -> T:
        """Do the work in this thread, which leaves the file to it. The next job connects again."""

        def alone() -> T:
            self._disconnect()
            try:
                return work()
            except (sqlite3.Error, OSError) as error:
                raise translate(error, self._path) from error

        return await asyncio.wrap_future(self._thread.submit(alone))

    async def disconnect(self) -> None:
        """Leave the file to others until the next job."""
        await asyncio.wrap_future(self._thread.submit(self._disconnect))

    async def close(self) -> None:
        """Wait for the jobs under way, then close the connection and end the thread."""
        try:
            await asyncio.wrap_future(self._thread.submit(self._disconnect))
        finally:
            self._thread.shutdown(wait=False)

    def _do(self, job: _Job, work: Callable[[sqlite3.Connection], T]) -> T:
        self._running = job
        try:
            done = work(self._ensure_connection())
            lost = job.acknowledged and _file_at(self._path) != self._file
        except (sqlite3.Error, OSError, UnicodeEncodeError) as error:
            raise translate(error, self._path) from error
        finally:
            if isinstance(self._connection, FallbackConnection):
                self._disconnect()
        if lost:
            raise moved_error(self._path, "what was being written is not in it")
        return done

    def _ensure_connection(self) -> sqlite3.Connection:
        """The connection to the file that is at the path now."""
        file = _file_at(self._path)
        if file != self._file:
            self._disconnect()
        if self._connection is None:
            self._connection = self._connect(self._path)
            self._connection.set_progress_handler(self._is_abandoned, _STEPS_BETWEEN_LOOKS)
            # Looked at before connecting, if it was there: a file that took its place meanwhile
            # must not pass for the one that was opened.
            self._file = file or _file_at(self._path)
        return self._connection

    def _is_abandoned(self) -> bool:
        """SQLite asks this while a statement runs, and stops it when the answer is yes. Unlike
        `interrupt()`, it can neither come too early for its own job nor hit the next one.
        """
        return self._running.abandoned

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of one file. `searcher` also reads, so that a search by meaning runs beside one
    by words; and `background` reads what takes long, and no one waits for.
    """

    path: Path
    writer: SqliteThread
    reader: SqliteThread
    searcher: SqliteThread
    background: SqliteThread


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing. IMMEDIATE takes the write lock at once, where SQLite waits for its turn;
    a lock asked for half way through fails without waiting when another process was faster.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
