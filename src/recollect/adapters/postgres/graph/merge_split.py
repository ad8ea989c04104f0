"""Making one concept of two, and two of one: by hand, or by a name that is nearly the same.

A decision made by hand is a mark on the names it moved: such a name is never moved by anything but
another hand, and it outlives the edits that take it out of memories, so that the decision holds
when it comes back; an erasure it does not outlive. Edges follow their evidence, which knows the
names that each memory used.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final
from uuid import UUID, uuid4

from psycopg import AsyncConnection

from recollect.adapters.postgres.graph.facts import WEIGH, regroup
from recollect.adapters.postgres.graph.write import ALONE, GREW
from recollect.core.graph.model import Concept

Connection = AsyncConnection[Any]

_CONCEPT: Final = """
select c.id, c.key, c.name, c.kind,
    (select coalesce(array_agg(n.name order by n.key), '{}') from concept_names n
        where n.concept_id = c.id and n.key <> c.key) as aliases,
    (select count(distinct m.memory_id) from memory_concepts m where m.concept_id = c.id)
        as mentions
from concepts c where c.owner = %(owner)s and c.id = any(%(ids)s)
order by c.id
"""

_IS_MENDED: Final = """
select from concept_names where concept_id = any(%(ids)s) and is_mended limit 1
"""
_MOVE_NAMES: Final = """
update concept_names set concept_id = %(into)s, is_mended = is_mended or %(by_hand)s
where concept_id = %(gone)s
"""
_MARK: Final = """
update concept_names set is_mended = true
where owner = %(owner)s and key = any(%(keys)s)
"""
_MARK_ALL: Final = "update concept_names set is_mended = true where concept_id = %(from)s"
_MOVE_MENTIONS: Final = """
update memory_concepts set concept_id = %(into)s where concept_id = %(gone)s
"""
_MOVE_NEAR: Final = """
insert into near_concepts (source, target, owner, similarity)
select least(%(into)s, other), greatest(%(into)s, other), %(owner)s, max(similarity) from (
    select case when source = %(gone)s then target else source end as other, similarity
    from near_concepts where %(gone)s in (source, target)
) n where other <> %(into)s group by other
on conflict (source, target) do nothing
"""
_REMOVE: Final = "delete from concepts where id = %(gone)s"

_SPLIT_OFF: Final = """
insert into concepts (id, owner, key, name, kind, compared_in)
select %(id)s, owner, %(key)s, %(name)s, kind, 0 from concepts where id = %(from)s
"""
_GIVE_NAME: Final = """
update concept_names set concept_id = %(id)s, is_mended = true
where owner = %(owner)s and key = %(key)s
"""
_GIVE_MENTIONS: Final = """
update memory_concepts set concept_id = %(id)s where owner = %(owner)s and key = %(key)s
"""
_RENAME_AWAY: Final = """
update concepts c set key = n.key, name = n.name from (
    select key, name from concept_names where concept_id = %(from)s and key <> %(key)s
    order by key limit 1
) n where c.id = %(from)s and c.key = %(key)s
"""

# Evidence whose names belong to other concepts than its edge joins goes to the edge that joins
# those; where there is none, the edge is made. What is said of a single-valued relation, and not
# taken back, is put where it belongs by `regroup`.
_ASTRAY: Final = """
select e.edge_id as was, e.memory_id as memory, e.source_key, e.target_key, s.concept_id as source,
    t.concept_id as target, c.relation, nullif(e.said_from, '-infinity') as said_from, c.is_single,
    c.is_single and e.withdrawn_at is null as is_grouped
from edge_evidence e
join concept_edges c on c.id = e.edge_id
join concept_names s on s.owner = e.owner and s.key = e.source_key
join concept_names t on t.owner = e.owner and t.key = e.target_key
where (c.source = any(%(ids)s) or c.target = any(%(ids)s)) and c.owner = %(owner)s
    and (c.source, c.target) <> (s.concept_id, t.concept_id)
order by c.valid_from, e.memory_id
"""
_FIND_EDGE: Final = """
select n.id from concept_edges n join concept_edges c on c.id = %(was)s
where n.source = %(source)s and n.target = %(target)s and n.relation = c.relation
    and (not c.is_single or n.valid_from = c.valid_from and n.known_until is not null)
