"""Check whether the file of the local store is intact, as far as SQLite can detect."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from recollect.adapters.sqlite.errors import translate


def find_fault(path: Path, *, full: bool) -> str | None:
    """Return the first fault SQLite finds in the file, which is opened read-only."""
    pragma = "integrity_check" if full else "quick_check"
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            (first,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    except sqlite3.Error as error:
        raise translate(error, path) from error
    return None if first == "ok" else str(first)
