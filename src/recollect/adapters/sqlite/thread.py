"""One thread with one connection: how blocking SQLite is used from asynchronous code.

A store has one thread for writing and several for reading, so that a recall does not wait for a
long write, nor a search by words for one by meaning. Jobs of a thread run one after another, in
order.

SQLite keeps using a file that was removed or replaced, and what is written to it is silently lost.
So a thread checks, for each job, whether its file is still the one at the path.
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
# Steps of SQLite's virtual machine, some tens per row: this checks a few times per millisecond.
_STEPS_BETWEEN_LOOKS: Final = 10_000


class FallbackConnection(sqlite3.Connection):
    """A connection on a full disk, where SQLite cannot create its files next to the database. It
    serves one job: the next one checks whether there is space again.
    """


@dataclass(slots=True, eq=False)
class _Job:
    acknowledged: bool
    abandoned: bool = False


class SqliteThread:
    """Connects with its first job, so that a process that only reads never writes."""

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
        """Do the work in this thread. It runs to its end even if the caller is cancelled: a write
        is never aborted.
        """
        job = _Job(acknowledged=True)
        return await asyncio.wrap_future(self._thread.submit(self._do, job, work))

    async def run_until_cancelled(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do the work, and stop its statement if the caller is cancelled (after a deadline)."""
        job = _Job(acknowledged=False)
        try:
            return await asyncio.wrap_future(self._thread.submit(self._do, job, work))
        except asyncio.CancelledError:
            job.abandoned = True
            raise

    async def run_disconnected(self, work: Callable[[], T]) -> T:
        """Do the work in this thread without a connection. The next job connects again."""

        def alone() -> T:
            self._disconnect()
            try:
                return work()
            except (sqlite3.Error, OSError) as error:
                raise translate(error, self._path) from error

        return await asyncio.wrap_future(self._thread.submit(alone))

    async def disconnect(self) -> None:
        """Close the connection until the next job."""
        await asyncio.wrap_future(self._thread.submit(self._disconnect))

    async def close(self) -> None:
        """Wait for jobs in progress, then close the connection and end the thread."""
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
        """Return the connection to the file that is at the path now."""
        file = _file_at(self._path)
        if file != self._file:
            self._disconnect()
        if self._connection is None:
            self._connection = self._connect(self._path)
            self._connection.set_progress_handler(self._is_abandoned, _STEPS_BETWEEN_LOOKS)
            # The identity is read before connecting, if the file exists: one that replaces it
            # meanwhile must not be mistaken for the one that was opened.
            self._file = file or _file_at(self._path)
        return self._connection

    def _is_abandoned(self) -> bool:
        """Return whether to stop the running statement; SQLite calls this regularly. Unlike
        `interrupt()`, it can neither come before its own job nor stop the next one.
        """
        return self._running.abandoned

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of one file. `searcher` also reads, so that searches by meaning and by words run
    in parallel; `background` is for long reads that no caller waits for.
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
    """Run a transaction. IMMEDIATE takes the write lock at the start, and SQLite waits for it; a
    lock requested later fails without waiting if another process was faster.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def close_on_failure(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise
