"""The tables of the local store, and how a file gets from any earlier version to the present one.

`PRAGMA user_version` counts the migrations a file has had; `application_id` marks it as ours, so
that no other program's database is ever migrated. Old migrations are never edited.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from recollect.adapters.files.new_files import place
from recollect.adapters.sqlite.errors import damaged
from recollect.adapters.sqlite.history.erasure import RESERVE_MIGRATION
from recollect.adapters.sqlite.schema.links import LINKS_MIGRATION
from recollect.adapters.sqlite.schema.recalls import RECALLS_MIGRATION
from recollect.adapters.sqlite.schema.restores import RESTORES_MIGRATION
from recollect.adapters.sqlite.schema.sync import SYNC_MIGRATION
from recollect.adapters.sqlite.schema.versions import VERSIONS_MIGRATION
from recollect.adapters.sqlite.thread import transaction
from recollect.core.errors import StoreUnavailable

APPLICATION_ID: Final = 0x52434C54  # "RCLT"
_STEP_SECONDS: Final = 0.01
# Some 50,000 memories. They take a tenth of a second to check; what is larger is left to `doctor`.
_CHECKED_BYTES: Final = 50_000_000
# The end of a long memory lies in pages that hold its bytes alone; zeroed, they look sound.
_ZEROED: Final = """
SELECT 1 FROM memories
WHERE instr(CAST(content AS BLOB), x'00') OR instr(CAST(links AS BLOB), x'00') LIMIT 1
"""

# `number` ties a memory to its entry in the word index; being declared, it survives a VACUUM.
# Short columns come first: a scope is then checked without reading the texts.
_MEMORIES: Final = """
CREATE TABLE memories (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    category TEXT NOT NULL,
    project TEXT,
    session TEXT,
    importance REAL NOT NULL,
    is_sensitive INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    deleted_at INTEGER,
    tags TEXT NOT NULL,
    tag_words TEXT NOT NULL,
    expanded_keywords TEXT NOT NULL,
    expanded_words TEXT NOT NULL,
    content TEXT NOT NULL
) STRICT
"""
# What the word index indexes: memories that are not forgotten. The triggers, FTS5's own rebuild and
# its integrity check all read this view, so they cannot disagree. FTS5 reads no virtual table in
# it, such as `json_each`: hence the lists a second time as plain text.
_SEARCHABLE: Final = """
CREATE VIEW searchable AS SELECT
    number, content, expanded_words AS expanded_keywords, tag_words AS tags, category
FROM memories WHERE deleted_at IS NULL
"""
_WORDS: Final = """
CREATE VIRTUAL TABLE memory_words USING fts5(
    content, expanded_keywords, tags, category,
    content='searchable', content_rowid='number', tokenize='porter unicode61'
)
"""
# FTS5 takes an entry out by the text that went in, hence BEFORE: the view still shows the old row.
_UNINDEX: Final = """
CREATE TRIGGER {name} BEFORE {event} ON memories BEGIN
    INSERT INTO memory_words
        (memory_words, rowid, content, expanded_keywords, tags, category)
    SELECT 'delete', number, content, expanded_keywords, tags, category
    FROM searchable WHERE number = old.number;
END
"""
_INDEX: Final = """
CREATE TRIGGER {name} AFTER {event} ON memories BEGIN
    INSERT INTO memory_words (rowid, content, expanded_keywords, tags, category)
    SELECT number, content, expanded_keywords, tags, category
    FROM searchable WHERE number = new.number;
