"""The store on a full disk, or in a folder that cannot be written.

SQLite needs two files next to the database: the log, and the index of the log, which it maps into
memory. If they cannot be created, even a read fails. So reads do without them, which is correct as
long as the log is empty; and on a full disk an erasure, which must not fail, writes to the file in
place (`history/erasure.py`).
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

from recollect.adapters.sqlite.errors import full, read_only
from recollect.adapters.sqlite.thread import FallbackConnection, close_on_failure


def read_without_log(path: Path) -> sqlite3.Connection:
    """Open the file as it is, after merging what a crash left in the log. Raises StoreFull or
    StoreReadOnly if that fails, because the last writes would be missing.
    """
    with suppress(sqlite3.OperationalError), closing(write_without_log(path)) as writer:
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size > 0:
        explain = full if os.access(path.parent, os.W_OK) else read_only
        raise explain(path, "its log cannot be written into it")
    address = f"file:{quote(str(path))}?immutable=1"
    return _set_up(
        sqlite3.connect(address, uri=True, isolation_level=None, factory=FallbackConnection)
    )


def write_without_log(path: Path) -> sqlite3.Connection:
    """Open the file exclusively: SQLite then holds the index of the log in memory."""
    writer = _set_up(sqlite3.connect(path, isolation_level=None, factory=FallbackConnection))
    with close_on_failure(writer):
        writer.execute("PRAGMA locking_mode = EXCLUSIVE").fetchone()
    return writer


def _set_up(connection: sqlite3.Connection) -> sqlite3.Connection:
    with close_on_failure(connection):
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA foreign_keys = ON")
    return connection
