"""Merge two concepts or split one, by hand or because two names are nearly the same.

A decision by hand marks the names it moved: such a name is from then on only moved by hand, and it
survives edits that remove it from all memories, so that the decision still applies when the name
returns; it does not survive an erasure. Edges follow their evidence, which records the names that
each memory used.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Final
from uuid import UUID, uuid4

from recollect.adapters.sql.graph.read import read_concepts
from recollect.adapters.sql.graph.regroup import MOVE_EVIDENCE, GraphRules, regroup
from recollect.adapters.sql.session import Session, SqlComponent, Values

_IS_MENDED: Final = """
select key from concept_names where owner = :owner and concept_id = :gone and is_mended limit 1
"""
_MARK: Final = "update concept_names set is_mended = true where owner = :owner and key = any(:keys)"
_MARK_ALL: Final = """
update concept_names set is_mended = true where owner = :owner and concept_id = :concept
"""
_MOVE_NAMES: Final = """
update concept_names set concept_id = :into, is_mended = is_mended or :by_hand
where owner = :owner and concept_id = :gone
"""
_MOVE_MENTIONS: Final = """
update memory_concepts set concept_id = :into where owner = :owner and concept_id = :gone
"""
# The lower id is the source.
_MOVE_NEAR: Final = """
insert into near_concepts (owner, source, target, similarity)
select :owner, case when other < :into then other else :into end,
    case when other < :into then :into else other end, max(similarity)
from (
    select case when source = :gone then target else source end as other, similarity
    from near_concepts where owner = :owner and :gone in (source, target)
) n where other <> :into group by other
on conflict (owner, source, target) do nothing
"""
_REMOVE: Final = "delete from concepts where owner = :owner and id = :gone"

_SPLIT_OFF: Final = """
insert into concepts as made (owner, id, key, name, kind, compared_in, created_at)
select c.owner, :id, :key, :name, c.kind, 0, :now from concepts c
where c.owner = :owner and c.id = :concept
returning id
"""
_GIVE_NAME: Final = """
update concept_names set concept_id = :id, is_mended = true where owner = :owner and key = :key
"""
_GIVE_MENTIONS: Final = """
update memory_concepts set concept_id = :id where owner = :owner and key = :key
"""
_RENAME_AWAY: Final = """
update concepts set key = n.key, name = n.name from (
    select key, name from concept_names
    where owner = :owner and concept_id = :concept and key <> :key order by key limit 1
) n where concepts.owner = :owner and concepts.id = :concept and concepts.key = :key
"""

# Evidence whose names belong to other concepts than those of its edge moves to the edge between
# these concepts; a missing edge is created. Statements of single-valued relations that are not
# withdrawn are moved by `regroup`.
_MISPLACED_EVIDENCE: Final = """
select e.owner, e.edge_id, e.$memory as memory, e.source_key, e.target_key,
    nullif(e.said_from, $undated) as said_from,
    s.concept_id as source, t.concept_id as target, c.relation, c.is_single,
    c.is_single and e.withdrawn_at is null as is_grouped
from edge_evidence e
join concept_edges c on c.owner = e.owner and c.id = e.edge_id
join concept_names s on s.owner = e.owner and s.key = e.source_key
join concept_names t on t.owner = e.owner and t.key = e.target_key
where c.owner = :owner and (c.source = any(:ids) or c.target = any(:ids))
    and (c.source <> s.concept_id or c.target <> t.concept_id)
order by c.valid_from, e.$memory
"""
_FIND_EDGE: Final = """
select n.id from concept_edges n
join concept_edges c on c.owner = n.owner and c.id = :edge_id
where n.owner = :owner and n.source = :source and n.target = :target and n.relation = c.relation
    and (not c.is_single or n.valid_from = c.valid_from and n.known_until is not null)
limit 1
"""
_COPY_EDGE: Final = """
insert into concept_edges as made (owner, id, source, target, relation, is_single, valid_from,
    valid_to, stated_until, learned_at, known_until)
select e.owner, :edge, :source, :target, e.relation, e.is_single, e.valid_from, e.valid_to,
    e.stated_until, e.learned_at, e.known_until
from concept_edges e where e.owner = :owner and e.id = :edge_id
returning id
"""
# The relations of a concept that changed: their periods must be recomputed.
_SINGLE: Final = """
select distinct source, relation from concept_edges
where is_single and owner = :owner and (source = any(:ids) or target = any(:ids))
"""


class GraphEditor(SqlComponent):
    """Implements the editing methods of the `GraphView` port."""

    _rules: ClassVar[GraphRules]

    async def merge(self, owner: str, into: UUID, gone: UUID, *, by_hand: bool) -> bool:
        """Merge two concepts: the names of `gone` become names of `into`. Returns False if one of
        them no longer exists, or if `gone` was edited by hand and this is not by hand.
        """
        values = {"owner": owner, "into": into, "gone": gone, "by_hand": by_hand}

        async def work(session: Session) -> bool:
            await self._rules.lock(session, owner)
            both = await read_concepts(session, owner, {into, gone})
            if len(both) != 2:
                return False
            if by_hand:
                keys = [concept.key for concept in both]
                await session.execute(_MARK, {"owner": owner, "keys": keys})
            elif await session.fetch(_IS_MENDED, values):
                return False
            for statement in (_MOVE_NAMES, _MOVE_MENTIONS, _MOVE_NEAR):
                await session.execute(statement, values)
            await self._reattach(session, owner, [into, gone])
            await session.execute(_REMOVE, values)
            await self._rules.increment_version(session, owner)
            return True

        return await self._write(owner, work)

    async def split(self, owner: str, concept: UUID, key: str, name: str) -> UUID:
        """Make one of a concept's names a concept of its own, by hand. Returns its id."""
        id = uuid4()
        values = {"owner": owner, "id": id, "key": key, "name": name, "concept": concept}

        async def work(session: Session) -> None:
            await self._rules.lock(session, owner)
            await session.execute(_MARK_ALL, values)
            # It may be the concept's main name, and a key belongs to one concept.
            await session.execute(_RENAME_AWAY, values)
            await session.fetch(_SPLIT_OFF, values)
            await session.execute(_GIVE_NAME, values)
            await session.execute(_GIVE_MENTIONS, values)
            await self._reattach(session, owner, [concept])
            await self._rules.increment_version(session, owner)

        await self._write(owner, work)
        return id

    async def _reattach(self, session: Session, owner: str, ids: Collection[UUID]) -> None:
        values: Values = {"owner": owner, "ids": list(ids)}
        misplaced = await session.fetch(_MISPLACED_EVIDENCE, values)
        edges: set[UUID] = set()
        for row in misplaced:
            edges.add(row["edge_id"])
            if not row["is_grouped"]:
                found = await session.fetch(_FIND_EDGE, row)
                if not found:
                    found = await session.fetch(_COPY_EDGE, {**row, "edge": uuid4()})
                await session.execute(MOVE_EVIDENCE, {**row, "edge": found[0]["id"]})
                edges.add(found[0]["id"])
        single = await session.fetch(_SINGLE, values)
        groups = {(row["source"], row["relation"]) for row in single}
        groups |= {(row["source"], row["relation"]) for row in misplaced if row["is_single"]}
        await regroup(session, self._rules, owner, groups)
        await self._rules.weigh(session, owner, edges)
