"""What recall reads from the graph: its version, a snapshot as columns, and concepts by name."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.pipeline import Session
from recollect.adapters.postgres.pool import Connection, retry_on_disconnect
from recollect.adapters.postgres.session import PostgresSession, to_postgres
from recollect.adapters.sql.graph.read import HELD, read_former_texts
from recollect.core.graph.extraction import BY_MODEL
from recollect.core.graph.model import GraphSnapshot
from recollect.core.graph.snapshot import PastMentions, past_mentions, read_former, to_snapshot
from recollect.core.graph.walk import UNWALKED_KINDS

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

_EDGES: Final = to_postgres(f"""
select c.source, c.target, c.weight, false as is_near from concept_edges c
where c.owner = :owner and c.source <> c.target and {HELD}
union all
select n.source, n.target, n.similarity, true from near_concepts n where n.owner = :owner
order by is_near
""")  # noqa: S608  # composed of constants


class GraphReader(PostgresComponent):
    """Implements the `ConceptGraph` port, but for its paths."""

    @retry_on_disconnect
    async def version(self, owner: str) -> int:
        async with self._pool.reading(owner) as connection:
            return await _read_version(connection, owner)

    @retry_on_disconnect
    async def named(self, owner: str, keys: Collection[str]) -> dict[str, UUID]:
        async with self._pool.reading(owner) as connection:
            return await _read_named(connection, owner, keys)

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
        # One snapshot for everything: an edge must not refer to a missing concept.
        async with self._pool.transaction(owner, is_snapshot=True) as connection:
            version = await _read_version(connection, owner)
            concepts = await (await connection.execute(_LABELS, params)).fetchall()
            if as_of is not None:
                past = await _read_past_mentions(connection, owner, as_of)
            mentions = await (await connection.execute(_MENTIONS, params)).fetchall()
            edges = await (await connection.execute(_EDGES, params)).fetchall()
        return to_snapshot(
            version,
            [(row["id"], row["name"], row["kind"]) for row in concepts],
            [(row["id"], row["concepts"], row["is_by_model"]) for row in mentions],
            past,
            [(row["source"], row["target"], row["weight"], row["is_near"]) for row in edges],
        )


async def _read_version(connection: Session, owner: str) -> int:
    cursor = await connection.execute(_VERSION, {"owner": owner})
    row = await cursor.fetchone()
    return 0 if row is None else int(row["version"])


async def _read_named(connection: Session, owner: str, keys: Collection[str]) -> dict[str, UUID]:
    cursor = await connection.execute(_NAMED, {"owner": owner, "keys": list(keys)})
    return {row["key"]: row["concept_id"] for row in await cursor.fetchall()}


async def _read_past_mentions(connection: Connection, owner: str, as_of: datetime) -> PastMentions:
    former = await read_former_texts(PostgresSession(connection), owner, as_of)
    keys = await asyncio.to_thread(read_former, former)
    known = await _read_named(connection, owner, {key for found in keys.values() for key in found})
    return past_mentions(former, keys, known)
