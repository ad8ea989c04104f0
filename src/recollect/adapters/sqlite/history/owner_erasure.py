"""Erase all data of one owner in the local store, and search the file for what is left.

The search takes the tables from the catalog, so that a table added later is searched as well. Then
it searches the bytes of the file and of its log, including free pages.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from recollect.adapters.files.file_search import search_files
from recollect.adapters.sqlite.history.erasure import (
    drop_erased_words,
    empty_log,
    erase_where,
    run_erasure,
)
from recollect.adapters.sqlite.thread import Threads, transaction
from recollect.core.privacy.erasure import Erased, Marks, Remain

_TABLES: Final = """
SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name
"""
# Where only an id may remain, so that it is not stored again and the server learns of the erasure.
_TOMBSTONES: Final = {("outbox", "id"), ("synced", "id"), ("erasures", "id")}
_CHECK_WORDS: Final = "INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)"


class SqliteOwnerErasure:
    """Implements the `OwnerEraser` port on the store's own threads."""

    unsearched: Final = ""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._path = threads.path

    async def erase_owner(self, owner: str) -> Erased:
        def work(writer: sqlite3.Connection) -> Erased:
            erased = erase_where(writer, "owner = ?", (owner,))
            with transaction(writer):
                _forget_owner(writer, owner)
                drop_erased_words(writer)
            count = "SELECT count(*) FROM outbox WHERE owner = ?"
            (waiting,) = writer.execute(count, (owner,)).fetchone()
            return Erased(erased, notified=waiting)

        return await run_erasure(self._threads, work)

    async def remains(self, marks: Marks) -> tuple[Sequence[str], Sequence[Remain]]:
        def work(writer: sqlite3.Connection) -> tuple[list[str], list[Remain]]:
            empty_log(writer)
            searched, found = _search_tables(writer, marks)
            others = _find_texts_of_others(writer, marks)
            found += _check_word_index(writer)
            for file in (self._path, self._path.with_name(f"{self._path.name}-wal")):
                searched.append(str(file))
                found += search_files(file, sorted(marks.texts - others))
            return searched, found

        return await self._threads.writer.run(work)


def _forget_owner(writer: sqlite3.Connection, owner: str) -> None:
    """Delete an owner's other rows. Without a server the erasure need not be sent anywhere."""
    writer.execute("DELETE FROM states WHERE owner = ?", (owner,))
    writer.execute("DELETE FROM revisions WHERE owner = ?", (owner,))
    writer.execute("DELETE FROM former_names WHERE owner = ?", (owner,))
    writer.execute("DELETE FROM graph_versions WHERE owner = ?", (owner,))
    writer.execute("UPDATE settings_audit SET changed_by = '' WHERE changed_by = ?", (owner,))
    linked = "SELECT 1 FROM sync_link WHERE owner = ? AND server IS NOT NULL"
    if writer.execute(linked, (owner,)).fetchone() is None:
        writer.execute("DELETE FROM outbox WHERE owner = ?", (owner,))
        writer.execute("DELETE FROM erasures WHERE owner = ?", (owner,))
        writer.execute("DELETE FROM removed_texts WHERE owner = ?", (owner,))
        writer.execute("DELETE FROM sync_link WHERE owner = ?", (owner,))


def _search_tables(connection: sqlite3.Connection, marks: Marks) -> tuple[list[str], list[Remain]]:
    searched: list[str] = []
    found: list[Remain] = []
    ids = {str(id) for id in marks.ids}
    others = _find_texts_of_others(connection, marks)
    needles = [text.encode() for text in (marks.texts | marks.words) - others]
    for table, column in _columns(connection):
        searched.append(f"{table}.{column}")
        rows = connection.execute(f'SELECT "{column}" FROM "{table}"')  # noqa: S608  # of the catalogue
        count = 0
        for (value,) in rows:
            if isinstance(value, str) and value in ids:
                count += (table, column) not in _TOMBSTONES
            elif isinstance(value, str | bytes):
                data = value.lower().encode() if isinstance(value, str) else value.lower()
                count += any(needle.lower() in data for needle in needles)
        if count:
            found.append(Remain(f"{table}.{column}", "ids, texts or words", count))
    return searched, found


def _columns(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    for (table,) in connection.execute(_TABLES).fetchall():
        for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall():
            yield table, row[0]


def _find_texts_of_others(connection: sqlite3.Connection, marks: Marks) -> frozenset[str]:
    """Return texts and words in the memories of other owners, which were not erased."""
    query = "SELECT content, tags, expanded_keywords, content_terms FROM memories"
    left = marks.texts | marks.words
    found: set[str] = set()
    for row in connection.execute(query):
        text = " ".join(row).lower()
        found |= {mark for mark in left if mark.lower() in text}
    return frozenset(found)


def _check_word_index(writer: sqlite3.Connection) -> list[Remain]:
    """Check that the index contains the words of the stored memories, and no others."""
    try:
        with transaction(writer):
            writer.execute(_CHECK_WORDS)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        return [Remain("memory_words", "words that no memory holds", 1)]
    return []
