"""Remove every trace of memories from the SQLite file: rows, words, free pages and the log.

FTS5 only marks an entry as deleted, and drops it when the index is rewritten. That needs several
times the space of the index, and a full disk must not prevent an erasure. In that case the erasure
is done in a copy of the store in memory, and the result, compacted, is written over the file. A
second copy on another file system survives if the process is killed meanwhile. Only a power cut
could damage the file.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, TypeVar

from recollect.adapters.sqlite.errors import full, is_without_room, spare_copies
from recollect.adapters.sqlite.removed import add_fingerprint
from recollect.adapters.sqlite.schema.tables import FILL_RESERVE, RESERVED_PAGES
from recollect.adapters.sqlite.thread import FallbackConnection, Threads, transaction
from recollect.adapters.sqlite.without_log import write_without_log
from recollect.core.errors import StoreBusy, StoreFull

T = TypeVar("T")
Erase = Callable[[sqlite3.Connection], T]

_MERGE: Final = "INSERT INTO memory_words (memory_words) VALUES ('optimize')"


async def run_erasure(threads: Threads, erase: Erase[T]) -> T:
    """Run an erasure and empty the log; on a full disk, in memory with the file locked."""
    path = threads.path

    def with_log(writer: sqlite3.Connection) -> tuple[T, bool]:
        if isinstance(writer, FallbackConnection):
            raise full(path, "its log cannot be made")
        return erase(writer), _try_to_empty_log(writer, path)

    def in_place() -> T:
        with closing(write_without_log(path)) as writer:
            return _rewrite(writer, path, erase)

    try:
        done, is_emptied = await threads.writer.run(with_log)
    except StoreFull:
        pass
    else:
        if is_emptied:
            return done
        raise StoreFull(
            f"the memories are erased, but there is no room to empty the log of {path}, which "
            "still has their text",
            remedy=f"Free some space on the disk that holds {path.parent}, and run any command of "
            "Recollect: the text is then removed from the log.",
        )
    for thread in (threads.reader, threads.searcher, threads.background):
        await thread.disconnect()
    try:
        return await threads.writer.run_disconnected(in_place)
    except StoreBusy as error:
        megabytes = path.stat().st_size // 1_000_000 + 1
        raise StoreFull(
            f"there is no room left to erase from {path} while other programs use it",
            remedy="Nothing was erased. Stop the other programs that use this store (agents and "
            f"their MCP servers) and try again, or free {megabytes} MB on the disk that holds "
            f"{path.parent}.",
        ) from error


def erase_where(writer: sqlite3.Connection, condition: str, values: tuple[object, ...]) -> int:
    """Erase memories by a condition (a constant, never user input). Returns how many."""
    statement = f"DELETE FROM memories WHERE {condition}"  # noqa: S608  # a constant of ours
    with transaction(writer):
        gone = writer.execute(statement, values).rowcount
        if gone:
            drop_erased_words(writer)
        return gone


def drop_erased_words(writer: sqlite3.Connection) -> None:
    """Drop erased words in the erasure's transaction: without space for this it must fail, too."""
    writer.execute(_MERGE)


def empty_log(writer: sqlite3.Connection) -> None:
    """Empty the log: `secure_delete` overwrote the pages, but the log has their old content."""
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _try_to_empty_log(writer: sqlite3.Connection, path: Path) -> bool:
    """Empty the log. Returns False if the file would have to grow for it, and cannot."""
    try:
        empty_log(writer)
    except sqlite3.OperationalError as error:
        if not is_without_room(error.sqlite_errorcode, path):
            raise
        return False
    return True


def _rewrite(writer: sqlite3.Connection, path: Path, erase: Erase[T]) -> T:
    # From here on the file is locked. Overwritten pages are held in memory until everything is
    # written, and nothing is written earlier: otherwise SQLite could not roll back a failed write.
    writer.execute("PRAGMA journal_mode = MEMORY").fetchone()
    writer.execute("PRAGMA cache_spill = OFF")
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    try:
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
            writer.backup(copy)
            copy.row_factory = sqlite3.Row
            add_fingerprint(copy)
            copy.execute("PRAGMA foreign_keys = ON")
            copy.execute("PRAGMA temp_store = MEMORY")
            copy.execute("DELETE FROM reserve")
            done = erase(copy)
            copy.execute("VACUUM")
            _fill_reserve(copy, pages)
            if copy.execute("PRAGMA page_count").fetchone()[0] > pages:
                raise full(path, "what has to be written is larger than the file")
            with _spare_copy(copy, path):
                copy.backup(writer)
    finally:
        writer.execute("PRAGMA journal_mode = WAL").fetchone()
    return done


@contextmanager
def _spare_copy(copy: sqlite3.Connection, path: Path) -> Iterator[None]:
    """Write a copy to another file system, in case the process is killed while it overwrites the
    file; `damaged_error` then names the copy. Raises StoreFull if there is no space for one.
    """
    needed = path.stat().st_size
    for spare in spare_copies(path):
        folder = spare.parent
        is_elsewhere = folder.is_dir() and folder.stat().st_dev != path.stat().st_dev
        if is_elsewhere and shutil.disk_usage(folder).free > 2 * needed:
            break
    else:
        raise full(path, f"nor {needed // 1_000_000 + 1} MB for a copy in a temporary folder")
    os.close(os.open(spare, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(spare)) as kept:
        copy.backup(kept)
    try:
        yield
    finally:
        spare.unlink()


def _fill_reserve(copy: sqlite3.Connection, pages: int) -> None:
    """Reserve space for the next erasure, which may add more than it frees (ids that a server must
    be sent); as much as fits in the file.
    """
    copy.execute(f"PRAGMA max_page_count = {pages}").fetchone()
    for number in range(RESERVED_PAGES):
        try:
            copy.execute(FILL_RESERVE, (number,))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_FULL:
                raise
            return
