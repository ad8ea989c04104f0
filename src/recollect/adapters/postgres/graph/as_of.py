"""What memories mentioned at a moment, when their text was different.

Mentions are kept of present texts alone; former texts are kept as versions. So what was changed
since is read again, by the rules, and the names that the graph still knows count.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, Final

from recollect.adapters.postgres.pool import Connection
from recollect.core.graph.extraction import ExtractionJob
from recollect.core.graph.snapshot import FormerText, PastMentions, past_mentions, read_former

# Memories that existed then and were changed since, each with its state at that moment. One that is
# sensitive now, or was then, mentions nothing.
_CHANGED: Final = """
select m.id, m.owner, v.content, v.tags, v.expanded_keywords,
    v.number is not null and v.deleted_at is null and not v.is_sensitive as is_known,
    m.deleted_at is null and (v.content, v.tags, v.expanded_keywords)
        is not distinct from (m.content, m.tags, m.expanded_keywords) as is_same
from memories m left join lateral (
    select * from memory_versions v
    where v.owner = %(owner)s and v.memory_id = m.id
        and v.known_from <= %(as_of)s and v.known_until > %(as_of)s
        and v.created_at <= %(as_of)s
    order by v.number desc limit 1
) v on true
where m.owner = %(owner)s and m.created_at <= %(as_of)s and m.updated_at > %(as_of)s
    and not m.is_sensitive
order by m.updated_at desc, m.id
"""
_NAMED: Final = """
select key, concept_id from concept_names where owner = %(owner)s and key = any(%(keys)s)
"""


async def read_past_mentions(connection: Connection, owner: str, as_of: datetime) -> PastMentions:
    params = {"owner": owner, "as_of": as_of}
    cursor = await connection.execute(_CHANGED, params)
    rows = [row for row in await cursor.fetchall() if not (row["is_known"] and row["is_same"])]
    former = [FormerText(row["id"], _to_job(row) if row["is_known"] else None) for row in rows]
    keys = await asyncio.to_thread(read_former, former)
    params = {"owner": owner, "keys": list({key for found in keys.values() for key in found})}
    cursor = await connection.execute(_NAMED, params)
    known = {row["key"]: row["concept_id"] for row in await cursor.fetchall()}
    return past_mentions(former, keys, known)


def _to_job(row: dict[str, Any]) -> ExtractionJob:
    return ExtractionJob(
        row["id"],
        row["owner"],
        "",
        row["content"],
        tuple(row["tags"]),
        tuple(row["expanded_keywords"]),
    )
