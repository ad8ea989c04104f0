"""What recall reads of the graph: its version, all of it as columns, and concepts by name."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.graph.as_of import read_past_mentions
from recollect.adapters.postgres.pipeline import Session
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.retry import retry_on_disconnect
from recollect.core.graph.extraction import BY_MODEL
from recollect.core.graph.model import Concept, GraphSnapshot
from recollect.core.graph.snapshot import PastMentions, to_snapshot
from recollect.core.graph.walk import UNWALKED_KINDS

MAX_MEMORIES: Final = 500
"""A concept that more memories mention links everything: paths do not pass through it."""

_VERSION: Final = "select version from graph_versions where owner = %(owner)s"

_NAMED: Final = """
select key, concept_id from concept_names where owner = %(owner)s and key = any(%(keys)s)
"""

_NAMED_AS_WRITTEN: Final = """
select n.key, n.concept_id, n.name from concept_names n
join concepts c on c.owner = n.owner and c.id = n.concept_id and c.kind <> all(%(unnamed)s)
where n.owner = %(owner)s and n.key = any(%(keys)s)
"""

# One row per memory, so that hundreds of thousands of mentions are few rows to fetch.
_MENTIONS: Final = """
select m.id, array_agg(distinct c.concept_id) as concepts,
    coalesce(x.extracted_by >= %(model)s, false) as is_by_model
from memory_concepts c join memories m on m.owner = c.owner and m.id = c.memory_id
left join extractions x on x.owner = m.owner and x.memory_id = m.id
where c.owner = %(owner)s and (%(as_of)s::timestamptz is null or m.created_at <= %(as_of)s)
group by m.id, x.extracted_by order by m.id
"""
_LABELS: Final = "select id, name, kind from concepts where owner = %(owner)s order by id"

# Held at a moment: true then, and not withdrawn before. Now is such a moment too; what was said
# with a clock that is ahead holds at once. The dates of an edge are those of what is still said; at
# that moment it may have held because of a text that was changed later.
HELD: Final = """
    (c.valid_from <= coalesce(%(as_of)s::timestamptz, greatest(now(), c.learned_at))
        or exists (select from edge_evidence e where e.owner = %(owner)s and e.edge_id = c.id
            and e.starts_at <= %(as_of)s::timestamptz and e.withdrawn_at > %(as_of)s::timestamptz))
    and (c.valid_to is null or c.valid_to > coalesce(%(as_of)s::timestamptz, now()))
    and (c.known_until is null or c.known_until > %(as_of)s::timestamptz)
"""
# Of a relationship c that held, the evidence e that said so at that moment; of one that is shown
# although it is no longer said, all the evidence it ever had.
STATED_AT: Final = """
    (e.withdrawn_at is null or e.withdrawn_at > %(as_of)s::timestamptz or c.known_until is not null)
"""
_EDGES: Final = f"""
select c.source, c.target, c.weight, false as is_near from concept_edges c
where c.owner = %(owner)s and c.source <> c.target and {HELD}
union all
select n.source, n.target, n.similarity, true from near_concepts n where n.owner = %(owner)s
order by is_near
"""  # noqa: S608  # composed of constants

_CONCEPT: Final = """
select c.id, c.key, c.name, c.kind,
    (select coalesce(array_agg(n.name order by n.key), '{}') from concept_names n
        where n.owner = %(owner)s and n.concept_id = c.id and n.key <> c.key) as aliases,
    (select count(distinct m.memory_id) from memory_concepts m
        where m.owner = %(owner)s and m.concept_id = c.id) as mentions
from concepts c where c.owner = %(owner)s and c.id = any(%(ids)s)
order by c.id
"""


class GraphReader(PostgresComponent):
    """Implements the `ConceptGraph` port, but for its paths."""

    @retry_on_disconnect
    async def version(self, owner: str) -> int:
        async with self._pool.reading(owner) as connection:
            return await read_version(connection, owner)

    @retry_on_disconnect
    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]:
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_NAMED, {"owner": owner, "keys": list(keys)})
            return {row["key"]: row["concept_id"] for row in await cursor.fetchall()}

    @retry_on_disconnect
    async def written(self, owner: str, keys: Collection[str]) -> dict[str, tuple[UUID, str]]:
        params = {"owner": owner, "keys": list(keys), "unnamed": list(UNWALKED_KINDS)}
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_NAMED_AS_WRITTEN, params)
            rows = await cursor.fetchall()
        return {row["key"]: (row["concept_id"], row["name"]) for row in rows}

    @retry_on_disconnect
    async def snapshot(self, owner: str, as_of: datetime | None = None) -> GraphSnapshot:
        params = {"owner": owner, "as_of": as_of, "model": BY_MODEL}
        past = PastMentions()
        # One snapshot for all of it: an edge must not refer to a concept that is missing.
        async with self._pool.transaction(owner, is_snapshot=True) as connection:
            version = await read_version(connection, owner)
            concepts = await (await connection.execute(_LABELS, params)).fetchall()
            if as_of is not None:
                past = await read_past_mentions(connection, owner, as_of)
            mentions = await (await connection.execute(_MENTIONS, params)).fetchall()
            edges = await (await connection.execute(_EDGES, params)).fetchall()
        return to_snapshot(
            version,
            [(row["id"], row["name"], row["kind"]) for row in concepts],
            [(row["id"], row["concepts"], row["is_by_model"]) for row in mentions],
            past,
            [(row["source"], row["target"], row["weight"], row["is_near"]) for row in edges],
        )


async def read_version(connection: Session, owner: str) -> int:
    cursor = await connection.execute(_VERSION, {"owner": owner})
    row = await cursor.fetchone()
    return 0 if row is None else int(row["version"])


async def read_concepts(connection: Connection, owner: str, ids: Collection[UUID]) -> list[Concept]:
    cursor = await connection.execute(_CONCEPT, {"owner": owner, "ids": list(ids)})
    return [
        Concept(
            row["id"], row["key"], row["name"], row["kind"], tuple(row["aliases"]), row["mentions"]
        )
        for row in await cursor.fetchall()
    ]
