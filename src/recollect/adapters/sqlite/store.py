"""MemoryStore and SettingsStore on one SQLite file.

It is opened by every command and every hook, often by several processes at once: opening takes a
few reads, nothing is written until something changes, and writers queue instead of failing.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self
from uuid import UUID

from recollect.adapters.sqlite.component import system_microseconds
from recollect.adapters.sqlite.errors import cannot_keep_log, is_without_room
from recollect.adapters.sqlite.history import links, versions
from recollect.adapters.sqlite.history.erasure import erase_where, run_erasure
from recollect.adapters.sqlite.lexical import search as words
from recollect.adapters.sqlite.lexical.reanalysis import has_outdated, reanalyze
from recollect.adapters.sqlite.removed import add_fingerprint, find_removed
from recollect.adapters.sqlite.rows import (
    COLUMNS,
    REPLACE,
    VALUES,
    former_names,
    from_row,
    get_many,
    inside,
    microseconds,
    projects,
    read_settings,
    to_row,
    to_setting_change,
)
from recollect.adapters.sqlite.schema.file import (
    check_contents,
    check_pages,
    create_file,
    create_tables,
    has_tables,
)
from recollect.adapters.sqlite.schema.tables import beginning
from recollect.adapters.sqlite.thread import SqliteThread, Threads, close_on_failure, transaction
from recollect.adapters.sqlite.without_log import read_without_log, write_without_log
from recollect.core.admin.stats import Stats, count_languages
from recollect.core.admin.timeouts import TIMEOUTS, Timeouts
from recollect.core.errors import Conflict, StoreError
from recollect.core.memory.duplicates import PlacedText, is_same
from recollect.core.memory.ids import SHORTEST
from recollect.core.memory.listing import Table, holds_words
from recollect.core.memory.memory import Memory, Scope

if TYPE_CHECKING:
    from recollect.adapters.sqlite.curation import SqliteCuration
    from recollect.adapters.sqlite.graph.store import SqliteGraph
    from recollect.adapters.sqlite.vectors.queue import SqliteVectors
    from recollect.core.memory.ids import IdPart
    from recollect.core.memory.listing import Cursor, Listing
    from recollect.core.recall.request import Candidate
    from recollect.core.recall.settings import SettingChange, WordQuery
    from recollect.core.recall.successors import AsOf, Fetched, Resolution

_ADD: Final = f"""
INSERT INTO memories ({COLUMNS}) SELECT {VALUES}
WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE owner = :owner AND id = :id)
ON CONFLICT (owner, id) DO NOTHING
"""  # noqa: S608  # composed of constants
_ADD_NEW: Final = f"INSERT INTO memories ({COLUMNS}) VALUES ({VALUES})"  # noqa: S608  # as above
_SAME_BEGINNING: Final = f"""
SELECT * FROM memories WHERE owner = :owner AND deleted_at IS NULL AND category <> 'episode'
    AND {beginning("content")} = {beginning(":content")}
"""  # noqa: S608  # composed of constants
_GET: Final = "SELECT * FROM memories WHERE owner = ? AND id = ?"
_COUNT: Final = "SELECT count(*) FROM memories m WHERE {where}"
_ROWS: Final = """
SELECT m.* FROM memories m WHERE {where}
ORDER BY {by} {order}, m.id {order} LIMIT :limit OFFSET :offset
"""
_SORT: Final = {"created": "m.created_at", "updated": "m.updated_at", "importance": "m.importance"}
# A new memory has a new number, a changed one a new version, and an erased one is missing.
_CHANGE_MARK: Final = """
SELECT (SELECT count(*) FROM memories), (SELECT max(number) FROM memories),
    (SELECT max(number) FROM memory_versions)
"""
_FIRST_MONDAY: Final = date(1969, 12, 29)
_GROWTH: Final = """
SELECT (created_at / 86400000000 + 3) / 7, count(*) FROM memories
WHERE owner = ? AND deleted_at IS NULL AND created_at >= ? AND (? IS NULL OR project = ?)
GROUP BY 1
"""
_WITH_PREFIX: Final = """
SELECT id FROM memories
WHERE owner = ? AND id BETWEEN ? AND ? AND (? OR deleted_at IS NULL)
    AND (? IS NULL OR project = ?)
