"""Find paths between concepts in the graph, and the memories that state them.

The search is breadth-first, with a few statements per step: from concepts to those that are linked
by a relationship, a near-synonym, or a memory that mentions both. Relationships are preferred,
since they are stated; a memory that mentions both only shows that they are somehow related.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final, LiteralString
from uuid import UUID

from recollect.adapters.sql.graph.read import HELD, read_evidence
from recollect.adapters.sql.session import AS_OF, Session, SqlComponent
from recollect.core.graph.model import MENTIONED_TOGETHER, NEAR, GraphPath, PathStep
from recollect.core.graph.paths import (
    MAX_EVIDENCE,
    MAX_STEPS,
    FoundPath,
    Link,
    PathSearch,
    to_memory_path,
    to_step,
)

_MAX_MEMORIES: Final = 500
"""Paths do not pass through a concept that more memories mention: it links everything."""

_STATED: Final[LiteralString] = f"""
select c.source as here, c.target as there, c.relation, false as is_back, c.id as edge
from concept_edges c where c.owner = :owner and c.source = any(:frontier) and {HELD}
union all
select c.target, c.source, c.relation, true, c.id
from concept_edges c where c.owner = :owner and c.target = any(:frontier) and {HELD}
"""  # noqa: S608  # composed of constants
_NEAR: Final[LiteralString] = f"""
select n.source as here, n.target as there, '{NEAR}' as relation, false as is_back, null as edge
from near_concepts n where n.owner = :owner and n.source = any(:frontier)
union all
select n.target, n.source, '{NEAR}', false, null
from near_concepts n where n.owner = :owner and n.target = any(:frontier)
"""  # noqa: S608  # composed of constants
# Whether the memory of mention `a` existed at a moment; not checked if no moment is given.
_EXISTED: Final[LiteralString] = f"""
({AS_OF} is null
    or (select m.created_at <= {AS_OF} from memories m
        where m.owner = :owner and m.$number = a.$memory))
"""  # noqa: S608  # composed of constants
# Through memories only if few mention the concept: a hub would link everything in two steps. In
# SQLite CROSS JOIN also fixes the join order, so that mentions are counted only once.
_TOGETHER: Final[LiteralString] = f"""
select here, there, '{MENTIONED_TOGETHER}' as relation, false as is_back, null as edge
from (
    select a.concept_id as here, b.concept_id as there,
        row_number() over (partition by b.concept_id order by a.$memory) as place
    from concepts f cross join memory_concepts a cross join memory_concepts b
    where f.owner = :owner and f.id = any(:frontier)
        and a.owner = f.owner and a.concept_id = f.id and {_EXISTED}
        and b.owner = a.owner and b.$memory = a.$memory and b.concept_id <> a.concept_id and (
        select count(*) from (
            select 1 from memory_concepts c
            where c.owner = :owner and c.concept_id = f.id limit {_MAX_MEMORIES + 1}) few
    ) <= {_MAX_MEMORIES}
) t where place = 1 order by there
"""  # noqa: S608  # composed of constants
_SEARCHES: Final = (_STATED, _NEAR, _TOGETHER)

_LABELS: Final = "select id, name from concepts where owner = :owner and id = any(:ids)"
_BOTH: Final[LiteralString] = f"""
select distinct m.id from memory_concepts a
join memory_concepts b
    on b.owner = a.owner and b.$memory = a.$memory and b.concept_id = :there
join memories m on m.owner = a.owner and m.$number = a.$memory
where a.owner = :owner and a.concept_id = :here and {_EXISTED}
order by m.id limit {MAX_EVIDENCE}
"""  # noqa: S608  # composed of constants
_CONCEPTS_OF: Final = """
select distinct m.id as memory_id, c.concept_id from memories m
join memory_concepts c on c.owner = m.owner and c.$memory = m.$number
where m.owner = :owner and m.id = any(:ids)
"""


class PathFinder(SqlComponent):
    """The shortest paths, for people and for the explanation of a hit."""

    async def path(
        self, owner: str, source: UUID, target: UUID, as_of: datetime | None = None
    ) -> GraphPath | None:
        """Find a path between two concepts; None if there is none within six steps."""

        async def work(session: Session) -> GraphPath | None:
            search = _Search(session, owner, as_of)
            found = await search.find({source}, {target}, MAX_STEPS, _SEARCHES)
            return None if found is None else GraphPath(await search.explain(found.links))

        return await self._read(owner, work)

    async def paths(
        self, owner: str, from_ids: Collection[UUID], memory_id: UUID
    ) -> list[GraphPath]:
        """Find paths from memories or concepts to a memory, over at most two relationships."""
        starts = list(dict.fromkeys(from_ids))

        async def work(session: Session) -> list[GraphPath]:
            search = _Search(session, owner, None)
            mentioned: dict[UUID, set[UUID]] = {}
            values = {"owner": owner, "ids": [*starts, memory_id]}
            for row in await session.fetch(_CONCEPTS_OF, values):
                mentioned.setdefault(row["memory_id"], set()).add(row["concept_id"])
            concepts = (await search.read_labels(starts)).keys()
            goals = mentioned.get(memory_id, set())
            paths: list[GraphPath] = []
            for start in starts:
                begins = {start} if start in concepts else mentioned.get(start, set())
                if start == memory_id or not begins or not goals:
                    continue
                found = await search.find(begins, goals, 2, (_STATED, _NEAR))
                if found is not None:
                    labels = await search.read_labels({found.first, found.last})
                    steps = await search.explain(found.links)
                    paths.append(to_memory_path(start, found, steps, labels, memory_id))
            return paths

        return await self._read(owner, work)


class _Search:
    """Breadth first in one owner's graph, as it was at a moment."""

    def __init__(self, session: Session, owner: str, as_of: datetime | None) -> None:
        self._session = session
        self._owner = owner
        self._as_of = as_of
        self._values = {"owner": owner, "as_of": as_of}

    async def find(
        self,
        begins: set[UUID],
        goals: set[UUID],
        max_steps: int,
        statements: Collection[LiteralString],
    ) -> FoundPath | None:
        search = PathSearch(begins, goals, max_steps)
        while search.frontier:
            values = {**self._values, "frontier": list(search.frontier)}
            links: list[Link] = []
            for statement in statements:
                links += [Link(**row) for row in await self._session.fetch(statement, values)]
            search.advance(links)
        return search.found

    async def explain(self, links: Collection[Link]) -> tuple[PathStep, ...]:
        """Return the links with names and with the memories that state them."""
        labels = await self.read_labels({id for link in links for id in (link.here, link.there)})
        edges = [link.edge for link in links if link.edge is not None]
        evidence_of = await read_evidence(self._session, self._owner, edges, self._as_of)
        steps: list[PathStep] = []
        for link in links:
            evidence = [] if link.edge is None else evidence_of.get(link.edge, [])
            if link.relation == MENTIONED_TOGETHER:
                values = {**self._values, "here": link.here, "there": link.there}
                evidence = [row["id"] for row in await self._session.fetch(_BOTH, values)]
            steps.append(to_step(link, labels, evidence))
        return tuple(steps)

    async def read_labels(self, ids: Collection[UUID]) -> dict[UUID, str]:
        values = {"owner": self._owner, "ids": list(ids)}
        return {row["id"]: row["name"] for row in await self._session.fetch(_LABELS, values)}