limit 1
"""
_MAKE_EDGE: Final = """
insert into concept_edges (id, owner, source, target, relation, is_single, valid_from, valid_to,
    stated_until, learned_at, known_until)
select gen_random_uuid(), owner, %(source)s, %(target)s, relation, is_single, valid_from, valid_to,
    stated_until, learned_at, known_until
from concept_edges where id = %(was)s
returning id
"""
_MOVE: Final = """
update edge_evidence set edge_id = %(edge)s
where edge_id = %(was)s and memory_id = %(memory)s and source_key = %(source_key)s
    and target_key = %(target_key)s
    and said_from = coalesce(%(said_from)s::timestamptz, '-infinity')
"""
# A relation of a concept that changed: what ends what is another matter now.
_SINGLE: Final = """
select distinct source, relation from concept_edges
where is_single and owner = %(owner)s and (source = any(%(ids)s) or target = any(%(ids)s))
"""


async def concepts(connection: Connection, owner: str, ids: Collection[UUID]) -> list[Concept]:
    cursor = await connection.execute(_CONCEPT, {"owner": owner, "ids": list(ids)})
    return [
        Concept(
            row["id"], row["key"], row["name"], row["kind"], tuple(row["aliases"]), row["mentions"]
        )
        for row in await cursor.fetchall()
    ]


async def merge(
    connection: Connection, owner: str, into: UUID, gone: UUID, *, by_hand: bool
) -> bool:
    """Make one concept of two: `gone` becomes other names of `into`. False when one of them is not
    there any more, or a hand has mended `gone` and this is no hand.
    """
    await connection.execute(ALONE, {"owner": owner})
    both = await concepts(connection, owner, {into, gone})
    if len(both) != 2:
        return False
    if not by_hand:
        cursor = await connection.execute(_IS_MENDED, {"ids": [gone]})
        if await cursor.fetchone() is not None:
            return False
    params = {"owner": owner, "into": into, "gone": gone, "by_hand": by_hand}
    if by_hand:
        await connection.execute(_MARK, {"owner": owner, "keys": [one.key for one in both]})
    await connection.execute(_MOVE_NAMES, params)
    await connection.execute(_MOVE_MENTIONS, params)
    await connection.execute(_MOVE_NEAR, params)
    await _reattach(connection, owner, [into, gone])
    await connection.execute(_REMOVE, params)
    await connection.execute(GREW, {"owner": owner})
    return True


async def split(connection: Connection, owner: str, concept: UUID, key: str, name: str) -> UUID:
    """Make a concept of its own of one of a concept's names, by hand; its id."""
    await connection.execute(ALONE, {"owner": owner})
    id = uuid4()
    params = {"owner": owner, "id": id, "key": key, "name": name, "from": concept}
    await connection.execute(_MARK_ALL, params)
    # It may be the name that the concept is called by, and a key belongs to one concept.
    await connection.execute(_RENAME_AWAY, params)
    await connection.execute(_SPLIT_OFF, params)
    await connection.execute(_GIVE_NAME, params)
    await connection.execute(_GIVE_MENTIONS, params)
    await _reattach(connection, owner, [concept])
    await connection.execute(GREW, {"owner": owner})
    return id


async def _reattach(connection: Connection, owner: str, ids: Collection[UUID]) -> None:
    params = {"owner": owner, "ids": list(ids)}
    cursor = await connection.execute(_ASTRAY, params)
    astray = await cursor.fetchall()
    edges: set[UUID] = set()
    for row in astray:
        edges.add(row["was"])
        if not row["is_grouped"]:
            cursor = await connection.execute(_FIND_EDGE, row)
            found = await cursor.fetchone()
            if found is None:
                cursor = await connection.execute(_MAKE_EDGE, row)
                found = await cursor.fetchone() or {}
            await connection.execute(_MOVE, {**row, "edge": found["id"]})
            edges.add(found["id"])
    cursor = await connection.execute(_SINGLE, params)
    groups = {(row["source"], row["relation"]) for row in await cursor.fetchall()}
    groups |= {(row["source"], row["relation"]) for row in astray if row["is_single"]}
    await regroup(connection, owner, groups)
    if edges:
        await connection.execute(WEIGH, {"edges": list(edges)})
