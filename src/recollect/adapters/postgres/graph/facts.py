"""Puts stated relationships into the graph: each statement as evidence, with its own dates, on the
edge it belongs to. An edge's dates follow from its evidence, so neither the order of reading nor
what was erased since leaves a mark on them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID, uuid4

from psycopg import AsyncConnection

from recollect.core.graph.extraction import Fact, is_single_valued
from recollect.core.graph.periods import Statement, edges_of, periods

Connection = AsyncConnection[Any]

Group = tuple[UUID, str]
"""A source and a single-valued relation: one target holds at a time."""

_STATED: Final = """
    unnest(%(fact_memories)s::uuid[], %(sources)s::text[], %(relations)s::text[],
        %(targets)s::text[], %(froms)s::timestamptz[], %(untils)s::timestamptz[],
        %(stated)s::timestamptz[])
        as d(memory_id, source_key, relation, target_key, said_from, said_until, stated_at)
"""
_DATED: Final = "coalesce(d.said_from, '-infinity')"
UNSAY: Final = f"""
delete from edge_evidence e using concept_edges c
where c.id = e.edge_id and e.memory_id = any(%(again)s) and e.withdrawn_at is null
    and not exists (
        select from {_STATED}
        where d.memory_id = e.memory_id and d.source_key = e.source_key
            and d.relation = c.relation and d.target_key = e.target_key
            and {_DATED} = e.said_from)
"""  # noqa: S608  # composed of constants

_FACTS: Final = f"""
with said as materialized (
    select d.*, s.concept_id as source, t.concept_id as target from {_STATED}
    join concept_names s on s.owner = %(owner)s and s.key = d.source_key
    join concept_names t on t.owner = %(owner)s and t.key = d.target_key
), made as (
    insert into concept_edges (id, owner, source, target, relation, valid_from, learned_at)
    select gen_random_uuid(), %(owner)s, source, target, relation, min(stated_at), min(stated_at)
    from said s where not exists (
        select from concept_edges e
        where e.source = s.source and e.relation = s.relation and e.target = s.target)
    group by source, target, relation
    returning id, source, target, relation
), edges as (
    select * from made union all
    select distinct e.id, e.source, e.target, e.relation from concept_edges e
    join said s on e.source = s.source and e.relation = s.relation and e.target = s.target
)
insert into edge_evidence (edge_id, memory_id, source_key, target_key, owner, said_from,
    said_until, stated_at)
select e.id, d.memory_id, d.source_key, d.target_key, %(owner)s, {_DATED}, d.said_until,
    d.stated_at
from said d join edges e using (source, target, relation)
on conflict (edge_id, memory_id, source_key, target_key, said_from)
    do update set withdrawn_at = null, said_until = excluded.said_until
returning edge_id
"""  # noqa: S608  # composed of constants

# A single-valued relation: what was said before and taken back is said again where it was.
_AGAIN: Final = f"""
update edge_evidence e set withdrawn_at = null, said_until = d.said_until
from {_STATED}, concept_edges c
where c.id = e.edge_id and c.relation = d.relation and c.is_single
    and e.memory_id = d.memory_id and e.source_key = d.source_key
    and e.target_key = d.target_key and e.said_from = {_DATED}
returning e.memory_id, e.source_key, c.relation, e.target_key, nullif(e.said_from, '-infinity')
    as said_from
"""  # noqa: S608  # composed of constants
# What is new has an edge of its own, until `regroup` puts it where it belongs.
_ANEW: Final = f"""
with said as materialized (
    select gen_random_uuid() as id, d.*, s.concept_id as source, t.concept_id as target
    from {_STATED}
    join concept_names s on s.owner = %(owner)s and s.key = d.source_key
    join concept_names t on t.owner = %(owner)s and t.key = d.target_key
), made as (
    insert into concept_edges (id, owner, source, target, relation, is_single, valid_from,
        learned_at)
    select id, %(owner)s, source, target, relation, true, stated_at, stated_at from said
)
insert into edge_evidence (edge_id, memory_id, source_key, target_key, owner, said_from,
    said_until, stated_at)
select d.id, d.memory_id, d.source_key, d.target_key, %(owner)s, {_DATED}, d.said_until, d.stated_at
from said d
"""  # noqa: S608  # composed of constants
_GROUPS: Final = f"""
select distinct s.concept_id as source, d.relation from {_STATED}
join concept_names s on s.owner = %(owner)s and s.key = d.source_key
"""  # noqa: S608  # composed of constants

_STATEMENTS: Final = """
select w.source, w.relation, t.concept_id as target, k.key, e.edge_id, e.memory_id, e.source_key,
    e.target_key, nullif(e.said_from, '-infinity') as said_from, e.said_until, e.starts_at,
    e.stated_at, (c.source, c.target) = (w.source, t.concept_id) as is_home
from unnest(%(sources)s::uuid[], %(relations)s::text[]) as w(source, relation)
join concept_names s on s.owner = %(owner)s and s.concept_id = w.source
join edge_evidence e on e.owner = s.owner and e.source_key = s.key and e.withdrawn_at is null
join concept_edges c on c.id = e.edge_id and c.is_single and c.relation = w.relation
join concept_names t on t.owner = e.owner and t.key = e.target_key
join concepts k on k.id = t.concept_id
order by w.source, w.relation
"""
_EDGE: Final = """
insert into concept_edges (id, owner, source, target, relation, is_single, valid_from, learned_at)
values (%(to)s, %(owner)s, %(source)s, %(target)s, %(relation)s, true, %(starts_at)s,
    %(stated_at)s)
