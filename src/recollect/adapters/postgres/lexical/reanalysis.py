"""Reanalyze memories that an earlier version of the analyzer processed, a batch at a time.

Recall continues meanwhile: a memory is found by its old terms until it has new ones.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, LiteralString, NamedTuple

from recollect.adapters.postgres.pipeline import set_local
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.search_vector import analyze_columns
from recollect.core.text.terms import VERSION

# Uses the indexes on the analyzer: memories that are done are not read again.
_OUTDATED_MEMORIES: Final = """
select owner, analyzer, false as is_version from memories
where analyzer < %(version)s order by analyzer, owner limit 1
"""
_OUTDATED_VERSIONS: Final = """
select owner, analyzer, true as is_version from memory_versions
where analyzer < %(version)s order by analyzer, owner limit 1
"""
# Nothing changes for clients: see the trigger on `changes`.
_QUIETLY: Final[dict[LiteralString, str]] = {"recollect.analyzing": "on"}
# By id, as every writer locks rows; memories that another writer changes are analyzed by it.
_MEMORIES: Final = """
select owner, id, content, expanded_keywords, tags, category from memories
where owner = %(owner)s and analyzer = %(outdated)s order by id limit %(limit)s
for update skip locked
"""
_UPDATE_MEMORY: Final = """
update memories set search_vector = %(search_vector)s, languages = %(languages)s,
    analyzer = %(analyzer)s
where owner = %(owner)s and id = %(id)s
"""
_VERSIONS: Final = """
select owner, memory_id, number, content, expanded_keywords, tags, category from memory_versions
where owner = %(owner)s and analyzer = %(outdated)s order by memory_id, number limit %(limit)s
for update skip locked
"""
_UPDATE_VERSION: Final = """
update memory_versions set search_vector = %(search_vector)s, analyzer = %(analyzer)s
where owner = %(owner)s and memory_id = %(memory_id)s and number = %(number)s
"""
_FIELDS: Final = ("content", "expanded_keywords", "tags", "category")


class Outdated(NamedTuple):
    """An owner's memories or former versions with terms of an earlier version of the analyzer."""

    owner: str
    analyzer: int
    is_version: bool


async def find_outdated(connection: Connection) -> Outdated | None:
    """Find outdated memories of any owner."""
    for statement in (_OUTDATED_MEMORIES, _OUTDATED_VERSIONS):
        cursor = await connection.execute(statement, {"version": VERSION})
        if (row := await cursor.fetchone()) is not None:
            return Outdated(**row)
    return None


async def reanalyze(connection: Connection, outdated: Outdated, limit: int) -> int:
    """Analyze up to `limit` in a transaction of the owner. Returns how many were analyzed."""
    await set_local(connection, _QUIETLY)
    select, update = (
        (_VERSIONS, _UPDATE_VERSION) if outdated.is_version else (_MEMORIES, _UPDATE_MEMORY)
    )
    params = {"owner": outdated.owner, "outdated": outdated.analyzer, "limit": limit}
    cursor = await connection.execute(select, params)
    rows: list[dict[str, Any]] = await cursor.fetchall()
    new = await asyncio.to_thread(_analyze, rows)
    await cursor.executemany(update, new)
    return len(rows)


def _analyze(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, **analyze_columns(*(row[name] for name in _FIELDS))} for row in rows]
