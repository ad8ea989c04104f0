"""What memories mentioned at a moment, when their text was different.

Mentions are kept of present texts alone; former texts are kept as versions. So what was changed
since is read again, by the rules, and the names that the graph still knows count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from recollect.adapters.postgres.pool import Connection
from recollect.core.graph.extraction import ExtractionJob, read_by_rules

MAX_FORMER: Final = 2_000
"""Former texts that are read for one query; those changed last come first."""

# Memories that existed then and were changed since, each with its state at that moment. One that is
# sensitive now, or was then, mentions nothing.
_CHANGED: Final = """
select m.id, m.owner, v.content, v.tags, v.expanded_keywords,
    v.number is not null and v.deleted_at is null and not v.is_sensitive as is_known,
    m.deleted_at is null and (v.content, v.tags, v.expanded_keywords)
        is not distinct from (m.content, m.tags, m.expanded_keywords) as is_same
from memories m left join lateral (
    select * from memory_versions v
    where v.owner = m.owner and v.memory_id = m.id
        and v.valid_from <= %(as_of)s and v.valid_to > %(as_of)s
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


@dataclass(frozen=True, slots=True)
class PastMentions:
    """`outdated`: memories whose present mentions say nothing of that moment. `mentioned`: what
    some of them mentioned then.
    """

    outdated: frozenset[UUID] = frozenset()
    mentioned: dict[UUID, list[UUID]] = field(default_factory=dict)


async def read_past_mentions(connection: Connection, owner: str, as_of: datetime) -> PastMentions:
    params = {"owner": owner, "as_of": as_of}
    cursor = await connection.execute(_CHANGED, params)
    rows = [row for row in await cursor.fetchall() if not (row["is_known"] and row["is_same"])]
    former = [row for row in rows if row["is_known"]][:MAX_FORMER]
    keys = await asyncio.to_thread(_read_all, former)
    params = {"owner": owner, "keys": list({key for found in keys.values() for key in found})}
    cursor = await connection.execute(_NAMED, params)
    known = {row["key"]: row["concept_id"] for row in await cursor.fetchall()}
    mentioned = {
        id: sorted({known[key] for key in found if key in known}) for id, found in keys.items()
    }
    return PastMentions(
        frozenset(row["id"] for row in rows),
        {id: found for id, found in mentioned.items() if found},
    )


def _read_all(former: Sequence[dict[str, Any]]) -> dict[UUID, list[str]]:
    return {row["id"]: _read(row) for row in former}


def _read(row: dict[str, Any]) -> list[str]:
    job = ExtractionJob(
        row["id"],
        row["owner"],
        "",
        row["content"],
        tuple(row["tags"]),
        tuple(row["expanded_keywords"]),
    )
    return [mention.key for mention in read_by_rules(job).mentions]
