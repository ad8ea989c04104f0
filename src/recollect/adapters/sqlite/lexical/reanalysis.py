"""Analyzes again what an earlier version of the analyzer has left: the worker all of it, and every
opening of the store some.

Recall goes on meanwhile: a memory is found by its old terms until it has new ones.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from recollect.adapters.sqlite.rows import analyze_memory, from_row
from recollect.adapters.sqlite.thread import transaction
from recollect.core.text.terms import VERSION

BATCH: Final = 500
"""Memories of one opening: about half a second."""

_ANY_OUTDATED: Final = "SELECT 1 FROM memories WHERE analyzer < ? LIMIT 1"
_OUTDATED: Final = "SELECT * FROM memories WHERE analyzer < ? LIMIT ?"
# No column that sync or the history looks at.
_UPDATE: Final = """
UPDATE memories SET analyzer = :analyzer, languages = :languages, content_terms = :content_terms,
    keyword_terms = :keyword_terms, tag_terms = :tag_terms, category_terms = :category_terms
WHERE number = :number
"""


def has_outdated(reader: sqlite3.Connection) -> bool:
    return reader.execute(_ANY_OUTDATED, (VERSION,)).fetchone() is not None


def reanalyze(writer: sqlite3.Connection, limit: int = BATCH) -> int:
    """Up to so many; how many there were."""
    with transaction(writer):
        rows = writer.execute(_OUTDATED, (VERSION, limit)).fetchall()
        new = [{**analyze_memory(from_row(row)), "number": row["number"]} for row in rows]
        writer.executemany(_UPDATE, new)
        return len(rows)
