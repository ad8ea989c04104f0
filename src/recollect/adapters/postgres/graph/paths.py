"""How one thing leads to another in the graph, and which memories say so.

Searched breadth first, one statement a step: from concepts to those that a relationship, a
near-synonym or a memory that mentions both joins to them. A relationship is preferred, since it is
stated; a memory that mentions both says only that they belong together somehow.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection

from recollect.adapters.postgres.graph.read import HELD, MOST_MEMORIES, SAID
from recollect.core.graph.model import MENTIONED_TOGETHER, MENTIONS, NEAR, GraphPath, PathStep

Connection = AsyncConnection[Any]

MOST_STEPS: Final = 6
MOST_SEEN: Final = 20_000
"""Concepts a search looks at before it gives up."""
_EVIDENCE_SHOWN: Final = 5

_STATED: Final = f"""
select c.source as here, c.target as there, c.relation, false as is_back, c.id as edge
from concept_edges c
where c.source = any(%(frontier)s) and c.owner = %(owner)s and {HELD}
union all
select c.target, c.source, c.relation, true, c.id from concept_edges c
where c.target = any(%(frontier)s) and c.owner = %(owner)s and {HELD}
"""  # noqa: S608  # composed of constants
_NEAR: Final = f"""
select n.source as here, n.target as there, '{NEAR}' as relation, false as is_back,
    null::uuid as edge
from near_concepts n where n.source = any(%(frontier)s) and n.owner = %(owner)s
union all
select n.target, n.source, '{NEAR}', false, null from near_concepts n
where n.target = any(%(frontier)s) and n.owner = %(owner)s
"""  # noqa: S608  # composed of constants
# Whether the memory of a mention a was there at a moment; asked of no memory where none is named.
_THERE: Final = """
(%(as_of)s::timestamptz is null
    or (select m.created_at <= %(as_of)s from memories m where m.id = a.memory_id))
"""
# Through memories only where few mention the concept: a hub would join everything in two steps.
_TOGETHER: Final = f"""
select distinct on (b.concept_id) a.concept_id as here, b.concept_id as there,
    '{MENTIONED_TOGETHER}' as relation, false as is_back, null::uuid as edge
