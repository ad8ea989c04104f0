"""What people look at: one concept with what is around it, and the graph in numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.graph.read import HELD, STATED_AT, read_concepts, read_version
from recollect.adapters.postgres.rows import utc
from recollect.core.graph.model import Concept, GraphStats, Neighbourhood, Relationship

_MAX_NAMES: Final = 20

_RELATIONSHIPS: Final = f"""
select c.*, s.name as source_name, t.name as target_name,
    (select array_agg(distinct e.memory_id) from edge_evidence e
        where e.owner = %(owner)s and e.edge_id = c.id and {STATED_AT}) as said_by
from concept_edges c
join concepts s on s.owner = c.owner and s.id = c.source
join concepts t on t.owner = c.owner and t.id = c.target
where c.owner = %(owner)s and (c.source = %(id)s or c.target = %(id)s) and c.source <> c.target
    and (%(all)s or ({HELD}))
order by c.weight desc, c.relation, t.name, s.name, c.valid_from limit %(limit)s
"""  # noqa: S608  # composed of constants
_NEAR: Final = """
select c.name, n.similarity from near_concepts n
join concepts c
    on c.owner = n.owner and c.id = case when n.source = %(id)s then n.target else n.source end
where n.owner = %(owner)s and (n.source = %(id)s or n.target = %(id)s)
order by n.similarity desc, c.name limit %(limit)s
"""
# What is rare among all memories says more than what is in each of them.
_TOGETHER: Final = """
select c.name, t.memories from (
    select b.concept_id, count(distinct b.memory_id) as memories
    from (
        select distinct c.memory_id from memory_concepts c
        join memories m on m.owner = c.owner and m.id = c.memory_id
        where c.owner = %(owner)s and c.concept_id = %(id)s
            and (%(as_of)s::timestamptz is null or m.created_at <= %(as_of)s) limit 2000
    ) a
    join memory_concepts b
        on b.owner = %(owner)s and b.memory_id = a.memory_id and b.concept_id <> %(id)s
    group by b.concept_id order by 2 desc limit 200
) t
join concepts c on c.owner = %(owner)s and c.id = t.concept_id
order by t.memories desc, case c.kind when 'phrase' then 1 else 0 end, c.name limit %(limit)s
"""
_MEMORIES: Final = """
select distinct m.id, m.created_at
from memory_concepts c join memories m on m.owner = c.owner and m.id = c.memory_id
where c.owner = %(owner)s and c.concept_id = %(id)s
    and (%(as_of)s::timestamptz is null or m.created_at <= %(as_of)s)
order by m.created_at desc, m.id limit %(limit)s
"""

_MENTIONS: Final = """
select count(distinct m.id) as mentions
from memory_concepts c join memories m on m.owner = c.owner and m.id = c.memory_id
where c.owner = %(owner)s and c.concept_id = %(id)s and m.created_at <= %(as_of)s
"""

_OF_A_MEMORY: Final = """
select c.name from (
    select distinct concept_id from memory_concepts
    where owner = %(owner)s and memory_id = %(memory)s
) m join concepts c on c.owner = %(owner)s and c.id = m.concept_id
order by case c.kind when 'phrase' then 1 else 0 end, c.name
"""
_COUNTS: Final = """
select
    (select count(*) from concepts where owner = %(owner)s) as concepts,
    (select count(*) from concept_names where owner = %(owner)s) as names,
    (select count(*) from memory_concepts where owner = %(owner)s) as mentions,
    (select count(distinct memory_id) from memory_concepts where owner = %(owner)s) as memories,
    (select count(*) from concept_edges where owner = %(owner)s and source <> target)
        as relationships,
    (select count(*) from concept_edges where owner = %(owner)s and source <> target
        and valid_to <= now()) as ended,
    (select count(*) from concept_edges where owner = %(owner)s and source <> target
        and known_until is not null) as withdrawn,
    (select count(*) from near_concepts where owner = %(owner)s) as near
