"""How one concept leads to another in the graph, and which memories say so.

Searched breadth first, one statement per step: from concepts to those that a relationship, a
near-synonym or a memory that mentions both links to them. A relationship is preferred, since it is
stated; a memory that mentions both only says that they belong together somehow.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.graph.read import HELD, MAX_MEMORIES, STATED_AT
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.retry import retry_on_disconnect
from recollect.core.graph.model import MENTIONED_TOGETHER, NEAR, GraphPath, PathStep
from recollect.core.graph.paths import (
    EVIDENCE_SHOWN,
    MAX_STEPS,
    FoundPath,
    Link,
    PathSearch,
    to_memory_path,
    to_step,
)

_STATED: Final = f"""
select c.source as here, c.target as there, c.relation, false as is_back, c.id as edge
from concept_edges c
where c.owner = %(owner)s and c.source = any(%(frontier)s) and {HELD}
union all
select c.target, c.source, c.relation, true, c.id from concept_edges c
where c.owner = %(owner)s and c.target = any(%(frontier)s) and {HELD}
"""  # noqa: S608  # composed of constants
_NEAR: Final = f"""
select n.source as here, n.target as there, '{NEAR}' as relation, false as is_back,
    null::uuid as edge
from near_concepts n where n.owner = %(owner)s and n.source = any(%(frontier)s)
union all
select n.target, n.source, '{NEAR}', false, null from near_concepts n
where n.owner = %(owner)s and n.target = any(%(frontier)s)
"""  # noqa: S608  # composed of constants
# Whether the memory of a mention a existed at a moment; not checked when no moment is given.
_EXISTED: Final = """
(%(as_of)s::timestamptz is null
    or (select m.created_at <= %(as_of)s from memories m
        where m.owner = %(owner)s and m.id = a.memory_id))
"""
# Through memories only when few mention the concept: a hub would link everything in two steps.
_TOGETHER: Final = f"""
select distinct on (b.concept_id) a.concept_id as here, b.concept_id as there,
    '{MENTIONED_TOGETHER}' as relation, false as is_back, null::uuid as edge
from (
    select f.id from unnest(%(frontier)s::uuid[]) as f(id) cross join lateral (
        select count(*) as memories from (
            select from memory_concepts c
            where c.owner = %(owner)s and c.concept_id = f.id limit {MAX_MEMORIES + 1}
        ) few
    ) d where d.memories <= {MAX_MEMORIES}
) f
join memory_concepts a on a.owner = %(owner)s and a.concept_id = f.id
join memory_concepts b
    on b.owner = a.owner and b.memory_id = a.memory_id and b.concept_id <> a.concept_id
where {_EXISTED}
order by b.concept_id, a.memory_id
"""  # noqa: S608  # composed of constants
_SEARCHES: Final = (_STATED, _NEAR, _TOGETHER)

_LABELS: Final = "select id, name from concepts where owner = %(owner)s and id = any(%(ids)s)"
_SAID: Final = f"""
select e.edge_id, array_agg(distinct e.memory_id) as memories
from edge_evidence e join concept_edges c on c.owner = e.owner and c.id = e.edge_id
where e.owner = %(owner)s and e.edge_id = any(%(edges)s) and {STATED_AT} group by e.edge_id
"""  # noqa: S608  # composed of constants
_BOTH: Final = f"""
select distinct a.memory_id from memory_concepts a
join memory_concepts b
    on b.owner = a.owner and b.memory_id = a.memory_id and b.concept_id = %(there)s
where a.owner = %(owner)s and a.concept_id = %(here)s and {_EXISTED}
order by a.memory_id limit %(limit)s
"""  # noqa: S608  # composed of constants
_CONCEPTS_OF: Final = """
select distinct memory_id, concept_id from memory_concepts
where owner = %(owner)s and memory_id = any(%(ids)s)
"""
_KNOWN: Final = "select id from concepts where owner = %(owner)s and id = any(%(ids)s)"


class PathFinder(PostgresComponent):
    """The shortest paths, for people and for the explanation of a hit."""

    async def path(
        self, owner: str, source: UUID, target: UUID, as_of: datetime | None = None
    ) -> GraphPath | None:
        """From one concept to another; None when there is none of six steps."""
        async with self._pool.transaction(owner) as connection:
            search = _Search(connection, owner, as_of)
            found = await search.find({source}, {target}, MAX_STEPS, _SEARCHES)
            return None if found is None else GraphPath(await search.explain(found.links))

    @retry_on_disconnect
    async def paths(
        self, owner: str, from_ids: Collection[UUID], memory_id: UUID
    ) -> list[GraphPath]:
        """From each of some memories or concepts to a memory, over at most two relationships."""
        starts = list(dict.fromkeys(from_ids))
        params = {"owner": owner, "ids": [*starts, memory_id]}
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(_CONCEPTS_OF, params)
            mentioned: dict[UUID, set[UUID]] = {}
            for row in await cursor.fetchall():
                mentioned.setdefault(row["memory_id"], set()).add(row["concept_id"])
            cursor = await connection.execute(_KNOWN, params)
            concepts = {row["id"] for row in await cursor.fetchall()}
            goals = mentioned.get(memory_id, set())
            search = _Search(connection, owner, None)
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


class _Search:
    """Breadth first in one owner's graph, as it was at a moment."""

    def __init__(self, connection: Connection, owner: str, as_of: datetime | None) -> None:
        self._connection = connection
        self._owner = owner
        self._as_of = as_of

    async def find(
        self, begins: set[UUID], goals: set[UUID], max_steps: int, queries: Collection[str]
    ) -> FoundPath | None:
        search = PathSearch(begins, goals, max_steps)
        while search.frontier:
            params = {"owner": self._owner, "frontier": list(search.frontier), "as_of": self._as_of}
            links: list[Link] = []
            for query in queries:
                cursor = await self._connection.execute(query, params)
                links += [Link(**row) for row in await cursor.fetchall()]
            search.advance(links)
        return search.found

    async def explain(self, links: Collection[Link]) -> tuple[PathStep, ...]:
        """The links with names and with the memories that say them."""
        label = await self.read_labels({id for link in links for id in (link.here, link.there)})
        edges = [link.edge for link in links if link.edge is not None]
        params = {"owner": self._owner, "edges": edges, "as_of": self._as_of}
        cursor = await self._connection.execute(_SAID, params)
        said = {row["edge_id"]: row["memories"] for row in await cursor.fetchall()}
        steps: list[PathStep] = []
        for link in links:
            evidence = [] if link.edge is None else said.get(link.edge, [])
            if link.relation == MENTIONED_TOGETHER:
                evidence = await self._read_common_memories(link)
            steps.append(to_step(link, label, evidence))
        return tuple(steps)

    async def read_labels(self, ids: Collection[UUID]) -> dict[UUID, str]:
        params = {"owner": self._owner, "ids": list(ids)}
        cursor = await self._connection.execute(_LABELS, params)
        return {row["id"]: row["name"] for row in await cursor.fetchall()}

    async def _read_common_memories(self, link: Link) -> list[UUID]:
        params = {
            "owner": self._owner,
            "here": link.here,
            "there": link.there,
            "limit": EVIDENCE_SHOWN,
            "as_of": self._as_of,
        }
        cursor = await self._connection.execute(_BOTH, params)
        return [row["memory_id"] for row in await cursor.fetchall()]