"""
_MOVE: Final = """
update edge_evidence set edge_id = %(to)s
where edge_id = %(edge_id)s and memory_id = %(memory_id)s and source_key = %(source_key)s
    and target_key = %(target_key)s
    and said_from = coalesce(%(said_from)s::timestamptz, '-infinity')
"""
WEIGH: Final = "select recollect_graph_weigh(%(edges)s::uuid[])"
_SETTLE: Final = "select recollect_graph_settle(%(sources)s::uuid[], %(relations)s::text[])"


@dataclass(frozen=True, slots=True)
class Said:
    """A fact with the memory that says it and when."""

    memory: UUID
    fact: Fact
    stated_at: datetime


async def write_facts(connection: Connection, owner: str, said: Sequence[Said]) -> None:
    many = [one for one in said if not is_single_valued(one.fact.relation)]
    single = [one for one in said if is_single_valued(one.fact.relation)]
    if many:
        cursor = await connection.execute(_FACTS, {"owner": owner, **columns(many)})
        edges = {row["edge_id"] for row in await cursor.fetchall()}
        await connection.execute(WEIGH, {"edges": list(edges)})
    if single:
        await _write_single(connection, owner, single)


async def _write_single(connection: Connection, owner: str, said: Sequence[Said]) -> None:
    cursor = await connection.execute(_AGAIN, {"owner": owner, **columns(said)})
    again = {
        (row["memory_id"], row["source_key"], row["relation"], row["target_key"], row["said_from"])
        for row in await cursor.fetchall()
    }
    new = [
        one
        for one in said
        for fact in (one.fact,)
        if (one.memory, fact.source, fact.relation, fact.target, fact.valid_from) not in again
    ]
    if new:
        await connection.execute(_ANEW, {"owner": owner, **columns(new)})
    cursor = await connection.execute(_GROUPS, {"owner": owner, **columns(said)})
    groups = [(row["source"], row["relation"]) for row in await cursor.fetchall()]
    await regroup(connection, owner, groups)


async def regroup(connection: Connection, owner: str, groups: Collection[Group]) -> None:
    """Give every statement of these single-valued relations the edge of its period, whatever edge
    it has now. What a thing is said to be to itself, after its names were made one, is kept on an
    edge of its own, and ends nothing.
    """
    params = {
        "owner": owner,
        "sources": [source for source, _ in groups],
        "relations": [relation for _, relation in groups],
    }
    cursor = await connection.execute(_STATEMENTS, params)
    rows = await cursor.fetchall()
    touched = {row["edge_id"] for row in rows}
    for _, group in groupby(rows, key=itemgetter("source", "relation")):
        for row, edge in _placed(list(group)):
            if edge == row["edge_id"]:
                continue
            values = {**row, "owner": owner, "to": edge}
            if edge not in touched:
                await connection.execute(_EDGE, values)
                touched.add(edge)
            await connection.execute(_MOVE, values)
    if touched:
        await connection.execute(WEIGH, {"edges": list(touched)})
    await connection.execute(_SETTLE, params)


def _placed(rows: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], UUID]]:
    """The rows of one group, each with the edge it belongs to."""
    by_statement = {_statement(row): row for row in rows}
    loops = [one for one in by_statement if one.target == by_statement[one]["source"]]
    found = periods(one for one in by_statement if one not in loops)
    found += [loops] if loops else []
    return [
        (by_statement[one], edge or made)
        for period, edge in zip(found, edges_of(found), strict=True)
        for made in (uuid4(),)
        for one in period
    ]


def _statement(row: dict[str, Any]) -> Statement:
    names = (row["key"], row["target_key"], row["source_key"], str(row["memory_id"]))
    return Statement(
        target=row["target"],
        start=row["starts_at"],
        end=row["said_until"],
        said_at=row["stated_at"],
        said_by=(*names, str(row["said_from"])),
        edge=row["edge_id"] if row["is_home"] else None,
    )


def columns(said: Sequence[Said]) -> dict[str, object]:
    """Statements as columns, each once: of two that differ in their end alone, the later end."""
    ends: dict[tuple[object, ...], tuple[Said, datetime | None]] = {}
    for one in said:
        fact = one.fact
        key = (one.memory, fact.source, fact.relation, fact.target, fact.valid_from)
        _, end = ends.get(key, (one, None))
        known = [each for each in (end, fact.valid_to) if each is not None]
        ends[key] = (one, max(known, default=None))
    once = list(ends.values())
    return {
        "fact_memories": [one.memory for one, _ in once],
        "sources": [one.fact.source for one, _ in once],
        "relations": [one.fact.relation for one, _ in once],
        "targets": [one.fact.target for one, _ in once],
        "froms": [one.fact.valid_from for one, _ in once],
        "untils": [end for _, end in once],
        "stated": [one.stated_at for one, _ in once],
    }
