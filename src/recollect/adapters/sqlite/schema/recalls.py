"""The table of recalls in the local store, and how it is written: beside the answers, and never
waited for. The row without an id says since when it is kept.

A light module, for it is imported by a hook before each prompt.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final
from uuid import UUID

_PATIENCE: Final = 0.05
_NOTE: Final = """
INSERT INTO recalls (id, recalled_at, times) SELECT id, ?2, 1 FROM memories WHERE id = ?1
ON CONFLICT (id) DO UPDATE SET recalled_at = excluded.recalled_at, times = times + 1
"""

RECALLS_MIGRATION: Final = (
    """
    CREATE TABLE recalls (
        id TEXT NOT NULL PRIMARY KEY,
        recalled_at INTEGER NOT NULL,
        times INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TRIGGER recalls_erased AFTER DELETE ON memories BEGIN
        DELETE FROM recalls WHERE id = old.id;
    END
    """,
    "INSERT INTO recalls VALUES ('', CAST(strftime('%s', 'now') AS INTEGER) * 1000000, 0)",
)


def note_recalls(path: Path, ids: Iterable[UUID], microseconds: int) -> None:
    """Without a sync of the disk, and not at all when another process is writing for long or the
    file cannot be written.
    """
    rows = [(str(id), microseconds) for id in ids]
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=_PATIENCE)) as own, own:
            own.execute("PRAGMA synchronous = OFF")
            own.executemany(_NOTE, rows)
    except sqlite3.Error:
        pass  # busy, read-only, full or not there: this is not worth a word