"""
_BY_KIND: Final = """
select kind as name, count(*) as many from concepts where owner = %(owner)s
group by kind order by 2 desc, 1
"""
_BY_RELATION: Final = """
select relation as name, count(*) as many from concept_edges
where owner = %(owner)s and source <> target group by relation order by 2 desc, 1 limit %(limit)s
"""
_MAX_MENTIONED: Final = """
select c.name, m.many from (
    select concept_id, count(distinct memory_id) as many from memory_concepts
    where owner = %(owner)s group by concept_id order by 2 desc, 1 limit %(limit)s
) m join concepts c on c.owner = %(owner)s and c.id = m.concept_id order by m.many desc, c.name
"""


class GraphViewer(PostgresComponent):
    """Implements what the `GraphView` port reads."""

    async def concepts(self, owner: str, ids: Collection[UUID]) -> list[Concept]:
        async with self._pool.transaction(owner) as connection:
            return await read_concepts(connection, owner, ids)

    async def concepts_of(self, owner: str, memory: UUID) -> list[str]:
        """The names of the concepts that a memory mentions, phrases last."""
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_OF_A_MEMORY, {"owner": owner, "memory": memory})
            return [row["name"] for row in await cursor.fetchall()]

    async def neighbourhood(
        self,
        owner: str,
        id: UUID,
        limit: int,
        as_of: datetime | None = None,
        *,
        history: bool = False,
    ) -> Neighbourhood | None:
        """What is around a concept; with its `history` also relationships that ended or that no
        text says any more.
        """
        params = {"owner": owner, "id": id, "limit": limit, "as_of": as_of, "all": history}
        async with self._pool.transaction(owner) as connection:
            found = await read_concepts(connection, owner, [id])
            if not found:
                return None
            rows = await (await connection.execute(_RELATIONSHIPS, params)).fetchall()
            near = await (await connection.execute(_NEAR, params)).fetchall()
            together = await (await connection.execute(_TOGETHER, params)).fetchall()
            memories = await (await connection.execute(_MEMORIES, params)).fetchall()
            concept = found[0]
            if as_of is not None:
                counted = await (await connection.execute(_MENTIONS, params)).fetchone()
                concept = replace(concept, mentions=0 if counted is None else counted["mentions"])
        labels = {row["source"]: row["source_name"] for row in rows}
        labels |= {row["target"]: row["target_name"] for row in rows}
        return Neighbourhood(
            concept=concept,
            relationships=tuple(_to_relationship(row) for row in rows),
            labels=labels,
            near=tuple((row["name"], row["similarity"]) for row in near),
            together=tuple((row["name"], row["memories"]) for row in together),
            memories=tuple(row["id"] for row in memories),
        )

    async def stats(self, owner: str) -> GraphStats:
        params = {"owner": owner, "limit": _MAX_NAMES}
        tables: list[dict[str, int]] = []
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(_COUNTS, params)
            counts: dict[str, int] = await cursor.fetchone() or {}
            for query in (_BY_KIND, _BY_RELATION, _MAX_MENTIONED):
                cursor = await connection.execute(query, params)
                tables.append({row["name"]: row["many"] for row in await cursor.fetchall()})
            version = await read_version(connection, owner)
        return GraphStats(
            version=version,
            memories=counts["memories"],
            concepts=counts["concepts"],
            aliases=counts["names"] - counts["concepts"],
            mentions=counts["mentions"],
            relationships=counts["relationships"],
            ended=counts["ended"],
            withdrawn=counts["withdrawn"],
            near=counts["near"],
            by_kind=tables[0],
            by_relation=tables[1],
            most_mentioned=tables[2],
        )


def _to_relationship(row: dict[str, Any]) -> Relationship:
    return Relationship(
        id=row["id"],
        source=row["source"],
        target=row["target"],
        relation=row["relation"],
        weight=row["weight"],
        learned_at=utc(row["learned_at"]),
        valid_from=utc(row["valid_from"]),
        valid_to=None if row["valid_to"] is None else utc(row["valid_to"]),
        known_until=None if row["known_until"] is None else utc(row["known_until"]),
        evidence=tuple(sorted(row["said_by"] or ())),
    )
