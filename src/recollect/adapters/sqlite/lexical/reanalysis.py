"""Reanalyze memories that an earlier version of the analyzer processed: all of them in the worker,
and a batch whenever the store is opened.

Recall continues meanwhile: a memory is found by its old terms until it has new ones.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from recollect.adapters.sqlite.rows import analyze_memory, from_row
from recollect.adapters.sqlite.thread import transaction
from recollect.core.text.terms import VERSION

BATCH: Final = 500
"""Memories that are analyzed when the store is opened: about half a second."""

_ANY_OUTDATED: Final = "SELECT 1 FROM memories WHERE analyzer < ? LIMIT 1"
_OUTDATED: Final = "SELECT * FROM memories WHERE analyzer < ? LIMIT ?"
# Sync and the history read none of these columns.
_UPDATE: Final = """
UPDATE memories SET analyzer = :analyzer, languages = :languages, content_terms = :content_terms,
    keyword_terms = :keyword_terms, tag_terms = :tag_terms, category_terms = :category_terms
WHERE number = :number
"""


def has_outdated(reader: sqlite3.Connection) -> bool:
    return reader.execute(_ANY_OUTDATED, (VERSION,)).fetchone() is not None


def reanalyze(writer: sqlite3.Connection, limit: int = BATCH) -> int:
    """Analyze up to `limit` memories. Returns how many were analyzed."""
    with transaction(writer):
        rows = writer.execute(_OUTDATED, (VERSION, limit)).fetchall()
        new = [{**analyze_memory(from_row(row)), "number": row["number"]} for row in rows]
        writer.executemany(_UPDATE, new)
        return len(rows)
