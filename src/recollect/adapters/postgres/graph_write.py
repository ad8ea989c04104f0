"""Puts into the graph what was read in memories, each owner's in a transaction of its own.

Whoever writes holds the owner's lock first and never waits for a memory's row: somebody who edits
the memory makes what was read worthless anyway. See docs/adr/0022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID, uuid4

from psycopg import AsyncConnection

from recollect.core.extraction import Extraction, ExtractionJob, Fact, is_single_valued
from recollect.core.periods import Period, place

Connection = AsyncConnection[Any]

ALONE: Final = "select recollect_graph_alone(%(owner)s)"
GREW: Final = "select recollect_graph_grew(%(owner)s)"
RARE: Final = -2
"""Marks a concept that is not worth comparing until one more memory mentions it."""

# An edit moves the time of what is said; whatever else an update changes, nobody can tell apart.
_STILL_THERE: Final = """
select x.memory_id, x.extracted_by > 0 as was_read,
    case when m.version = 1 then m.created_at else m.updated_at end as stated_at
from extractions x
join unnest(%(ids)s::uuid[], %(tickets)s::text[]) as d(memory_id, ticket) using (memory_id)
join memories m on m.id = x.memory_id
where x.content_hash = decode(d.ticket, 'hex') and x.extracted_by <= %(by)s
    and x.owner = %(owner)s and not m.is_sensitive and m.deleted_at is null
for key share of m skip locked
"""

_CONCEPTS: Final = """
with wanted as (
    select distinct on (key) * from unnest(%(keys)s::text[], %(names)s::text[], %(kinds)s::text[])
        as w(key, name, kind)
), missing as materialized (
    select gen_random_uuid() as id, w.* from wanted w
    where not exists (
        select from concept_names n where n.owner = %(owner)s and n.key = w.key)
), made as (
    insert into concepts (id, owner, key, name, kind)
    select id, %(owner)s, key, name, kind from missing
)
insert into concept_names (owner, key, concept_id, name)
select %(owner)s, key, id, name from missing
"""

_MENTIONS: Final = """
insert into memory_concepts (memory_id, key, concept_id, owner)
select d.memory_id, d.key, n.concept_id, %(owner)s
from unnest(%(memories)s::uuid[], %(keys)s::text[]) as d(memory_id, key)
join concept_names n on n.owner = %(owner)s and n.key = d.key
on conflict (memory_id, key) do nothing
"""

_COMPARE: Final = """
update concepts c set compared_in = null from concept_names n
where n.owner = %(owner)s and n.key = any(%(keys)s) and c.id = n.concept_id
    and c.compared_in = %(rare)s
"""

_UNMENTION: Final = """
delete from memory_concepts m
where m.memory_id = any(%(again)s) and not exists (
    select from unnest(%(memories)s::uuid[], %(keys)s::text[]) as d(memory_id, key)
    where d.memory_id = m.memory_id and d.key = m.key)
"""

_UNSAY: Final = """
delete from edge_evidence e using concept_edges c
where c.id = e.edge_id and e.memory_id = any(%(again)s) and e.withdrawn_at is null
    and not exists (
        select from unnest(%(fact_memories)s::uuid[], %(sources)s::text[], %(relations)s::text[],
            %(targets)s::text[]) as d(memory_id, source_key, relation, target_key)
        where d.memory_id = e.memory_id and d.source_key = e.source_key
            and d.relation = c.relation and d.target_key = e.target_key)