from (
    select f.id from unnest(%(frontier)s::uuid[]) as f(id) cross join lateral (
        select count(*) as memories from (
            select from memory_concepts c where c.concept_id = f.id limit {MOST_MEMORIES + 1}
        ) few
    ) d where d.memories <= {MOST_MEMORIES}
) f
join memory_concepts a on a.concept_id = f.id and a.owner = %(owner)s
join memory_concepts b on b.memory_id = a.memory_id and b.concept_id <> a.concept_id
where {_THERE}
order by b.concept_id, a.memory_id
"""  # noqa: S608  # composed of constants
_SEARCHES: Final = (_STATED, _NEAR, _TOGETHER)

_LABELS: Final = "select id, name from concepts where id = any(%(ids)s) and owner = %(owner)s"
_SAID: Final = f"""
select e.edge_id, array_agg(distinct e.memory_id) as memories
from edge_evidence e join concept_edges c on c.id = e.edge_id
where e.edge_id = any(%(edges)s) and {SAID} group by e.edge_id
"""  # noqa: S608  # composed of constants
_BOTH: Final = f"""
select distinct a.memory_id from memory_concepts a
join memory_concepts b on b.memory_id = a.memory_id and b.concept_id = %(there)s
where a.concept_id = %(here)s and {_THERE} order by a.memory_id limit %(limit)s
"""  # noqa: S608  # composed of constants
_CONCEPTS_OF: Final = """
select distinct memory_id, concept_id from memory_concepts
where owner = %(owner)s and memory_id = any(%(ids)s)
"""
_KNOWN: Final = "select id from concepts where owner = %(owner)s and id = any(%(ids)s)"


@dataclass(frozen=True, slots=True)
class _Link:
    """How a concept was reached."""

    here: UUID
    there: UUID
    relation: str
    is_back: bool
    edge: UUID | None


async def between(
    connection: Connection, owner: str, source: UUID, target: UUID, as_of: datetime | None = None
) -> GraphPath | None:
    """The shortest path from one concept to another; None when there is none of six steps."""
    found = await _search(connection, owner, {source}, {target}, MOST_STEPS, as_of, _SEARCHES)
    return None if found is None else await _told(connection, owner, found[1], as_of)


async def to_memory(
    connection: Connection, owner: str, from_ids: Collection[UUID], memory: UUID
) -> list[GraphPath]:
    """From each of some memories or concepts the shortest way to a memory, over at most two
    relationships.
    """
    asked = list(dict.fromkeys(from_ids))
    params = {"owner": owner, "ids": [*asked, memory]}
    cursor = await connection.execute(_CONCEPTS_OF, params)
    mentioned: dict[UUID, set[UUID]] = {}
    for row in await cursor.fetchall():
        mentioned.setdefault(row["memory_id"], set()).add(row["concept_id"])
    cursor = await connection.execute(_KNOWN, params)
    concepts = {row["id"] for row in await cursor.fetchall()}
    goals = mentioned.get(memory, set())
    paths: list[GraphPath] = []
    for one in asked:
        begins = {one} if one in concepts else mentioned.get(one, set())
        if one == memory or not begins or not goals:
            continue
        found = await _search(connection, owner, begins, goals, 2, None, (_STATED, _NEAR))
        if found is None:
            continue
        first, links = found
        last = links[-1].there if links else first
        path = await _told(connection, owner, links, None)
        label = await _labels(connection, owner, {first, last})
        before = () if one in concepts else (PathStep(one, "", MENTIONS, first, label[first]),)
        after = PathStep(last, label[last], MENTIONS, memory, "", (memory,))
        paths.append(GraphPath((*before, *path.steps, after)))
    return paths


async def _search(
    connection: Connection,
    owner: str,
    begins: set[UUID],
    goals: set[UUID],
    most: int,
    as_of: datetime | None,
    searches: Collection[str],
) -> tuple[UUID, list[_Link]] | None:
    """A shortest path from any beginning to any goal: where it begins, and its links."""
    if met := sorted(begins & goals):
        return met[0], []
    reached: dict[UUID, _Link] = {}
    frontier = set(begins)
    for _ in range(most):
        found: dict[UUID, _Link] = {}
        for search in searches:
            params = {"owner": owner, "frontier": list(frontier), "as_of": as_of}
            cursor = await connection.execute(search, params)
            for row in await cursor.fetchall():
                if row["there"] not in reached and row["there"] not in begins:
                    found.setdefault(row["there"], _Link(**row))
        reached |= found
        if ends := sorted(goals & found.keys()):
            links = _back(reached, ends[0])
            return links[0].here, links
        frontier = set(found)
        if not frontier or len(reached) > MOST_SEEN:
            return None
    return None


def _back(reached: Mapping[UUID, _Link], end: UUID) -> list[_Link]:
    links: list[_Link] = []
    while end in reached:
        links.append(reached[end])
        end = reached[end].here
    return links[::-1]


async def _told(
    connection: Connection, owner: str, links: list[_Link], as_of: datetime | None
) -> GraphPath:
    label = await _labels(connection, owner, {id for one in links for id in (one.here, one.there)})
    edges = [one.edge for one in links if one.edge is not None]
    cursor = await connection.execute(_SAID, {"edges": edges, "as_of": as_of})
    said = {row["edge_id"]: row["memories"] for row in await cursor.fetchall()}
    steps: list[PathStep] = []
    for one in links:
        evidence = [] if one.edge is None else said.get(one.edge, [])
        if one.relation == MENTIONED_TOGETHER:
            params = {"here": one.here, "there": one.there, "limit": _EVIDENCE_SHOWN}
            cursor = await connection.execute(_BOTH, {**params, "as_of": as_of})
            evidence = [row["memory_id"] for row in await cursor.fetchall()]
        source, target = (one.there, one.here) if one.is_back else (one.here, one.there)
        steps.append(
            PathStep(
                source,
                label[source],
                one.relation,
                target,
                label[target],
                tuple(sorted(evidence)[:_EVIDENCE_SHOWN]),
            )
        )
    return GraphPath(tuple(steps))


async def _labels(connection: Connection, owner: str, ids: Collection[UUID]) -> dict[UUID, str]:
    cursor = await connection.execute(_LABELS, {"owner": owner, "ids": list(ids)})
    return {row["id"]: row["name"] for row in await cursor.fetchall()}
