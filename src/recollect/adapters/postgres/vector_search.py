"""The dense leg on pgvector: the scope decides how the nearest vectors are found.

An HNSW index walks towards the query and knows nothing of scopes: what it meets outside is thrown
away, so in a small scope it walks far and still misses rows. There every vector of the scope is
compared instead. In a large scope it walks on until enough is found; and should it give up before,
the scope is compared after all: never fewer rows than exist. See docs/adr/0009 for the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, sql

from recollect.adapters.postgres.lexical import scope_rows
from recollect.adapters.postgres.vector_text import vector_text
from recollect.core.recall import Candidate
from recollect.ports import VectorQuery

EXACT_ROWS: Final = 4_000
"""Up to here every vector of the scope is compared, and nothing can be lost."""

EF_PER_ROW: Final = 4
EF_LEAST: Final = 200
EF_MOST: Final = 1_000
"""How many neighbours the index keeps in sight: four for each row asked for, at the least 200.
pgvector allows no more than 1,000; whoever asks for more rows than that gets them exactly."""

WALK_PER_ROW: Final = 2
"""Rows that a walk collects for each row asked for, because it meets them only nearly in order."""

MAX_SCAN: Final = 20_000
"""Vectors a walk may meet before it gives up: pgvector's own default."""

# For this transaction only, in one trip. Pages are mostly in memory, so jumping costs little more
# than reading on; compiling costs more than it saves; where the index has the order, take it.
_SETTINGS: Final[LiteralString] = """
select set_config('jit', 'off', true),
    set_config('random_page_cost', '1.1', true),
    set_config('enable_sort', 'off', true),
    set_config('hnsw.ef_search', %(ef)s, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', %(most)s, true)
"""

# OFFSET 0: the scope comes first, through its own index.
_COMPARED: Final[LiteralString] = """
select e.memory_id, 1 - (e.vector::halfvec({dimension}) <=> {vector}) as score
from (select m.id from memories m where {where} offset 0) m
join embeddings e on e.memory_id = m.id and e.space_id = {space}
where e.vector is not null
order by score desc, e.memory_id
limit {depth}
"""
# The same cast and the same space as in the definition of the index, or it is not used.
_WALKED: Final[LiteralString] = """
select e.memory_id, 1 - (e.vector::halfvec({dimension}) <=> {vector}) as score
from embeddings e join memories m on m.id = e.memory_id
where e.space_id = {space} and e.vector is not null and {where}
order by e.vector::halfvec({dimension}) <=> {vector}
limit {depth}
"""
# What ranking needs to know is fetched for the rows found, not for every row compared. They are not
# sorted here: to Postgres the rows of a walk are in order already.
_FOUND: Final[LiteralString] = """
select m.id, m.importance, m.created_at, n.score
from ({nearest}) n join memories m on m.id = n.memory_id
"""


async def nearest(
    connection: AsyncConnection[Any],
    query: VectorQuery,
    where: sql.Composable,
    params: Mapping[str, object],
) -> list[Candidate]:
    """The memories under `where` (a condition on alias `m` with its `params`) whose vectors are
    nearest, best first. Names that begin with `dense_` are taken.
    """
    depth = query.depth
    values = {**params, "dense_vector": vector_text(query.space.space, query.vector)}
    if depth < 1:
        return []
    ef = min(max(EF_PER_ROW * depth, EF_LEAST), EF_MOST)
    await connection.execute(_SETTINGS, {"ef": str(ef), "most": str(MAX_SCAN)})
    if depth <= EF_MOST and await scope_rows(connection, where, params) > EXACT_ROWS:
        walk = WALK_PER_ROW * depth
        found = await _run(connection, _WALKED, query, where, {**values, "dense_depth": walk})
        if len(found) == walk:
            return found[:depth]
    return await _run(connection, _COMPARED, query, where, {**values, "dense_depth": depth})


async def _run(
    connection: AsyncConnection[Any],
    statement: LiteralString,
    query: VectorQuery,
    where: sql.Composable,
    values: Mapping[str, object],
) -> list[Candidate]:
    dimension = sql.Literal(query.space.space.dimension)
    inner = sql.SQL(statement).format(
        where=where,
        space=sql.Literal(query.space.id),
        dimension=dimension,
        vector=sql.SQL("%(dense_vector)s::halfvec({})").format(dimension),
        depth=sql.Placeholder("dense_depth"),
    )
    cursor = await connection.execute(sql.SQL(_FOUND).format(nearest=inner), values)
    found = [
        Candidate(row["id"], row["score"], row["importance"], row["created_at"])
        for row in await cursor.fetchall()
    ]
    return sorted(found, key=lambda each: (-each.score, each.id))
