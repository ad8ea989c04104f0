"""The vectors of concept names: which must still be compared, and the nearest ones of each.

They are in the active space. When another space becomes active, every name is compared again in it;
earlier merges are kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Final, LiteralString

from psycopg import sql
from psycopg.rows import DictRow

from recollect.adapters.postgres.access import ADMIN, WORKER
from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.distribution import limit_to
from recollect.adapters.postgres.graph.rules import RULES
from recollect.adapters.postgres.graph.write import RARE
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pipeline import Reading, execute_many, set_local
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.session import PostgresSession
from recollect.adapters.postgres.vectors.search import vector_text
from recollect.adapters.postgres.vectors.spaces import to_active
from recollect.adapters.sql.spaces import ACTIVE_SPACE
from recollect.core.graph.resolution import Neighbour, PendingConcept, is_compared
from recollect.core.recall.space import StoredSpace

_SKIPPED: Final = -1
"""Marks a concept that is not compared at all."""

# There are very many phrases that only one memory uses, and they link nothing. Such a phrase waits
# until a second memory uses it (`RARE`).
_WAITING: Final[LiteralString] = """
select c.id, c.owner, c.name, c.kind,
    c.kind = 'phrase' and (
        select count(*) from (
            select from memory_concepts m
            where m.owner = c.owner and m.concept_id = c.id {m} limit 2) few) < 2 as is_rare
from concepts c where c.compared_in is null {c}
order by c.created_at, c.id limit %(limit)s
"""
_WAITING_OWNERS: Final = """
select c.owner from concepts c where c.compared_in is null
group by c.owner order by min(c.created_at) limit 1
"""
_OTHER_SPACE: Final[LiteralString] = """
update concepts c set compared_in = null from (
    select o.owner, o.id from concepts o
    where o.compared_in > 0 and o.compared_in <> %(space)s {o} limit %(limit)s
) o
where c.owner = o.owner and c.id = o.id {c}
"""
_OTHER_OWNERS: Final = """
select o.owner from concepts o where o.compared_in > 0 and o.compared_in <> %(space)s
group by o.owner limit 1
"""
_OLD_VECTORS: Final = "delete from concept_vectors where space_id <> %(space)s"
_SKIP: Final[LiteralString] = """
update concepts c set compared_in = case when s.is_rare then %(mark)s else %(skipped)s end
from unnest(%(owners)s::text[], %(ids)s::uuid[], %(rare)s::boolean[]) as s(owner, id, is_rare)
where c.owner = s.owner and c.id = s.id {c}
"""

# Only very near names are searched, and the index took most of the time. With half of pgvector's
# default m and ef_construction, all 209 pairs with a similarity of at least 0.85 among 5,000 names
# of MuSiQue were still found, and storing a vector took 2.2 ms instead of 5.8.
_INDEX: Final[LiteralString] = """
create index if not exists {name} on concept_vectors
using hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) with (m = 8, ef_construction = 32)
where space_id = {space}
"""
_HAS_INDEX: Final = "select to_regclass(%(name)s) is not null as is_there"

# Another worker may be merging concepts. The lock waits for it, and a concept that it removed gets
# no vector; without the lock, storing the vector would fail with a foreign key error.
_HOLD: Final[LiteralString] = """
select c.id from concepts c
join unnest(%(owners)s::text[], %(ids)s::uuid[]) as v(owner, id)
    on c.owner = v.owner and c.id = v.id {c}