ORDER BY id LIMIT ?
"""
# `+id`: the few that are found are sorted, instead of all being read in their order.
_WITH_ENDINGS: Final = f"""
SELECT id FROM memories
WHERE owner = ? AND substr(id, -{SHORTEST}) IN (SELECT value FROM json_each(?))
    AND (? OR deleted_at IS NULL) AND (? IS NULL OR project = ?)
ORDER BY +id
"""  # noqa: S608  # composed of constants
_STATS: Final = """
SELECT category, project, deleted_at IS NOT NULL, count(*), sum(is_sensitive)
FROM memories WHERE owner = ? AND (? IS NULL OR project = ?) GROUP BY 1, 2, 3
"""

_BY_LANGUAGES: Final = """
SELECT languages, count(*) FROM memories
WHERE owner = ? AND deleted_at IS NULL AND (? IS NULL OR project = ?) GROUP BY 1
"""

# Runs before the new value is written, to log the old one.
_LOG_SETTING: Final = """
INSERT INTO settings_audit (name, old_value, new_value, changed_by, changed_at)
SELECT :name, (SELECT value FROM settings WHERE name = :name), :value, :by, :at
WHERE NOT EXISTS (SELECT 1 FROM settings WHERE name = :name AND value = :value)
"""
_WRITE_SETTING: Final = "INSERT OR REPLACE INTO settings VALUES (:name, :value)"
_SETTINGS_LOG: Final = "SELECT * FROM settings_audit ORDER BY number DESC LIMIT ?"


class SqliteStore:
    """Use it as `async with SqliteStore(path) as store`."""

    def __init__(
        self,
        path: Path,
        *,
        busy_timeout: float = TIMEOUTS.sqlite_busy,
        timeouts: Timeouts = TIMEOUTS,
        now: Callable[[], int] = system_microseconds,
    ) -> None:
        """`now` is the clock of leases and retries, in microseconds since 1970."""
        self._busy_timeout = busy_timeout
        self._parts = timeouts, now
        self._reader = SqliteThread("reader", path, self._connect_reader)
        self._writer = SqliteThread("writer", path, self._connect_writer)
        self._searcher = SqliteThread("searcher", path, self._connect_searcher)
        self._background = SqliteThread("background", path, self._connect_searcher)
        # For other data in the same file.
        self.threads = Threads(path, self._writer, self._reader, self._searcher, self._background)

    @cached_property
    def vectors(self) -> SqliteVectors:
        from recollect.adapters.sqlite.vectors.queue import SqliteVectors

        return SqliteVectors(self.threads, *self._parts)

    @cached_property
    def graph(self) -> SqliteGraph:
        from recollect.adapters.sqlite.graph.store import SqliteGraph

        return SqliteGraph(self.threads, *self._parts)

    @cached_property
    def curation(self) -> SqliteCuration:
        from recollect.adapters.sqlite.curation import SqliteCuration

        return SqliteCuration(self.threads, *self._parts)

    async def __aenter__(self) -> Self:
        try:
            # Connecting opens or creates the file.
            if await self._reader.run(has_outdated):
                with suppress(StoreError):  # it is retried when the store is opened next
                    await self._writer.run(reanalyze)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def add(self, memory: Memory) -> None:
        def work(writer: sqlite3.Connection) -> bool:
            with transaction(writer):
                return writer.execute(_ADD, to_row(memory)).rowcount == 1

        if not await self._writer.run(work):
            raise Conflict(
                f"the id {memory.id} is taken",
                remedy="Store it under a new id, or update the memory that has this one.",
            )

    async def add_unless_known(self, memory: Memory) -> Memory | None:
        def work(writer: sqlite3.Connection) -> Memory | None:
            with transaction(writer):
                if (known := _find_same(writer, memory)) is None:
                    writer.execute(_ADD_NEW, to_row(memory))
                return known

        return await self._writer.run(work)

    async def find_same(self, memories: Sequence[Memory]) -> dict[UUID, Memory]:
        def work(reader: sqlite3.Connection) -> dict[UUID, Memory]:
            found = ((memory.id, _find_same(reader, memory)) for memory in memories)
            return {id: known for id, known in found if known is not None}

        return await self._reader.run_until_cancelled(work)

    async def find_removed(
        self, owner: str, texts: Collection[PlacedText]
    ) -> dict[PlacedText, datetime]:
        return await self._reader.run_until_cancelled(
            lambda reader: find_removed(reader, owner, texts)
        )

    async def add_all(self, memories: Sequence[Memory]) -> set[UUID]:
        rows = [(memory.id, to_row(memory)) for memory in memories]

        def work(writer: sqlite3.Connection) -> set[UUID]:
            with transaction(writer):
                return {id for id, row in rows if writer.execute(_ADD, row).rowcount == 1}

        return await self._writer.run(work)

    async def get(self, owner: str, id: UUID) -> Memory | None:
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_GET, (owner, str(id))).fetchone()
        )
        return None if row is None else from_row(row)

    async def get_many(
        self, owner: str, ids: Collection[UUID], *, forgotten: bool = False
    ) -> dict[UUID, Memory]:
        return await self._reader.run_until_cancelled(
            lambda reader: get_many(reader, owner, ids, forgotten=forgotten)
        )

    async def versions(self, owner: str, id: UUID) -> list[Memory]:
        return await self._reader.run_until_cancelled(
            lambda reader: versions.former_states(reader, owner, id)
        )

    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
        def work(reader: sqlite3.Connection) -> Fetched:
            if as_of is not None:
                return versions.fetch(reader, owner, ids, as_of)
            return links.fetch(reader, owner, ids)

        return await self._reader.run_until_cancelled(work)

    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Resolution:
        def work(reader: sqlite3.Connection) -> Resolution:
            if as_of is not None:
                return versions.follow(reader, owner, old, named, as_of)
            return links.follow(reader, owner, old, named)

        return await self._reader.run_until_cancelled(work)

    async def ids_with_prefix(
        self,
        owner: str,
        prefix: IdPart,
        limit: int,
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        low, high = str(prefix.low), str(prefix.high)
        parameters = (owner, low, high, forgotten, project, project, limit)
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_WITH_PREFIX, parameters).fetchall()
        )
        return [UUID(id) for (id,) in rows]

    async def ids_with_endings(
        self,
        owner: str,
        endings: Collection[str],
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        parameters = (owner, json.dumps([*endings]), forgotten, project, project)
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_WITH_ENDINGS, parameters).fetchall()
        )
        return [UUID(id) for (id,) in rows]

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        def work(writer: sqlite3.Connection) -> bool:
            with transaction(writer):
                row = {**to_row(memory), "based_on": based_on}
                return writer.execute(REPLACE, row).rowcount == 1

        return await self._writer.run(work)

    async def erase(self, owner: str, id: UUID) -> bool:
        def work(writer: sqlite3.Connection) -> bool:
            return erase_where(writer, "owner = ? AND id = ?", (owner, str(id))) == 1

        return await run_erasure(self.threads, work)

    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        def work(reader: sqlite3.Connection) -> list[sqlite3.Row]:
            found = _page(reader, owner, replace(scope, forgotten=False), after, limit)
            if scope.forgotten:
                found += _page(reader, owner, scope, after, limit)
            return sorted(found, key=lambda row: (row["created_at"], row["id"]), reverse=True)

        rows = await self._reader.run_until_cancelled(work)
        return [from_row(row) for row in rows[:limit]]

    async def table(self, owner: str, listing: Listing) -> Table:
        condition, parameters = inside(owner, listing.scope)
        if listing.only_forgotten:
            condition += " AND m.deleted_at IS NOT NULL"
        if listing.is_sensitive is not None:
            condition += " AND m.is_sensitive = :sensitive"
            parameters["sensitive"] = listing.is_sensitive
        if listing.expires_after is not None:
            condition += " AND m.valid_until > :expires_after"
            parameters["expires_after"] = microseconds(listing.expires_after)
        if listing.expires_by is not None:
            condition += " AND m.valid_until <= :expires_by"
            parameters["expires_by"] = microseconds(listing.expires_by)
        if listing.words:
            condition += " AND holds_words(m.content)"
        rows = _ROWS.format(where=condition, by=_SORT[listing.sort_by], order=listing.order)
        parameters |= {"offset": listing.offset, "limit": listing.limit}

        def work(reader: sqlite3.Connection) -> Table:
            # LIKE ignores the case of ASCII letters only.
            reader.create_function(
                "holds_words", 1, lambda content: holds_words(content, listing.words)
            )
            (total,) = reader.execute(_COUNT.format(where=condition), parameters).fetchone()
            return Table(tuple(map(from_row, reader.execute(rows, parameters))), total)

        return await self._reader.run_until_cancelled(work)

    async def change_mark(self, owner: str) -> object:  # noqa: ARG002  # of all owners
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_CHANGE_MARK).fetchone()
        )
        return tuple(row)

    async def growth(self, owner: str, since: date, project: str | None = None) -> dict[date, int]:
        start = datetime(since.year, since.month, since.day, tzinfo=UTC)
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(
                _GROWTH, (owner, microseconds(start), project, project)
            ).fetchall()
        )
        return {_FIRST_MONDAY + timedelta(weeks=week): memories for week, memories in rows}

    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        def work(reader: sqlite3.Connection) -> list[Candidate]:
            if query.as_of is not None:
                return versions.search(reader, owner, scope, query, query.as_of)
            return words.search(reader, owner, scope, query)

        return await self._reader.run_until_cancelled(work)

    async def reanalyze(self, limit: int) -> int:
        """Reanalyze up to `limit` outdated memories. Returns how many were analyzed."""
        if not await self._reader.run(has_outdated):
            return 0
        return await self._writer.run(lambda writer: reanalyze(writer, limit))

    async def projects(self, owner: str) -> list[str]:
        return await self._reader.run_until_cancelled(lambda reader: projects(reader, owner))

    async def former_names(self, owner: str) -> Mapping[str, str]:
        return await self._reader.run_until_cancelled(lambda reader: former_names(reader, owner))

    async def rename_project(
        self, owner: str, old: str, new: str, *, by: str | None, at: datetime
    ) -> int:
        from recollect.adapters.sql.projects import rename
        from recollect.adapters.sqlite.session import SqliteSession
        from recollect.usecases.coroutines import run_directly

        def work(writer: sqlite3.Connection) -> int:
            with transaction(writer):
                return run_directly(rename(SqliteSession(writer), owner, old, new, by, at))

        return await self._writer.run(work)

    async def stats(self, owner: str, project: str | None = None) -> Stats:
        parameters = (owner, project, project)
        rows, languages = await self._reader.run_until_cancelled(
            lambda reader: (
                reader.execute(_STATS, parameters).fetchall(),
                reader.execute(_BY_LANGUAGES, parameters).fetchall(),
            )
        )
        by_category: Counter[str] = Counter()
        by_project: Counter[str] = Counter()
        forgotten = sensitive = 0
        for category, named, is_forgotten, count, sensitive_count in rows:
            if is_forgotten:
                forgotten += count
                continue
            sensitive += sensitive_count
            by_category[category] += count
            if named is not None:
                by_project[named] += count
        return Stats(
            memories=by_category.total(),
            forgotten=forgotten,
            sensitive=sensitive,
            by_category=dict(by_category),
            by_project=dict(by_project),
            by_language=count_languages(dict(map(tuple, languages))),
        )

    async def read_settings(self) -> Mapping[str, object]:
        return await self._reader.run_until_cancelled(read_settings)

    async def write_settings(self, changes: Mapping[str, object], *, by: str, at: datetime) -> None:
        rows = [
            {"name": name, "value": json.dumps(value), "by": by, "at": microseconds(at)}
            for name, value in changes.items()
        ]

        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                writer.executemany(_LOG_SETTING, rows)
                writer.executemany(_WRITE_SETTING, rows)

        await self._writer.run(work)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_SETTINGS_LOG, (limit,)).fetchall()
        )
        return [to_setting_change(row) for row in rows]

    def _connect_reader(self, path: Path) -> sqlite3.Connection:
        try:
            return self._open_reader(self._connect(path), path)
        except sqlite3.OperationalError as error:
            if not cannot_keep_log(error.sqlite_errorcode, path):
                raise
        return self._open_reader(read_without_log(path), path)

    def _open_reader(self, reader: sqlite3.Connection, path: Path) -> sqlite3.Connection:
        with close_on_failure(reader):
            if not has_tables(reader, path):
                self._connect_writer(path).close()
            check_pages(reader, path)
            reader.execute("PRAGMA query_only = ON")
        return reader

    def _connect_searcher(self, path: Path) -> sqlite3.Connection:
        """Connect for searches. Only called after the reader, which has checked the file."""
        try:
            searcher = self._connect(path)
            with close_on_failure(searcher):
                # The first statement that reads needs the log.
                searcher.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            if not cannot_keep_log(error.sqlite_errorcode, path):
                raise
            searcher = read_without_log(path)
        with close_on_failure(searcher):
            searcher.execute("PRAGMA query_only = ON")
        return searcher

    def _connect_writer(self, path: Path) -> sqlite3.Connection:
        try:
            return self._open_writer(self._connect(path), path)
        except sqlite3.OperationalError as error:
            if not is_without_room(error.sqlite_errorcode, path):
                raise
        return self._open_writer(write_without_log(path), path)

    def _open_writer(self, writer: sqlite3.Connection, path: Path) -> sqlite3.Connection:
        with close_on_failure(writer):
            if not has_tables(writer, path):
                create_tables(writer, path)
            # With WAL, anything less may lose acknowledged writes in a power cut.
            writer.execute("PRAGMA synchronous = FULL")
            add_fingerprint(writer)
            # Overwrite erased text instead of only unlinking it.
            writer.execute("PRAGMA secure_delete = ON")
        return writer

    def _connect(self, path: Path) -> sqlite3.Connection:
        check_contents(path)
        if not path.exists():
            create_file(path)
        connection = sqlite3.connect(path, timeout=self._busy_timeout, isolation_level=None)
        with close_on_failure(connection):
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA foreign_keys = ON")
        return connection

    async def _close(self) -> None:
        # The readers first: the writer, closed last, merges the log into the database.
        try:
            for reader in (self._background, self._searcher, self._reader):
                await reader.close()
        finally:
            await self._writer.close()


def _page(
    reader: sqlite3.Connection, owner: str, scope: Scope, after: Cursor | None, limit: int
) -> list[sqlite3.Row]:
    """Return live memories of a scope by their index, or only forgotten ones by a scan."""
    condition, parameters = inside(owner, scope)
    parameters["limit"] = limit
    if scope.forgotten:
        condition += " AND m.deleted_at IS NOT NULL"
    if after is not None:
        condition += " AND (m.created_at, m.id) < (:after_time, :after_id)"
        parameters["after_time"] = microseconds(after.created_at)
        parameters["after_id"] = str(after.id)
    statement = f"""
        SELECT * FROM memories m WHERE {condition}
        ORDER BY m.created_at DESC, m.id DESC LIMIT :limit
    """  # noqa: S608  # built from constants; every value is a parameter
    return reader.execute(statement, parameters).fetchall()


def _find_same(connection: sqlite3.Connection, memory: Memory) -> Memory | None:
    """Return the oldest memory with the same text."""
    parameters = {"owner": memory.owner, "content": memory.content}
    known = map(from_row, connection.execute(_SAME_BEGINNING, parameters))
    return next((other for other in known if is_same(other, memory)), None)