END
"""
# Values as JSON; `old_value` is NULL where the default held.
_SETTINGS_AUDIT: Final = """
CREATE TABLE settings_audit (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    old_value TEXT,
    new_value TEXT NOT NULL,
    changed_by TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT
"""


def beginning(text: str) -> str:
    """The SQL for how a text begins, spaces and line ends apart: enough to look a text up by."""
    for code in (32, 9, 10, 13):
        text = f"replace({text}, char({code}), '')"
    return f"substr({text}, 1, 64)"


_BY_BEGINNING: Final = f"""
CREATE INDEX memories_by_beginning ON memories (owner, {beginning("content")})
WHERE deleted_at IS NULL AND category <> 'episode'
"""
# Which projects there are; a listing of one of them comes in its order.
_BY_PROJECT: Final = """
CREATE INDEX memories_by_project ON memories (owner, project, created_at, id)
WHERE deleted_at IS NULL AND project IS NOT NULL
"""
MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        _MEMORIES,
        "CREATE INDEX memories_by_age ON memories (owner, created_at, id) WHERE deleted_at IS NULL",
        "CREATE TABLE settings (name TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT",
        _SEARCHABLE,
        _WORDS,
        _INDEX.format(name="index_added", event="INSERT"),
        _UNINDEX.format(name="unindex_changed", event="UPDATE"),
        _INDEX.format(name="index_changed", event="UPDATE"),
        _UNINDEX.format(name="unindex_erased", event="DELETE"),
    ),
    (_SETTINGS_AUDIT,),
    SYNC_MIGRATION,
    LINKS_MIGRATION,
    VERSIONS_MIGRATION,
    RESERVE_MIGRATION,
    RECALLS_MIGRATION,
    RESTORES_MIGRATION,
    (_BY_PROJECT,),
    (_BY_BEGINNING,),
)


def create_file(path: Path) -> None:
    """Make the folder and the store, for their owner's eyes only. SQLite gives the files that it
    puts beside the database the same mode.

    The store is built aside and takes its place as a whole: an empty file at the path is then never
    one that was about to become a store, but one that lost its contents. Of several processes that
    make it at once, the first one's stays.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as aside:
        new = Path(aside) / path.name
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            migrate(connection, new)
        place(new, path)


def check_contents(path: Path) -> None:
    """StoreUnavailable for a file that lost its contents, or a log that lost its file."""
    log = path.with_name(f"{path.name}-wal")
    if path.exists():
        if path.stat().st_size == 0:
            raise StoreUnavailable(
                f"{path} is empty: what was stored in it is lost",
                remedy="Put a backup in its place. To begin with an empty store, remove the file.",
            )
    elif log.exists() and log.stat().st_size > 0:
        raise StoreUnavailable(
            f"{path} is missing, but its log {log} is there",
            remedy=f"Put {path.name} back beside its log, or a backup in the place of both. To "
            "begin with an empty store, remove the log.",
        )


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """StoreUnavailable for a file in which a page is damaged, whether or not it is needed now."""
    if path.stat().st_size <= _CHECKED_BYTES:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise damaged(path, found)
        if connection.execute(_ZEROED).fetchone() is not None:
            raise damaged(path, "part of a memory is zeros")


def is_current(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file needs no migration; StoreUnavailable when it cannot be ours to migrate."""
    # The tables before the marks: another process may be migrating, and commits both at once, so
    # that whoever has seen its tables also sees its marks.
    has_tables = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None
    application, version = _marks(connection)
    if application != APPLICATION_ID:
        if has_tables:
            raise StoreUnavailable(
                f"{path} is the database of another program",
                remedy="Move it away, or set RECOLLECT_HOME to another folder.",
            )
        return False
    if version > len(MIGRATIONS):
        raise StoreUnavailable(
            f"{path} was written by a newer Recollect (its format is {version}, "
            f"this one knows {len(MIGRATIONS)})",
            remedy="Upgrade Recollect, or set RECOLLECT_HOME to another folder.",
        )
    return version == len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the present version. Several processes may try: one does it, the others
    wait for the lock and find it done.
    """
    _keep_a_log(connection)
    with transaction(connection):
        if is_current(connection, path):
            return
        _, version = _marks(connection)
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _keep_a_log(connection: sqlite3.Connection) -> None:
    """A property of the file, kept for good: readers and the writer do not block each other. Of two
    that set it at once SQLite refuses one without waiting, so the waiting is done here.
    """
    (milliseconds,) = connection.execute("PRAGMA busy_timeout").fetchone()
    until = time.monotonic() + milliseconds / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
            if not is_busy or time.monotonic() >= until:
                raise
            time.sleep(_STEP_SECONDS)
        else:
            return


def _marks(connection: sqlite3.Connection) -> tuple[int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return application, version