order by c.owner, c.id for key share of c
"""
_KEEP: Final[LiteralString] = """
insert into concept_vectors (concept_id, space_id, owner, vector)
select c.id, %(space)s, c.owner, v.vector::halfvec
from unnest(%(owners)s::text[], %(ids)s::uuid[], %(vectors)s::text[]) as v(owner, id, vector)
join concepts c on c.owner = v.owner and c.id = v.id {c}
order by c.owner, c.id
on conflict (owner, concept_id, space_id) do update set vector = excluded.vector
"""
_SETTINGS: Final[Mapping[LiteralString, str]] = {
    "hnsw.ef_search": "40",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "20000",
}
# Only older ones: each pair is compared once, and the newer concept joins the older.
_NEAREST: Final[LiteralString] = """
with named as materialized (
    select id, owner, vector::halfvec({dimension}) as vector, place
    from unnest(%(ids)s::uuid[], %(owners)s::text[], %(vectors)s::text[])
        with ordinality as q(id, owner, vector, place)
)
select q.place, n.id, n.name, n.kind, 1 - v.distance as similarity
from named q cross join lateral (
    select v.concept_id, v.vector::halfvec({dimension}) <=> q.vector as distance
    from concept_vectors v
    where v.space_id = {space} and v.owner = q.owner and v.concept_id <> q.id {of_v}
    order by v.vector::halfvec({dimension}) <=> q.vector limit {limit}
) v join concepts n on n.owner = q.owner and n.id = v.concept_id {of_n}
where v.distance <= {farthest} and (
    n.compared_in = {space} or array_position(%(ids)s::uuid[], n.id) < q.place)
order by q.place, v.distance, n.id
"""
_NEAR: Final = """
insert into near_concepts (source, target, owner, similarity)
select least(n.one, n.other), greatest(n.one, n.other), %(owner)s, max(n.similarity)
from unnest(%(ones)s::uuid[], %(others)s::uuid[], %(similarities)s::float8[])
    as n(one, other, similarity)
