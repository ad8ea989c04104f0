"""Writes stated relationships into the graph: each statement as evidence, with its own dates, on
the edge it belongs to. An edge's dates follow from its evidence, so neither the order of reading
nor what was erased since affects them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from recollect.adapters.postgres.pool import Connection
from recollect.core.graph.extraction import is_single_valued
from recollect.core.graph.periods import Statement
from recollect.core.graph.stated import Group, StatedFact, assign_edges, each_once

_STATED: Final = """
    unnest(%(fact_memories)s::uuid[], %(sources)s::text[], %(relations)s::text[],
        %(targets)s::text[], %(froms)s::timestamptz[], %(untils)s::timestamptz[],
        %(stated)s::timestamptz[])
        as d(memory_id, source_key, relation, target_key, said_from, said_until, stated_at)
"""
_DATED: Final = "coalesce(d.said_from, '-infinity')"
RETRACT: Final = f"""
delete from edge_evidence e using concept_edges c
where e.owner = %(owner)s and c.owner = e.owner and c.id = e.edge_id
    and e.memory_id = any(%(again)s) and e.withdrawn_at is null
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
        where e.owner = %(owner)s
            and e.source = s.source and e.relation = s.relation and e.target = s.target)
    group by source, target, relation
    returning id, source, target, relation
), edges as (
    select * from made union all
    select distinct e.id, e.source, e.target, e.relation from concept_edges e
    join said s on e.source = s.source and e.relation = s.relation and e.target = s.target
    where e.owner = %(owner)s
)
insert into edge_evidence (edge_id, memory_id, source_key, target_key, owner, said_from,
    said_until, stated_at)
select e.id, d.memory_id, d.source_key, d.target_key, %(owner)s, {_DATED}, d.said_until,
    d.stated_at
from said d join edges e using (source, target, relation)
on conflict (owner, edge_id, memory_id, source_key, target_key, said_from)
    do update set withdrawn_at = null, said_until = excluded.said_until
returning edge_id
"""  # noqa: S608  # composed of constants

# A single-valued relation: what was said before and withdrawn is said again where it was.
_RESTATE: Final = f"""
update edge_evidence e set withdrawn_at = null, said_until = d.said_until
from {_STATED}, concept_edges c
where e.owner = %(owner)s and c.owner = e.owner and c.id = e.edge_id
    and c.relation = d.relation and c.is_single
    and e.memory_id = d.memory_id and e.source_key = d.source_key
    and e.target_key = d.target_key and e.said_from = {_DATED}
returning e.memory_id, e.source_key, c.relation, e.target_key, nullif(e.said_from, '-infinity')
    as said_from
"""  # noqa: S608  # composed of constants
# A new statement has an edge of its own, until `regroup` moves it where it belongs.
_STATE: Final = f"""
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
join concept_edges c
    on c.owner = e.owner and c.id = e.edge_id and c.is_single and c.relation = w.relation
join concept_names t on t.owner = e.owner and t.key = e.target_key
join concepts k on k.owner = t.owner and k.id = t.concept_id
order by w.source, w.relation
"""
_EDGE: Final = """
insert into concept_edges (id, owner, source, target, relation, is_single, valid_from, learned_at)
values (%(to)s, %(owner)s, %(source)s, %(target)s, %(relation)s, true, %(starts_at)s,
    %(stated_at)s)
"""
_MOVE: Final = """
update edge_evidence set edge_id = %(to)s
where owner = %(owner)s and edge_id = %(edge_id)s and memory_id = %(memory_id)s
    and source_key = %(source_key)s and target_key = %(target_key)s
    and said_from = coalesce(%(said_from)s::timestamptz, '-infinity')
"""
WEIGH: Final = "select recollect_graph_weigh(%(owner)s, %(edges)s::uuid[])"
_SETTLE: Final = """
select recollect_graph_settle(%(owner)s, %(sources)s::uuid[], %(relations)s::text[])
"""


async def write_facts(connection: Connection, owner: str, said: Sequence[StatedFact]) -> None:
    many = [each for each in said if not is_single_valued(each.fact.relation)]
    single = [each for each in said if is_single_valued(each.fact.relation)]
    if many:
        cursor = await connection.execute(_FACTS, {"owner": owner, **to_columns(many)})
        edges = {row["edge_id"] for row in await cursor.fetchall()}
        await connection.execute(WEIGH, {"owner": owner, "edges": list(edges)})
    if single:
        await _write_single(connection, owner, single)


async def _write_single(connection: Connection, owner: str, said: Sequence[StatedFact]) -> None:
    cursor = await connection.execute(_RESTATE, {"owner": owner, **to_columns(said)})
    again = {
        (row["memory_id"], row["source_key"], row["relation"], row["target_key"], row["said_from"])
        for row in await cursor.fetchall()
    }
    new = [statement for statement in said if statement.key not in again]
    if new:
        await connection.execute(_STATE, {"owner": owner, **to_columns(new)})
    cursor = await connection.execute(_GROUPS, {"owner": owner, **to_columns(said)})
    groups = [(row["source"], row["relation"]) for row in await cursor.fetchall()]
    await regroup(connection, owner, groups)


async def regroup(connection: Connection, owner: str, groups: Collection[Group]) -> None:
    """Move every statement of these single-valued relations to the edge of its period."""
    params = {
        "owner": owner,
        "sources": [source for source, _ in groups],
        "relations": [relation for _, relation in groups],
    }
    cursor = await connection.execute(_STATEMENTS, params)
    rows = await cursor.fetchall()
    touched = {row["edge_id"] for row in rows}
    for _, group in groupby(rows, key=itemgetter("source", "relation")):
        for row, edge in _assign_edges(list(group)):
            if edge == row["edge_id"]:
                continue
            values = {**row, "owner": owner, "to": edge}
            if edge not in touched:
                await connection.execute(_EDGE, values)
                touched.add(edge)
            await connection.execute(_MOVE, values)
    if touched:
        await connection.execute(WEIGH, {"owner": owner, "edges": list(touched)})
    await connection.execute(_SETTLE, params)


def _assign_edges(rows: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], UUID]]:
    """The rows of one group, each with the edge it belongs to."""
    by_statement = {_to_statement(row): row for row in rows}
    assigned = assign_edges(rows[0]["source"], list(by_statement))
    return [(by_statement[statement], edge) for statement, edge in assigned]


def _to_statement(row: dict[str, Any]) -> Statement:
    names = (row["key"], row["target_key"], row["source_key"], str(row["memory_id"]))
    return Statement(
        target=row["target"],
        start=row["starts_at"],
        end=row["said_until"],
        said_at=row["stated_at"],
        said_by=(*names, str(row["said_from"])),
        edge=row["edge_id"] if row["is_home"] else None,
    )


def to_columns(said: Sequence[StatedFact]) -> dict[str, object]:
    statements = each_once(said)
    facts = [statement.fact for statement in statements]
    return {
        "fact_memories": [statement.memory for statement in statements],
        "sources": [fact.source for fact in facts],
        "relations": [fact.relation for fact in facts],
        "targets": [fact.target for fact in facts],
        "froms": [fact.valid_from for fact in facts],
        "untils": [fact.valid_to for fact in facts],
        "stated": [statement.stated_at for statement in statements],
    }
