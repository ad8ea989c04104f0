"""What users view: one concept with its neighborhood, and the graph in numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Final, LiteralString
from uuid import UUID

from recollect.adapters.sql.graph.read import HELD, read_concepts, read_evidence
from recollect.adapters.sql.session import AS_OF, Session, SqlComponent, Values
from recollect.core.graph.model import Concept, GraphStats, Neighbourhood, Relationship

_MAX_NAMES: Final = 20

_RELATIONSHIPS: Final[LiteralString] = f"""
select c.id, c.source, c.target, c.relation, $weight as weight, c.learned_at, c.valid_from,
    c.valid_to, c.known_until, s.name as source_name, t.name as target_name
from concept_edges c
join concepts s on s.owner = c.owner and s.id = c.source
join concepts t on t.owner = c.owner and t.id = c.target
where c.owner = :owner and (c.source = :id or c.target = :id) and c.source <> c.target
    and (:history or ({HELD}))
order by $weight desc, c.relation, t.name, s.name, c.valid_from limit :limit
"""  # noqa: S608  # composed of constants
_NEAR: Final = """
select c.name, n.similarity from near_concepts n
join concepts c
    on c.owner = n.owner and c.id = case when n.source = :id then n.target else n.source end
where n.owner = :owner and (n.source = :id or n.target = :id)
order by n.similarity desc, c.name limit :limit
"""
# Mentions `c` of a concept in memories `m` that existed at a moment.
_MENTIONING: Final[LiteralString] = f"""
from memory_concepts c join memories m on m.owner = c.owner and m.$number = c.$memory
where c.owner = :owner and c.concept_id = :id and ({AS_OF} is null or m.created_at <= {AS_OF})
"""
# A concept that is rare among all memories says more than one that is in most of them.
_TOGETHER: Final[LiteralString] = f"""
select c.name, t.memories from (
    select b.concept_id, count(distinct b.$memory) as memories
    from (select distinct c.$memory {_MENTIONING} limit 2000) a
    join memory_concepts b
        on b.owner = :owner and b.$memory = a.$memory and b.concept_id <> :id
    group by b.concept_id order by 2 desc limit 200
) t
join concepts c on c.owner = :owner and c.id = t.concept_id
order by t.memories desc, c.kind = 'phrase', c.name limit :limit
"""  # noqa: S608  # composed of constants
_MEMORIES: Final[LiteralString] = f"""
select distinct m.id, m.created_at {_MENTIONING} order by m.created_at desc, m.id limit :limit
"""
_COUNT_MENTIONS: Final[LiteralString] = f"select count(distinct m.id) as mentions {_MENTIONING}"
_OF_A_MEMORY: Final = """
select c.name from (
    select distinct concept_id from memory_concepts
    where owner = :owner
        and $memory = (select m.$number from memories m where m.owner = :owner and m.id = :memory)
) t join concepts c on c.owner = :owner and c.id = t.concept_id
order by c.kind = 'phrase', c.name
"""
_STATED: Final = "from concept_edges where owner = :owner and source <> target"
_COUNTS: Final[LiteralString] = f"""
select
    coalesce((select version from graph_versions where owner = :owner), 0) as version,
    (select count(*) from concepts where owner = :owner) as concepts,
    (select count(*) from concept_names where owner = :owner) as names,
    (select count(*) from memory_concepts where owner = :owner) as mentions,
    (select count(distinct $memory) from memory_concepts where owner = :owner) as memories,
    (select count(*) {_STATED}) as relationships,
    (select count(*) {_STATED} and valid_to <= :now) as ended,
    (select count(*) {_STATED} and known_until is not null) as withdrawn,
    (select count(*) from near_concepts where owner = :owner) as near