join concepts c on c.owner = %(owner)s and c.id = n.one
join concepts d on d.owner = %(owner)s and d.id = n.other
group by 1, 2
on conflict (owner, source, target) do update set similarity = excluded.similarity
"""
_COMPARED: Final = """
update concepts set compared_in = %(space)s where owner = %(owner)s and id = any(%(ids)s)
"""


class ConceptComparison(PostgresComponent):
    """Implements the `ConceptNames` port, but for `merge`."""

    def __init__(self, pool: Pool, limits: Limits, *, has_vectors: bool) -> None:
        super().__init__(pool, limits)
        self._has_vectors = has_vectors

    async def comparing_space(self) -> StoredSpace | None:
        # An index for a space is made on all nodes.
        if not self._has_vectors or self._pool.lost_nodes:
            return None
        async with self._pool.reading(WORKER) as connection:
            (found,) = await execute_many(connection, {}, ACTIVE_SPACE)
        return to_active(found)

    async def to_compare(self, space: StoredSpace, limit: int) -> list[PendingConcept]:
        async with self._pool.transaction(WORKER) as connection:
            while True:
                found: list[DictRow] = []
                for owner in await self._owners(connection, _WAITING_OWNERS, {}):
                    params = {"owner": owner, "limit": limit}
                    cursor = await connection.execute(limit_to(owner, _WAITING), params)
                    found = await cursor.fetchall()
                skipped = [row for row in found if row["is_rare"] or not is_compared(row["kind"])]
                for owner, part in self._split(skipped, itemgetter("owner")):
                    marks = {
                        "owner": owner,
                        "owners": [row["owner"] for row in part],
                        "ids": [row["id"] for row in part],
                        "rare": [row["is_rare"] for row in part],
                        "mark": RARE,
                        "skipped": _SKIPPED,
                    }
                    await connection.execute(limit_to(owner, _SKIP), marks)
                pending = [
                    PendingConcept(row["id"], row["owner"], row["name"], row["kind"])
                    for row in found
                    if row not in skipped
                ]
                if pending:
                    return pending
                if not found:
                    others = 0
                    for owner in await self._owners(connection, _OTHER_OWNERS, {"space": space.id}):
                        params = {"owner": owner, "space": space.id, "limit": limit}
                        cursor = await connection.execute(limit_to(owner, _OTHER_SPACE), params)
                        others = cursor.rowcount
                    if not others:
                        return []

    async def keep_vectors(
        self, space: StoredSpace, named: Sequence[tuple[PendingConcept, Sequence[float]]]
    ) -> None:
        async with self._pool.reading(WORKER) as reading:
            is_prepared = await _is_prepared(reading, space)
        if not is_prepared:
            async with self._pool.transaction(ADMIN) as connection:
                await _prepare_space(connection, space)
        async with self._pool.transaction(WORKER) as connection:
            for owner, part in self._split(named, lambda item: item[0].owner):
                params = {"space": space.id, "owner": owner, **_to_columns(space, part)}
                await connection.execute(limit_to(owner, _HOLD), params)
                await connection.execute(limit_to(owner, _KEEP), params)

    async def nearest(
        self,
        space: StoredSpace,
        named: Sequence[tuple[PendingConcept, Sequence[float]]],
        *,
        least: float,
        limit: int,
    ) -> list[list[Neighbour]]:
        numbers = {
            "dimension": sql.Literal(space.space.dimension),
            "space": sql.Literal(space.id),
            "limit": sql.Literal(limit),
            "farthest": sql.Literal(1.0 - least),
        }
        placed = [(place, concept, vector) for place, (concept, vector) in enumerate(named)]
        found: list[list[Neighbour]] = [[] for _ in named]
        async with self._pool.transaction(WORKER) as connection:
            await set_local(connection, _SETTINGS)
            for owner, part in self._split(placed, lambda item: item[1].owner):
                query = sql.SQL(_NEAREST).format(
                    of_v=sql.SQL(limit_to(owner, "{v}")),
                    of_n=sql.SQL(limit_to(owner, "{n}")),
                    **numbers,
                )
                theirs = [(concept, vector) for _, concept, vector in part]
                params = {"owner": owner, **_to_columns(space, theirs)}
                cursor = await connection.execute(query, params)
                for row in await cursor.fetchall():
                    neighbour = Neighbour(row["id"], row["name"], row["kind"], row["similarity"])
                    found[part[row["place"] - 1][0]].append(neighbour)
        return found

    async def save_neighbours(
        self, space: StoredSpace, near: Sequence[tuple[PendingConcept, Sequence[Neighbour]]]
    ) -> None:
        for owner in sorted({concept.owner for concept, _ in near}):
            theirs = [(concept, found) for concept, found in near if concept.owner == owner]
            pairs = [
                (concept.id, neighbour.id, neighbour.similarity)
                for concept, found in theirs
                for neighbour in found
            ]
            ids = [concept.id for concept, _ in theirs]
            async with self._pool.transaction(owner) as connection:
                await RULES.lock(PostgresSession(connection), owner)
                if pairs:
                    params = {
                        "owner": owner,
                        "ones": [concept for concept, _, _ in pairs],
                        "others": [neighbour for _, neighbour, _ in pairs],
                        "similarities": [similarity for _, _, similarity in pairs],
                    }
                    await connection.execute(_NEAR, params)
                    await RULES.increment_version(PostgresSession(connection), owner)
                await connection.execute(_COMPARED, {"owner": owner, "space": space.id, "ids": ids})


def _to_columns(
    space: StoredSpace, named: Sequence[tuple[PendingConcept, Sequence[float]]]
) -> dict[str, object]:
    return {
        "owners": [concept.owner for concept, _ in named],
        "ids": [concept.id for concept, _ in named],
        "vectors": [vector_text(space.space, vector) for _, vector in named],
    }


async def _is_prepared(connection: Reading, space: StoredSpace) -> bool:
    cursor = await connection.execute(_HAS_INDEX, {"name": _index_name(space)})
    return bool((await cursor.fetchone() or {})["is_there"])


async def _prepare_space(connection: Connection, space: StoredSpace) -> None:
    """Create the index of names in this space, and drop the vectors of other spaces."""
    await connection.execute(_OLD_VECTORS, {"space": space.id})
    await connection.execute(
        sql.SQL(_INDEX).format(
            name=sql.Identifier(_index_name(space)),
            dimension=sql.Literal(space.space.dimension),
            space=sql.Literal(space.id),
        )
    )


def _index_name(space: StoredSpace) -> str:
    return f"concept_vectors_space_{space.id}"