"""

_FACTS: Final = """
with said as materialized (
    select d.*, s.concept_id as source, t.concept_id as target
    from unnest(%(fact_memories)s::uuid[], %(sources)s::text[], %(relations)s::text[],
        %(targets)s::text[], %(starts)s::timestamptz[], %(ends)s::timestamptz[],
        %(stated)s::timestamptz[])
        as d(memory_id, source_key, relation, target_key, start, until, stated_at)
    join concept_names s on s.owner = %(owner)s and s.key = d.source_key
    join concept_names t on t.owner = %(owner)s and t.key = d.target_key
), made as (
    insert into concept_edges
        (id, owner, source, target, relation, valid_from, valid_to, stated_until, learned_at)
    select gen_random_uuid(), %(owner)s, source, target, relation, min(start), max(until),
        max(until), min(stated_at)
    from said s where not exists (
        select from concept_edges e
        where e.source = s.source and e.relation = s.relation and e.target = s.target)
    group by source, target, relation
    returning id, source, target, relation
), there as (
    update concept_edges e set valid_from = least(e.valid_from, s.start),
        learned_at = least(e.learned_at, s.stated_at),
        valid_to = s.until, stated_until = s.until
    from (
        select source, relation, target, min(start) as start, max(until) as until,
            min(stated_at) as stated_at
        from said group by source, relation, target
    ) s
    where e.source = s.source and e.relation = s.relation and e.target = s.target
    returning e.id, e.source, e.target, e.relation
), edges as (
    select * from made union all select * from there
)
insert into edge_evidence (edge_id, memory_id, source_key, target_key, owner, stated_at)
select distinct on (e.id, s.memory_id, s.source_key, s.target_key)
    e.id, s.memory_id, s.source_key, s.target_key, %(owner)s, s.stated_at
from said s join edges e using (source, target, relation)
on conflict (edge_id, memory_id, source_key, target_key) do update set withdrawn_at = null
returning edge_id
"""

_PERIODS: Final = """
select c.id, c.target, c.valid_from, c.valid_to, s.concept_id as source, t.concept_id as goal
from concept_names s
join concept_names t on t.owner = s.owner and t.key = %(target)s
left join concept_edges c on c.source = s.concept_id and c.relation = %(relation)s and c.is_single
    and (c.known_until is null or c.target = t.concept_id)
where s.owner = %(owner)s and s.key = %(source)s
"""
_BEGIN: Final = """
insert into concept_edges (id, owner, source, target, relation, is_single, valid_from, valid_to,
    stated_until, learned_at)
values (%(id)s, %(owner)s, %(from)s, %(to)s, %(relation)s, true, %(start)s, %(until)s, %(until)s,
    %(stated_at)s)
"""
_CONFIRM: Final = """
update concept_edges set valid_from = least(valid_from, %(start)s),
    learned_at = least(learned_at, %(stated_at)s),
    stated_until = coalesce(%(until)s, stated_until)
