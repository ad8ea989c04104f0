"""Removing every trace of memories from the SQLite file: rows, words, free pages and the log.

FTS5 only marks an entry as gone, and both the mark and the merging that drops it want pages. A file
that may not grow any more has none to give, and must not keep what is to be erased. So a few
pages are kept in reserve for it; and the whole index is emptied first and rebuilt from what
stays, so that what it needs does not grow with it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from recollect.adapters.sqlite.schema.tables import FILL_RESERVE, RESERVED_PAGES
from recollect.adapters.sqlite.thread import FallbackConnection, transaction

T = TypeVar("T")

_OPTIMIZE: Final = "INSERT INTO memory_words (memory_words) VALUES ('optimize')"
_EMPTY: Final = "INSERT INTO memory_words (memory_words) VALUES ('delete-all')"
_REBUILD: Final = "INSERT INTO memory_words (memory_words) VALUES ('rebuild')"
# The triggers take a doomed memory out of the index, so it has to be in it.
_INDEX_DOOMED: Final = """
INSERT INTO memory_words (rowid, content, expanded_keywords, tags, category)
SELECT number, content, expanded_keywords, tags, category FROM searchable
WHERE number IN (SELECT number FROM memories WHERE {condition})
"""


def erase_where(writer: sqlite3.Connection, condition: str, values: tuple[object, ...]) -> int:
    """Erase the memories that fit the condition (one of ours, never a caller's); how many."""
    statement = f"DELETE FROM memories WHERE {condition}"  # noqa: S608  # a constant of ours

    def plainly() -> int:
        with transaction(writer):
            gone = writer.execute(statement, values).rowcount
            if gone:
                writer.execute(_OPTIMIZE)
            return gone

    def without_room() -> int:
        with transaction(writer):
            writer.execute("DELETE FROM reserve")
            writer.execute(_EMPTY)
            writer.execute(_INDEX_DOOMED.format(condition=condition), values)
            gone = writer.execute(statement, values).rowcount
            writer.execute(_REBUILD)
            return gone

    if isinstance(writer, FallbackConnection):
        with in_place(writer):
            gone = _with_or_without_room(plainly, without_room)
            if gone:
                _fill_reserve(writer)
                writer.execute("VACUUM")  # the disk gets the room back
        return gone
    gone = _with_or_without_room(plainly, without_room)
    if gone:
        _fill_reserve(writer)
        empty_log(writer)
    return gone


@contextmanager
def in_place(writer: sqlite3.Connection) -> Iterator[None]:
    """What is written before a change is kept in memory, for the disk has no room for it."""
    writer.execute("PRAGMA temp_store = MEMORY")
    writer.execute("PRAGMA journal_mode = MEMORY").fetchone()
    try:
        yield
    finally:
        writer.execute("PRAGMA journal_mode = WAL").fetchone()


def sweep(writer: sqlite3.Connection) -> None:
    """After an erasure no trace of the text stays in the word index or in the log."""

    def merged() -> None:
        with transaction(writer):
            writer.execute(_OPTIMIZE)

    def rebuilt() -> None:
        with transaction(writer):
            writer.execute("DELETE FROM reserve")
            writer.execute(_REBUILD)

    _with_or_without_room(merged, rebuilt)
    _fill_reserve(writer)
    empty_log(writer)


def empty_log(writer: sqlite3.Connection) -> None:
    """`secure_delete` overwrote the pages; the log still holds them as they were before."""
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()


def _fill_reserve(writer: sqlite3.Connection) -> None:
    """As many pages as there are; the rest when the next memory is erased."""
    there = {number for (number,) in writer.execute("SELECT number FROM reserve")}
    try:
        for number in set(range(RESERVED_PAGES)) - there:
            writer.execute(FILL_RESERVE, (number,))
    except sqlite3.OperationalError as error:
        if not _is_full(error):
            raise


def _is_full(error: sqlite3.OperationalError) -> bool:
    return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL


def _with_or_without_room(first: Callable[[], T], second: Callable[[], T]) -> T:
    try:
        return first()
    except sqlite3.OperationalError as error:
        if not _is_full(error):
            raise
    return second()
