"""Write what was read in memories to the graph, in one transaction per owner.

A writer takes the owner's lock first and never waits for a memory's row: a transaction that edits
the memory invalidates what was read anyway. See docs/adr/0022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID, uuid4

from recollect.adapters.postgres.graph.facts import RETRACT, to_columns, write_facts
from recollect.adapters.postgres.graph.rules import RULES
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.session import PostgresSession
from recollect.core.graph.extraction import Extraction, ExtractionJob
from recollect.core.graph.periods import StatedFact

RARE: Final = -2
"""Marks a concept that is not worth comparing until one more memory mentions it."""

# An edit changes the time of a statement; other updates cannot be distinguished from an edit.
_STILL_THERE: Final = """
select x.memory_id, x.extracted_by > 0 as was_read,
    case when m.version = 1 then m.created_at else m.updated_at end as stated_at
from extractions x
join unnest(%(ids)s::uuid[], %(tickets)s::text[]) as d(memory_id, ticket) using (memory_id)
join memories m on m.owner = x.owner and m.id = x.memory_id
where x.content_hash = decode(d.ticket, 'hex') and x.extracted_by <= %(by)s
    and x.owner = %(owner)s and not m.is_sensitive and m.deleted_at is null
for key share of m skip locked
"""

# Each writes one table: Citus sends what a CTE found to all nodes, even a lost one. With
# `returning` it does not copy the rows, which row-level security would refuse.
_MISSING: Final = """
select w.key from unnest(%(keys)s::text[]) as w(key)
where not exists (select from concept_names n where n.owner = %(owner)s and n.key = w.key)
"""
_ADD_CONCEPTS: Final = """
insert into concepts (id, owner, key, name, kind)
select w.id, %(owner)s, w.key, w.name, w.kind
from unnest(%(ids)s::uuid[], %(keys)s::text[], %(names)s::text[], %(kinds)s::text[])
    as w(id, key, name, kind)
returning id
"""
_ADD_NAMES: Final = """
insert into concept_names (owner, key, concept_id, name)
select %(owner)s, w.key, w.id, w.name
from unnest(%(ids)s::uuid[], %(keys)s::text[], %(names)s::text[]) as w(id, key, name)
returning key
"""

_MENTIONS: Final = """
insert into memory_concepts (memory_id, key, concept_id, owner)
select d.memory_id, d.key, n.concept_id, %(owner)s
from unnest(%(memories)s::uuid[], %(keys)s::text[]) as d(memory_id, key)
join concept_names n on n.owner = %(owner)s and n.key = d.key
on conflict (owner, memory_id, key) do nothing
"""

_COMPARE: Final = """
update concepts c set compared_in = null from concept_names n
where n.owner = %(owner)s and n.key = any(%(keys)s) and c.owner = n.owner
    and c.id = n.concept_id and c.compared_in = %(rare)s
"""

_UNMENTION: Final = """
delete from memory_concepts m
where m.owner = %(owner)s and m.memory_id = any(%(again)s) and not exists (
    select from unnest(%(memories)s::uuid[], %(keys)s::text[]) as d(memory_id, key)
    where d.memory_id = m.memory_id and d.key = m.key)
"""

_DONE: Final = """
update extractions
set extracted_by = %(by)s, attempts = 0, due_at = now(), last_error = null
where owner = %(owner)s and memory_id = any(%(ids)s)
"""


async def write_extractions(
    connection: Connection,
    owner: str,
    done: Sequence[tuple[ExtractionJob, Extraction]],
    by: int,
) -> int:
    """Write what was read in an owner's memories if their text is unchanged. Returns how many."""
    await RULES.lock(PostgresSession(connection), owner)
    cursor = await connection.execute(
        _STILL_THERE,
        {
            "ids": [job.memory_id for job, _ in done],
            "tickets": [job.ticket for job, _ in done],
            "by": by,
            "owner": owner,
        },
    )
    unchanged = {row["memory_id"]: row for row in await cursor.fetchall()}
    read = {job.memory_id: found for job, found in done if job.memory_id in unchanged}
    if not read:
        return 0
    await _write_mentions(connection, owner, read)
    said = [
        StatedFact(memory, fact, unchanged[memory]["stated_at"])
        for memory, found in read.items()
        for fact in found.facts
    ]
    again = [memory for memory in read if unchanged[memory]["was_read"]]
    if again:
        await _remove_missing(connection, owner, again, read, said)
    await write_facts(connection, owner, said)
    await connection.execute(_DONE, {"owner": owner, "by": by, "ids": list(read)})
    await RULES.increment_version(PostgresSession(connection), owner)
    return len(read)


async def _write_mentions(
    connection: Connection, owner: str, read: Mapping[UUID, Extraction]
) -> None:
    mentioned = {mention.key: mention for found in read.values() for mention in found.mentions}
    if not mentioned:
        return
    cursor = await connection.execute(_MISSING, {"owner": owner, "keys": sorted(mentioned)})
    new = [mentioned[row["key"]] for row in await cursor.fetchall()]
    if new:
        params = {
            "owner": owner,
            "ids": [uuid4() for _ in new],
            "keys": [mention.key for mention in new],
            "names": [mention.label for mention in new],
            "kinds": [mention.kind for mention in new],
        }
        await connection.execute(_ADD_CONCEPTS, params)
        await connection.execute(_ADD_NAMES, params)
    await connection.execute(_MENTIONS, {"owner": owner, **_to_pairs(read)})
    await connection.execute(_COMPARE, {"owner": owner, "keys": list(mentioned), "rare": RARE})


async def _remove_missing(
    connection: Connection,
    owner: str,
    again: Sequence[UUID],
    read: Mapping[UUID, Extraction],
    said: Sequence[StatedFact],
) -> None:
    """Remove what was read in these memories before and is no longer found in them."""
    params = {"owner": owner, "again": list(again)}
    await connection.execute(RETRACT, {**params, **to_columns(said)})
    await connection.execute(_UNMENTION, {**params, **_to_pairs(read)})


def _to_pairs(read: Mapping[UUID, Extraction]) -> dict[str, object]:
    pairs = [(memory, mention.key) for memory, found in read.items() for mention in found.mentions]
    return {"memories": [memory for memory, _ in pairs], "keys": [key for _, key in pairs]}
