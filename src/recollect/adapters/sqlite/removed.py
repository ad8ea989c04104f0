"""Texts that were erased, forgotten or replaced, by their fingerprints; triggers write them."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from recollect.adapters.sqlite.rows import moment
from recollect.core.memory.duplicates import PlacedText, normalize

_FIND: Final = "SELECT removed_at FROM removed_texts WHERE owner = ? AND fingerprint = ?"


def add_fingerprint(writer: sqlite3.Connection) -> None:
    """Add the function that the triggers call; every connection that removes memories needs it."""
    writer.create_function("fingerprint", 3, _fingerprint, deterministic=True)


def find_removed(
    reader: sqlite3.Connection, owner: str, texts: Iterable[PlacedText]
) -> dict[PlacedText, datetime]:
    (salt,) = reader.execute("SELECT salt FROM text_salt").fetchone()
    found: dict[PlacedText, datetime] = {}
    for project, content in texts:
        key = (owner, _fingerprint(salt, project, content))
        if (row := reader.execute(_FIND, key).fetchone()) is not None:
            found[project, content] = moment(row[0])
    return found


def _fingerprint(salt: bytes, project: str | None, content: str) -> str:
    text = f"{project or ''}\x1f{normalize(content)}".encode(errors="surrogatepass")
    return hashlib.blake2b(text, key=salt, digest_size=16).hexdigest()
