"""Analyzes again what an earlier version of the analyzer has left, a batch at a time.

Recall goes on meanwhile: a memory is found by its old terms until it has new ones.
"""

from __future__ import annotations

from typing import Any, Final

from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.search_vector import analyzed_fields
from recollect.core.text.terms import VERSION

# For clients nothing changes: see the trigger on the changes.
_QUIETLY: Final = "select set_config('recollect.analyzing', 'on', true)"
# By id, as every writer of several rows locks them; what another writes now is analyzed with it.
_MEMORIES: Final = """
select owner, id, content, expanded_keywords, tags, category from memories
where analyzer < %(version)s order by owner, id limit %(limit)s for update skip locked
"""
_UPDATE_MEMORY: Final = """
update memories set search_vector = %(search_vector)s, languages = %(languages)s,
    analyzer = %(analyzer)s
where owner = %(owner)s and id = %(id)s
"""
_VERSIONS: Final = """
select owner, memory_id, number, content, expanded_keywords, tags, category from memory_versions
where analyzer < %(version)s order by owner, memory_id, number limit %(limit)s
for update skip locked
"""
_UPDATE_VERSION: Final = """
update memory_versions set search_vector = %(search_vector)s, analyzer = %(analyzer)s
where owner = %(owner)s and memory_id = %(memory_id)s and number = %(number)s
"""


async def reanalyze(connection: Connection, limit: int) -> int:
    """Within a transaction: analyze up to so many memories and so many former versions; how many
    there were.
    """
    await connection.execute(_QUIETLY)
    done = 0
    for select, update in ((_MEMORIES, _UPDATE_MEMORY), (_VERSIONS, _UPDATE_VERSION)):
        cursor = await connection.execute(select, {"version": VERSION, "limit": limit})
        rows: list[dict[str, Any]] = await cursor.fetchall()
        if rows:
            fields = ("content", "expanded_keywords", "tags", "category")
            new = [{**row, **analyzed_fields(*(row[name] for name in fields))} for row in rows]
            await cursor.executemany(update, new)
            done += len(rows)
    return done
