"""Merging two concepts and splitting one, by hand or because two names are nearly the same.

A decision by hand marks the names it moved: such a name is only ever moved by hand again, and it
outlives the edits that take it out of memories, so that the decision holds when it comes back; it
does not outlive an erasure. Edges follow their evidence, which knows the names that each memory
used.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final
from uuid import UUID, uuid4

from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.graph.facts import WEIGH, regroup
from recollect.adapters.postgres.graph.read import read_concepts
from recollect.adapters.postgres.graph.write import INCREMENT_VERSION, LOCK
from recollect.adapters.postgres.pool import Connection

_IS_MENDED: Final = """
select from concept_names
where owner = %(owner)s and concept_id = any(%(ids)s) and is_mended limit 1
"""
_MOVE_NAMES: Final = """
update concept_names set concept_id = %(into)s, is_mended = is_mended or %(by_hand)s
where owner = %(owner)s and concept_id = %(gone)s
"""
_MARK: Final = """
update concept_names set is_mended = true
where owner = %(owner)s and key = any(%(keys)s)
"""
_MARK_ALL: Final = """
update concept_names set is_mended = true where owner = %(owner)s and concept_id = %(from)s
"""
_MOVE_MENTIONS: Final = """
update memory_concepts set concept_id = %(into)s
where owner = %(owner)s and concept_id = %(gone)s
"""
_MOVE_NEAR: Final = """
insert into near_concepts (source, target, owner, similarity)
select least(%(into)s, other), greatest(%(into)s, other), %(owner)s, max(similarity) from (
    select case when source = %(gone)s then target else source end as other, similarity
    from near_concepts where owner = %(owner)s and %(gone)s in (source, target)
) n where other <> %(into)s group by other
on conflict (owner, source, target) do nothing
"""
_REMOVE: Final = "delete from concepts where owner = %(owner)s and id = %(gone)s"

_SPLIT_OFF: Final = """
insert into concepts (id, owner, key, name, kind, compared_in)
select %(id)s, owner, %(key)s, %(name)s, kind, 0 from concepts
where owner = %(owner)s and id = %(from)s
returning id
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
    select key, name from concept_names
    where owner = %(owner)s and concept_id = %(from)s and key <> %(key)s
    order by key limit 1
) n where c.owner = %(owner)s and c.id = %(from)s and c.key = %(key)s
"""

# Evidence whose names belong to other concepts than those its edge links moves to the edge that
# links them; a missing edge is created. What is said of a single-valued relation, and not
# withdrawn, is moved by `regroup`.
_MISPLACED_EVIDENCE: Final = """
select e.owner, e.edge_id as was, e.memory_id as memory, e.source_key, e.target_key,
    s.concept_id as source, t.concept_id as target, c.relation,
    nullif(e.said_from, '-infinity') as said_from, c.is_single,
    c.is_single and e.withdrawn_at is null as is_grouped
from edge_evidence e
join concept_edges c on c.owner = e.owner and c.id = e.edge_id
join concept_names s on s.owner = e.owner and s.key = e.source_key
join concept_names t on t.owner = e.owner and t.key = e.target_key
where c.owner = %(owner)s and (c.source = any(%(ids)s) or c.target = any(%(ids)s))
    and (c.source, c.target) <> (s.concept_id, t.concept_id)
order by c.valid_from, e.memory_id
"""
_FIND_EDGE: Final = """
select n.id from concept_edges n
join concept_edges c on c.owner = n.owner and c.id = %(was)s
where n.owner = %(owner)s and n.source = %(source)s and n.target = %(target)s
    and n.relation = c.relation
    and (not c.is_single or n.valid_from = c.valid_from and n.known_until is not null)
limit 1
"""
_MAKE_EDGE: Final = """
insert into concept_edges (id, owner, source, target, relation, is_single, valid_from, valid_to,
    stated_until, learned_at, known_until)
select gen_random_uuid(), owner, %(source)s, %(target)s, relation, is_single, valid_from, valid_to,
    stated_until, learned_at, known_until
from concept_edges where owner = %(owner)s and id = %(was)s
returning id
"""
_MOVE: Final = """
update edge_evidence set edge_id = %(edge)s
where owner = %(owner)s and edge_id = %(was)s and memory_id = %(memory)s
    and source_key = %(source_key)s and target_key = %(target_key)s
    and said_from = coalesce(%(said_from)s::timestamptz, '-infinity')
"""
# The relations of a concept that changed: their periods must be computed again.
_SINGLE: Final = """
select distinct source, relation from concept_edges
where is_single and owner = %(owner)s and (source = any(%(ids)s) or target = any(%(ids)s))
"""


class GraphEditor(PostgresComponent):
    """Implements what the `GraphView` port edits."""

    async def merge(self, owner: str, into: UUID, gone: UUID, *, by_hand: bool) -> bool:
        """Merge two concepts: the names of `gone` become names of `into`. False when one of them no
        longer exists, or when `gone` was edited by hand and this is not by hand.
        """
        params = {"owner": owner, "into": into, "gone": gone, "by_hand": by_hand}
        async with self._pool.transaction(owner) as connection:
            await connection.execute(LOCK, {"owner": owner})
            both = await read_concepts(connection, owner, {into, gone})
            if len(both) != 2:
                return False
            if by_hand:
                keys = [concept.key for concept in both]
                await connection.execute(_MARK, {"owner": owner, "keys": keys})
            else:
                cursor = await connection.execute(_IS_MENDED, {"owner": owner, "ids": [gone]})
                if await cursor.fetchone() is not None:
                    return False
            await connection.execute(_MOVE_NAMES, params)
            await connection.execute(_MOVE_MENTIONS, params)
            await connection.execute(_MOVE_NEAR, params)
            await _reattach(connection, owner, [into, gone])
            await connection.execute(_REMOVE, params)
            await connection.execute(INCREMENT_VERSION, {"owner": owner})
        return True

    async def split(self, owner: str, concept: UUID, key: str, name: str) -> UUID:
        """Make one of a concept's names a concept of its own, by hand. Returns its id."""
        id = uuid4()
        params = {"owner": owner, "id": id, "key": key, "name": name, "from": concept}
        async with self._pool.transaction(owner) as connection:
            await connection.execute(LOCK, {"owner": owner})
            await connection.execute(_MARK_ALL, params)
            # It may be the concept's main name, and a key belongs to one concept.
            await connection.execute(_RENAME_AWAY, params)
            await connection.execute(_SPLIT_OFF, params)
            await connection.execute(_GIVE_NAME, params)
            await connection.execute(_GIVE_MENTIONS, params)
            await _reattach(connection, owner, [concept])
            await connection.execute(INCREMENT_VERSION, {"owner": owner})
        return id


async def _reattach(connection: Connection, owner: str, ids: Collection[UUID]) -> None:
    params = {"owner": owner, "ids": list(ids)}
    cursor = await connection.execute(_MISPLACED_EVIDENCE, params)
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
        await connection.execute(WEIGH, {"owner": owner, "edges": list(edges)})
