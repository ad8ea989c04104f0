"""Write stated relationships to the graph: each statement as evidence, with its own dates, on the
edge it belongs to. An edge's dates are computed from its evidence, so they depend neither on the
order of reading nor on erased evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from recollect.adapters.postgres.graph.rules import RULES
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.session import PostgresSession
from recollect.adapters.sql.graph.regroup import regroup
from recollect.core.graph.extraction import is_single_valued
from recollect.core.graph.periods import StatedFact, merge_repeated

_STATED: Final = """
    unnest(%(fact_memories)s::uuid[], %(sources)s::text[], %(relations)s::text[],
        %(targets)s::text[], %(froms)s::timestamptz[], %(untils)s::timestamptz[],
        %(stated)s::timestamptz[], %(new_edges)s::uuid[])
        as d(memory_id, source_key, relation, target_key, said_from, said_until, stated_at, new_id)
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

# Statements that each write one table: Citus sends what a CTE found to all nodes, even a lost one.
# With `returning` it does not copy the rows, which row-level security would refuse.
_ADD_EDGES: Final = f"""
insert into concept_edges (id, owner, source, target, relation, valid_from, learned_at)
select gen_random_uuid(), %(owner)s, s.concept_id, t.concept_id, d.relation, min(d.stated_at),
    min(d.stated_at)
from {_STATED}
join concept_names s on s.owner = %(owner)s and s.key = d.source_key
join concept_names t on t.owner = %(owner)s and t.key = d.target_key
where not exists (
    select from concept_edges e
    where e.owner = %(owner)s
        and e.source = s.concept_id and e.relation = d.relation and e.target = t.concept_id)
group by s.concept_id, t.concept_id, d.relation
returning id
"""  # noqa: S608  # composed of constants
_ADD_EVIDENCE: Final = f"""
insert into edge_evidence (edge_id, memory_id, source_key, target_key, owner, said_from,
    said_until, stated_at)
select e.id, d.memory_id, d.source_key, d.target_key, %(owner)s, {_DATED}, d.said_until,
    d.stated_at
from {_STATED}
join concept_names s on s.owner = %(owner)s and s.key = d.source_key
join concept_names t on t.owner = %(owner)s and t.key = d.target_key
join concept_edges e on e.owner = %(owner)s
    and e.source = s.concept_id and e.relation = d.relation and e.target = t.concept_id
on conflict (owner, edge_id, memory_id, source_key, target_key, said_from)
    do update set withdrawn_at = null, said_until = excluded.said_until
returning edge_id
"""  # noqa: S608  # composed of constants

# A single-valued relation: a withdrawn statement that is repeated is restored on its edge.
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
_ADD_SINGLE_EDGES: Final = f"""
insert into concept_edges (id, owner, source, target, relation, is_single, valid_from, learned_at)
select d.new_id, %(owner)s, s.concept_id, t.concept_id, d.relation, true, d.stated_at, d.stated_at
from {_STATED}
join concept_names s on s.owner = %(owner)s and s.key = d.source_key
join concept_names t on t.owner = %(owner)s and t.key = d.target_key
returning id
"""  # noqa: S608  # composed of constants
_ADD_SINGLE_EVIDENCE: Final = f"""
insert into edge_evidence (edge_id, memory_id, source_key, target_key, owner, said_from,
    said_until, stated_at)
select e.id, d.memory_id, d.source_key, d.target_key, %(owner)s, {_DATED}, d.said_until,
    d.stated_at
from {_STATED} join concept_edges e on e.owner = %(owner)s and e.id = d.new_id
returning edge_id
"""  # noqa: S608  # composed of constants
_GROUPS: Final = f"""
select distinct s.concept_id as source, d.relation from {_STATED}
join concept_names s on s.owner = %(owner)s and s.key = d.source_key
"""  # noqa: S608  # composed of constants


async def write_facts(connection: Connection, owner: str, said: Sequence[StatedFact]) -> None:
    many = [each for each in said if not is_single_valued(each.fact.relation)]
    single = [each for each in said if is_single_valued(each.fact.relation)]
    if many:
        params = {"owner": owner, **to_columns(many)}
        await connection.execute(_ADD_EDGES, params)
        cursor = await connection.execute(_ADD_EVIDENCE, params)
        edges = {row["edge_id"] for row in await cursor.fetchall()}
        await RULES.weigh(PostgresSession(connection), owner, edges)
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
        params = {"owner": owner, **to_columns(new)}
        await connection.execute(_ADD_SINGLE_EDGES, params)
        await connection.execute(_ADD_SINGLE_EVIDENCE, params)
    cursor = await connection.execute(_GROUPS, {"owner": owner, **to_columns(said)})
    groups = [(row["source"], row["relation"]) for row in await cursor.fetchall()]
    await regroup(PostgresSession(connection), RULES, owner, groups)


def to_columns(said: Sequence[StatedFact]) -> dict[str, object]:
    statements = merge_repeated(said)
    facts = [statement.fact for statement in statements]
    return {
        "fact_memories": [statement.memory for statement in statements],
        "sources": [fact.source for fact in facts],
        "relations": [fact.relation for fact in facts],
        "targets": [fact.target for fact in facts],
        "froms": [fact.valid_from for fact in facts],
        "untils": [fact.valid_to for fact in facts],
        "stated": [statement.stated_at for statement in statements],
        "new_edges": [uuid4() for _ in statements],
    }