where id = %(id)s
"""
_EVIDENCE: Final = """
insert into edge_evidence (edge_id, memory_id, source_key, target_key, owner, stated_at)
values (%(id)s, %(memory)s, %(source)s, %(target)s, %(owner)s, %(stated_at)s)
on conflict (edge_id, memory_id, source_key, target_key) do update set withdrawn_at = null
"""
_WEIGH: Final = "select recollect_graph_weigh(%(edges)s::uuid[])"
_SETTLE: Final = "select recollect_graph_settle(%(froms)s::uuid[], %(relations)s::text[])"

_DONE: Final = """
update extractions
set extracted_by = %(by)s, attempts = 0, due_at = now(), last_error = null
where memory_id = any(%(ids)s)
"""


@dataclass(frozen=True, slots=True)
class _Said:
    """A fact with the memory that says it and when."""

    memory: UUID
    fact: Fact
    stated_at: datetime

    @property
    def start(self) -> datetime:
        return self.fact.valid_from or self.stated_at


async def write(
    connection: Connection,
    owner: str,
    done: Sequence[tuple[ExtractionJob, Extraction]],
    by: int,
) -> int:
    """Put in what was read in memories of one owner whose text is still the same; how many."""
    await connection.execute(ALONE, {"owner": owner})
    cursor = await connection.execute(
        _STILL_THERE,
        {
            "ids": [job.memory_id for job, _ in done],
            "tickets": [job.ticket for job, _ in done],
            "by": by,
            "owner": owner,
        },
    )
    there = {row["memory_id"]: row for row in await cursor.fetchall()}
    read = {job.memory_id: found for job, found in done if job.memory_id in there}
    if not read:
        return 0
    await _write_mentions(connection, owner, read)
    said = [
        _Said(memory, fact, there[memory]["stated_at"])
        for memory, found in read.items()
        for fact in found.facts
    ]
    again = [memory for memory in read if there[memory]["was_read"]]
    if again:
        await _remove_the_rest(connection, again, read, said)
    await _write_facts(connection, owner, said)
    await connection.execute(_DONE, {"by": by, "ids": list(read)})
    await connection.execute(GREW, {"owner": owner})
    return len(read)


async def _write_mentions(
    connection: Connection, owner: str, read: Mapping[UUID, Extraction]
) -> None:
    mentioned = {one.key: one for found in read.values() for one in found.mentions}
    if not mentioned:
        return
    ordered = sorted(mentioned.values(), key=lambda one: one.key)
    await connection.execute(
        _CONCEPTS,
        {
            "owner": owner,
            "keys": [one.key for one in ordered],
            "names": [one.label for one in ordered],
            "kinds": [one.kind for one in ordered],
        },
    )
    await connection.execute(_MENTIONS, {"owner": owner, **_pairs(read)})
    await connection.execute(_COMPARE, {"owner": owner, "keys": list(mentioned), "rare": RARE})


async def _remove_the_rest(
    connection: Connection,
    again: Sequence[UUID],
    read: Mapping[UUID, Extraction],
    said: Sequence[_Said],
) -> None:
    """What was read in these memories before and is not found in them now."""
    await connection.execute(_UNSAY, {"again": list(again), **_columns(said)})
    await connection.execute(_UNMENTION, {"again": list(again), **_pairs(read)})


async def _write_facts(connection: Connection, owner: str, said: Sequence[_Said]) -> None:
    many = [one for one in said if not is_single_valued(one.fact.relation)]
    single = [one for one in said if is_single_valued(one.fact.relation)]
    edges: set[UUID] = set()
    if many:
        cursor = await connection.execute(_FACTS, {"owner": owner, **_columns(many)})
        edges |= {row["edge_id"] for row in await cursor.fetchall()}
    for one in sorted(single, key=lambda one: (one.start, str(one.memory))):
        edge = await _write_single(connection, owner, one)
        edges |= set() if edge is None else {edge}
    if edges:
        await connection.execute(_WEIGH, {"edges": list(edges)})


async def _write_single(connection: Connection, owner: str, said: _Said) -> UUID | None:
    """One holds at a time: the statement belongs to a period that is there, or begins one."""
    fact = said.fact
    values: dict[str, object] = {
        "owner": owner,
        "memory": said.memory,
        "source": fact.source,
        "relation": fact.relation,
        "target": fact.target,
        "start": said.start,
        "until": fact.valid_to,
        "stated_at": said.stated_at,
    }
    cursor = await connection.execute(_PERIODS, values)
    rows = await cursor.fetchall()
    if not rows:
        return None
    source, goal = rows[0]["source"], rows[0]["goal"]
    periods = [
        Period(row["id"], row["target"], row["valid_from"], row["valid_to"])
        for row in rows
        if row["id"] is not None
    ]
    found = place(periods, goal, said.start)
    id = uuid4() if found is None else found.edge
    values |= {"id": id, "from": source, "to": goal}
    await connection.execute(_BEGIN if found is None else _CONFIRM, values)
    await connection.execute(_EVIDENCE, values)
    # Settled at once: the next statement must see where this one's period ends.
    await connection.execute(_WEIGH, {"edges": [id]})
    await connection.execute(_SETTLE, {"froms": [source], "relations": [fact.relation]})
    return id


def _pairs(read: Mapping[UUID, Extraction]) -> dict[str, object]:
    pairs = [(memory, one.key) for memory, found in read.items() for one in found.mentions]
    return {"memories": [memory for memory, _ in pairs], "keys": [key for _, key in pairs]}


def _columns(said: Sequence[_Said]) -> dict[str, object]:
    return {
        "fact_memories": [one.memory for one in said],
        "sources": [one.fact.source for one in said],
        "relations": [one.fact.relation for one in said],
        "targets": [one.fact.target for one in said],
        "starts": [one.start for one in said],
        "ends": [one.fact.valid_to for one in said],
        "stated": [one.stated_at for one in said],
    }
