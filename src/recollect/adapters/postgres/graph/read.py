"""What recall reads of the graph: its version, the whole of it as columns, and the concepts that
a query names.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection

from recollect.adapters.postgres.graph.as_of import Then, mentions_then
from recollect.core.graph.extraction import BY_MODEL
from recollect.core.graph.model import GraphSnapshot
from recollect.core.graph.walk import UNWALKED_KINDS

Connection = AsyncConnection[Any]

MOST_MEMORIES: Final = 500
"""A concept that more memories mention links everything: paths do not pass through it."""

_VERSION: Final = "select version from graph_versions where owner = %(owner)s"

_NAMED: Final = """
select key, concept_id from concept_names where owner = %(owner)s and key = any(%(keys)s)
"""

_WRITTEN: Final = """
select n.key, n.concept_id, n.name from concept_names n
join concepts c on c.id = n.concept_id and c.kind <> all(%(unnamed)s)
where n.owner = %(owner)s and n.key = any(%(keys)s)
"""

# One row a memory, so that hundreds of thousands of mentions are few rows to fetch.
_MENTIONS: Final = """
select m.id, array_agg(distinct c.concept_id) as concepts,
    coalesce(x.extracted_by >= %(model)s, false) as is_by_model
from memory_concepts c join memories m on m.id = c.memory_id
left join extractions x on x.memory_id = m.id
where c.owner = %(owner)s and (%(as_of)s::timestamptz is null or m.created_at <= %(as_of)s)
group by m.id, x.extracted_by order by m.id
"""
_LABELS: Final = "select id, name, kind from concepts where owner = %(owner)s order by id"

# Held at a moment: true then, and not taken back before. Now is such a moment too; what was said by
# somebody whose clock is ahead holds at once. The dates of an edge are those of what is still said;
# then, it may have held since a text that was changed later.
HELD: Final = """
    (c.valid_from <= coalesce(%(as_of)s::timestamptz, greatest(now(), c.learned_at))
        or exists (select from edge_evidence e where e.edge_id = c.id
            and e.starts_at <= %(as_of)s::timestamptz and e.withdrawn_at > %(as_of)s::timestamptz))
    and (c.valid_to is null or c.valid_to > coalesce(%(as_of)s::timestamptz, now()))
    and (c.known_until is null or c.known_until > %(as_of)s::timestamptz)
"""
# Of a relationship c that held, the evidence e that said so then; of one that is shown although it
# is no longer said, all that once did.
SAID: Final = """
    (e.withdrawn_at is null or e.withdrawn_at > %(as_of)s::timestamptz or c.known_until is not null)
"""
_EDGES: Final = f"""
select c.source, c.target, c.weight, false as is_near from concept_edges c
where c.owner = %(owner)s and c.source <> c.target and {HELD}
union all
select n.source, n.target, n.similarity, true from near_concepts n where n.owner = %(owner)s
order by is_near
"""  # noqa: S608  # composed of constants


async def version(connection: Connection, owner: str) -> int:
    cursor = await connection.execute(_VERSION, {"owner": owner})
    row = await cursor.fetchone()
    return 0 if row is None else int(row["version"])


async def snapshot(connection: Connection, owner: str, as_of: datetime | None) -> GraphSnapshot:
    params = {"owner": owner, "as_of": as_of, "model": BY_MODEL}
    # One snapshot for all of it: an edge must not speak of a concept that is not there.
    await connection.execute("set transaction isolation level repeatable read")
    read = await version(connection, owner)
    cursor = await connection.execute(_LABELS, params)
    rows = await cursor.fetchall()
    labels = {row["id"]: row["name"] for row in rows}
    places = {id: place for place, id in enumerate(labels)}
    memories: list[UUID] = []
    mentioning, mentioned = array("i"), array("i")
    then = Then() if as_of is None else await mentions_then(connection, owner, as_of)
    cursor = await connection.execute(_MENTIONS, params)
    present = [row for row in await cursor.fetchall() if row["id"] not in then.outdated]
    by_model = sum(row["is_by_model"] for row in present)
    said = [(row["id"], row["concepts"]) for row in present]
    for memory, concepts in (*said, *then.mentioned.items()):
        mentioned.extend([places[id] for id in concepts])
        mentioning.extend([len(memories)] * len(concepts))
        memories.append(memory)
    sources, targets, weights = array("i"), array("i"), array("f")
    near = 0
    cursor = await connection.execute(_EDGES, params)
    for row in await cursor.fetchall():
        sources.append(places[row["source"]])
        targets.append(places[row["target"]])
        weights.append(row["weight"])
        near += row["is_near"]
    return GraphSnapshot(
        version=read,
        memories=tuple(memories),
        concepts=tuple(labels),
        labels=tuple(labels.values()),
        kinds=tuple(row["kind"] for row in rows),
        mention_memories=mentioning,
        mention_concepts=mentioned,
        mention_weights=array("f", [1.0]) * len(mentioned),
        edge_sources=sources,
        edge_targets=targets,
        edge_weights=weights,
        near=near,
        by_model=by_model / len(memories) if memories else 0.0,
    )


async def named(connection: Connection, owner: str, keys: Collection[str]) -> dict[str, UUID]:
    cursor = await connection.execute(_NAMED, {"owner": owner, "keys": list(keys)})
    return {row["key"]: row["concept_id"] for row in await cursor.fetchall()}


async def written(
    connection: Connection, owner: str, keys: Collection[str]
) -> dict[str, tuple[UUID, str]]:
    params = {"owner": owner, "keys": list(keys), "unnamed": list(UNWALKED_KINDS)}
    cursor = await connection.execute(_WRITTEN, params)
    return {row["key"]: (row["concept_id"], row["name"]) for row in await cursor.fetchall()}