"""  # noqa: S608  # composed of constants
_BY_KIND: Final = """
select kind as name, count(*) as many from concepts where owner = :owner
group by kind order by 2 desc, 1
"""
_BY_RELATION: Final[LiteralString] = f"""
select relation as name, count(*) as many {_STATED}
group by relation order by 2 desc, 1 limit :limit
"""
_MOST_MENTIONED: Final = """
select c.name, m.many from (
    select concept_id, count(distinct $memory) as many from memory_concepts
    where owner = :owner group by concept_id order by 2 desc, 1 limit :limit
) m join concepts c on c.owner = :owner and c.id = m.concept_id order by m.many desc, c.name
"""


class GraphViewer(SqlComponent):
    """Implements the reading methods of the `GraphView` port."""

    async def concepts(self, owner: str, ids: Collection[UUID]) -> list[Concept]:
        return await self._read(owner, lambda session: read_concepts(session, owner, ids))

    async def concepts_of(self, owner: str, memory: UUID) -> list[str]:
        """Return the names of the concepts that a memory mentions, phrases last."""
        values = {"owner": owner, "memory": memory}
        rows = await self._read(owner, lambda session: session.fetch(_OF_A_MEMORY, values))
        return [row["name"] for row in rows]

    async def neighbourhood(
        self,
        owner: str,
        id: UUID,
        limit: int,
        as_of: datetime | None = None,
        *,
        history: bool = False,
    ) -> Neighbourhood | None:
        """Return the neighborhood of a concept; with `history` also relationships that ended or
        that no text states any more.
        """
        values = {"owner": owner, "id": id, "limit": limit, "as_of": as_of, "history": history}
        return await self._read(
            owner, lambda session: _neighbourhood(session, owner, id, as_of, values)
        )

    async def stats(self, owner: str) -> GraphStats:
        values = {"owner": owner, "limit": _MAX_NAMES}
        return await self._read(owner, lambda session: _stats(session, values))


async def _neighbourhood(
    session: Session, owner: str, id: UUID, as_of: datetime | None, values: Values
) -> Neighbourhood | None:
    found = await read_concepts(session, owner, [id])
    if not found:
        return None
    concept = found[0]
    if as_of is not None:
        counted = await session.fetch(_COUNT_MENTIONS, values)
        concept = replace(concept, mentions=counted[0]["mentions"])
    rows = await session.fetch(_RELATIONSHIPS, values)
    evidence = await read_evidence(session, owner, [row["id"] for row in rows], as_of)
    labels = {row["source"]: row["source_name"] for row in rows}
    labels |= {row["target"]: row["target_name"] for row in rows}
    return Neighbourhood(
        concept=concept,
        relationships=tuple(
            Relationship(
                id=row["id"],
                source=row["source"],
                target=row["target"],
                relation=row["relation"],
                weight=row["weight"],
                learned_at=row["learned_at"],
                valid_from=row["valid_from"],
                valid_to=row["valid_to"],
                known_until=row["known_until"],
                evidence=tuple(evidence.get(row["id"], ())),
            )
            for row in rows
        ),
        labels=labels,
        near=tuple((row["name"], row["similarity"]) for row in await session.fetch(_NEAR, values)),
        together=tuple(
            (row["name"], row["memories"]) for row in await session.fetch(_TOGETHER, values)
        ),
        memories=tuple(row["id"] for row in await session.fetch(_MEMORIES, values)),
    )


async def _stats(session: Session, values: Values) -> GraphStats:
    counts = (await session.fetch(_COUNTS, values))[0]
    by_kind, by_relation, most_mentioned = [
        {row["name"]: row["many"] for row in await session.fetch(statement, values)}
        for statement in (_BY_KIND, _BY_RELATION, _MOST_MENTIONED)
    ]
    return GraphStats(
        version=counts["version"],
        memories=counts["memories"],
        concepts=counts["concepts"],
        aliases=counts["names"] - counts["concepts"],
        mentions=counts["mentions"],
        relationships=counts["relationships"],
        ended=counts["ended"],
        withdrawn=counts["withdrawn"],
        near=counts["near"],
        by_kind=by_kind,
        by_relation=by_relation,
        most_mentioned=most_mentioned,
    )
