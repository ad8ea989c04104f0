"""The file of the local store: created atomically, and checked before it is used."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from recollect.adapters.files.new_files import place
from recollect.adapters.sqlite.errors import damaged_error
from recollect.adapters.sqlite.removed import add_fingerprint
from recollect.adapters.sqlite.schema.tables import (
    APPLICATION_ID,
    OLDER,
    VERSION,
    read_schema,
    read_upgrade,
)
from recollect.adapters.sqlite.thread import transaction
from recollect.core.errors import StoreUnavailable

_STEP_SECONDS: Final = 0.01
# Some 50,000 memories, which take 0.1 s to check; larger files are only checked by `doctor`.
_CHECKED_BYTES: Final = 50_000_000
# The end of a long memory is in pages with only its bytes; if zeroed, they look intact.
_ZEROED: Final = """
SELECT 1 FROM memories
WHERE instr(CAST(content AS BLOB), x'00') OR instr(CAST(links AS BLOB), x'00') LIMIT 1
"""


_SHAPE: Final = """
SELECT m.name, coalesce(c.name, m.type)
FROM sqlite_master m LEFT JOIN pragma_table_info(m.name) c ON m.type IN ('table', 'view')
WHERE m.name NOT LIKE 'sqlite_%'
"""


def create_file(path: Path) -> None:
    """Create the folder and the store, accessible only to the user. SQLite gives the files next to
    the database the same mode.

    The store is built in a temporary file and moved into place: so an empty file at the path is
    never a store under construction, but one that lost its contents. If several processes create it
    at once, the first one wins.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as aside:
        new = Path(aside) / path.name
        os.close(os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            create_tables(connection, new)
        place(new, path)


def check_contents(path: Path) -> None:
    """Raise StoreUnavailable for a file that lost its contents, or a log without its file."""
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
            remedy=f"Put {path.name} back next to its log, or replace both by a backup. To "
            "begin with an empty store, remove the log.",
        )


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreUnavailable for a file with a damaged page, whether or not it is needed now."""
    if path.stat().st_size <= _CHECKED_BYTES:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise damaged_error(path, found)
        if connection.execute(_ZEROED).fetchone() is not None:
            raise damaged_error(path, "part of a memory is zeros")


def has_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """Return whether the file is a store of this version; False for one without tables or of an
    older version. Raises StoreUnavailable for a file of another program or of a newer version.
    """
    # The tables are read before the version: another process may be creating the store. It commits
    # both at once, so whoever sees its tables also sees its version.
    is_empty = connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        if is_empty:
            return False
        raise StoreUnavailable(
            f"{path} is the database of another program",
            remedy="Move it away, or set RECOLLECT_HOME to another folder.",
        )
    if version in OLDER:
        return False
    if version != VERSION:
        raise StoreUnavailable(
            f"{path} was written by another version of Recollect (its format is {version}, this "
            f"one reads {VERSION})",
            remedy="Use the version that wrote it, after an upgrade if that is the newer one, or "
            "set RECOLLECT_HOME to another folder.",
        )
    return True


def create_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables in an empty file, or upgrade a store of an older version. If several
    processes try, one does it; the others wait for the lock and find it done.
    """
    _enable_wal(connection)
    add_fingerprint(connection)
    with transaction(connection):
        while not has_tables(connection, path):
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            for statement in read_upgrade(version) if version in OLDER else read_schema():
                connection.execute(statement)
        _check_tables(connection, path)


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StoreUnavailable unless the file has everything that a new store has: an older file may
    be from an unreleased version, or have lost a table.
    """
    with closing(sqlite3.connect(":memory:")) as new:
        for statement in read_schema():
            new.execute(statement)
        expected = {*map(tuple, new.execute(_SHAPE))}
    missing = sorted(expected - {*map(tuple, connection.execute(_SHAPE))})
    if missing:
        table, column = missing[0]
        raise StoreUnavailable(
            f"{path} could not be upgraded to this version's format: {table}.{column} is missing",
            remedy="Nothing was changed. Use the version that wrote it, or restore a backup.",
        )


def _enable_wal(connection: sqlite3.Connection) -> None:
    """Switch the file to WAL, permanently: readers and the writer do not block each other. If two
    processes do this at once, SQLite refuses one without waiting, so the wait is done here.
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
