"""The vectors of concepts' names: which are still to be compared, and what each is nearest to.

They live in the space that recall asks. When another space becomes that one, every name is
compared anew in it; merges that were made stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg import AsyncConnection, sql

from recollect.adapters.postgres.graph.write import ALONE, GREW, RARE
from recollect.adapters.postgres.vectors.text import vector_text
from recollect.core.graph.resolution import Neighbour, PendingConcept, is_compared
from recollect.core.recall.space import StoredSpace

Connection = AsyncConnection[Any]

_SKIPPED: Final = -1
"""Marks a concept that is not compared at all."""

# A phrase that one memory alone uses joins nothing, and there are very many of them. It waits until
# a second one uses it (`graph_write.RARE`).
_WAITING: Final = """
select c.id, c.owner, c.name, c.kind,
    c.kind = 'phrase' and (
        select count(*) from (
            select from memory_concepts m where m.concept_id = c.id limit 2) few) < 2 as is_rare
from concepts c where c.compared_in is null
order by c.created_at, c.id limit %(limit)s
"""
_OTHER_SPACE: Final = """
update concepts set compared_in = null where id in (
    select id from concepts where compared_in > 0 and compared_in <> %(space)s limit %(limit)s)
"""
_OLD_VECTORS: Final = "delete from concept_vectors where space_id <> %(space)s"
_SKIP: Final = """
update concepts set compared_in = case when id = any(%(rare)s) then %(mark)s else %(skipped)s end
where id = any(%(ids)s)
"""

# Only what is very near is looked for, and most of the time of comparing went into the index. With
# half of pgvector's own m and ef_construction every one of 209 pairs from 0.85 on among 5,000 names
# of MuSiQue was still found, and keeping a vector took 2.2 ms instead of 5.8.
_INDEX: Final[LiteralString] = """
create index if not exists {name} on concept_vectors
using hnsw ((vector::halfvec({dimension})) halfvec_cosine_ops) with (m = 8, ef_construction = 32)
where space_id = {space}
"""
_HAS_INDEX: Final = "select to_regclass(%s) is not null as is_there"

# Another worker may be making one concept of two. Its end is waited for, and what it removed has no
# vector; without the lock that would be seen only as a broken reference.
_KEEP: Final = """
insert into concept_vectors (concept_id, space_id, owner, vector)
select v.id, %(space)s, c.owner, v.vector::halfvec
from unnest(%(ids)s::uuid[], %(vectors)s::text[]) as v(id, vector)
join concepts c on c.id = v.id
order by v.id for key share of c
on conflict (concept_id, space_id) do update set vector = excluded.vector
"""
_SETTINGS: Final = """
select set_config('hnsw.ef_search', '40', true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', '20000', true)
"""
# Only older ones: each pair is compared once, and the newcomer joins what was there.
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
    where v.space_id = {space} and v.owner = q.owner and v.concept_id <> q.id
    order by v.vector::halfvec({dimension}) <=> q.vector limit {limit}
) v join concepts n on n.id = v.concept_id
where v.distance <= {farthest} and (
    n.compared_in = {space} or array_position(%(ids)s::uuid[], n.id) < q.place)
order by q.place, v.distance, n.id
"""
_NEAR: Final = """
insert into near_concepts (source, target, owner, similarity)
select least(n.one, n.other), greatest(n.one, n.other), %(owner)s, max(n.similarity)
from unnest(%(ones)s::uuid[], %(others)s::uuid[], %(similarities)s::float8[])
    as n(one, other, similarity)
join concepts c on c.id = n.one join concepts d on d.id = n.other
group by 1, 2
on conflict (source, target) do update set similarity = excluded.similarity
"""
_COMPARED: Final = "update concepts set compared_in = %(space)s where id = any(%(ids)s)"


async def waiting(connection: Connection, space: StoredSpace, limit: int) -> list[PendingConcept]:
    """Concepts whose names nobody has compared with the others yet, oldest first."""
    while True:
        cursor = await connection.execute(_WAITING, {"limit": limit})
        found = await cursor.fetchall()
        rare = {row["id"] for row in found if row["is_rare"]}
        never = {row["id"] for row in found if not is_compared(row["kind"])}
        params = {"rare": list(rare), "ids": list(rare | never), "mark": RARE, "skipped": _SKIPPED}
        await connection.execute(_SKIP, params)
        named = [
            PendingConcept(row["id"], row["owner"], row["name"], row["kind"])
            for row in found
            if row["id"] not in rare | never
        ]
        if named:
            return named
        if not found:
            params = {"space": space.id, "limit": limit}
            cursor = await connection.execute(_OTHER_SPACE, params)
            if not cursor.rowcount:
                return []


async def open_space(connection: Connection, space: StoredSpace) -> None:
    """Give the vectors of names in a space their index, and drop those of other spaces."""
    name = f"concept_vectors_space_{space.id}"
    cursor = await connection.execute(_HAS_INDEX, (name,))
    if (await cursor.fetchone() or {})["is_there"]:
        return
    await connection.execute(_OLD_VECTORS, {"space": space.id})
    await connection.execute(
        sql.SQL(_INDEX).format(
            name=sql.Identifier(name),
            dimension=sql.Literal(space.space.dimension),
            space=sql.Literal(space.id),
        )
    )


async def keep(
    connection: Connection, space: StoredSpace, named: Sequence[tuple[UUID, Sequence[float]]]
) -> None:
    params = {
        "space": space.id,
        "ids": [id for id, _ in named],
        "vectors": [vector_text(space.space, vector) for _, vector in named],
    }
    await connection.execute(_KEEP, params)


async def nearest(
    connection: Connection,
    space: StoredSpace,
    named: Sequence[tuple[PendingConcept, Sequence[float]]],
    *,
    least: float,
    limit: int,
) -> list[list[Neighbour]]:
    """For each name the concepts of the same owner, compared before or earlier in the list, whose
    names are at least so similar.
    """
    await connection.execute(_SETTINGS)
    query = sql.SQL(_NEAREST).format(
        dimension=sql.Literal(space.space.dimension),
        space=sql.Literal(space.id),
        limit=sql.Literal(limit),
        farthest=sql.Literal(1.0 - least),
    )
    params = {
        "ids": [one.id for one, _ in named],
        "owners": [one.owner for one, _ in named],
        "vectors": [vector_text(space.space, vector) for _, vector in named],
    }
    cursor = await connection.execute(query, params)
    found: list[list[Neighbour]] = [[] for _ in named]
    for row in await cursor.fetchall():
        neighbour = Neighbour(row["id"], row["name"], row["kind"], row["similarity"])
        found[row["place"] - 1].append(neighbour)
    return found


async def save_neighbours(
    connection: Connection,
    space: StoredSpace,
    owner: str,
    near: Sequence[tuple[PendingConcept, Sequence[Neighbour]]],
) -> None:
    """Keep what concepts of an owner are near to, and that they need no more comparing here."""
    await connection.execute(ALONE, {"owner": owner})
    pairs = [(one.id, other.id, other.similarity) for one, others in near for other in others]
    if pairs:
        params = {
            "owner": owner,
            "ones": [one for one, _, _ in pairs],
            "others": [other for _, other, _ in pairs],
            "similarities": [similarity for _, _, similarity in pairs],
        }
        await connection.execute(_NEAR, params)
        await connection.execute(GREW, {"owner": owner})
    await connection.execute(_COMPARED, {"space": space.id, "ids": [one.id for one, _ in near]})
