"""The dense leg on pgvector: the scope decides how the nearest vectors are found.

An HNSW index walks towards the query and knows nothing of scopes: what it meets outside is thrown
away, so in a small scope it walks far and still misses rows. There every vector of the scope is
compared instead. In a large scope it walks on until enough is found; and should it give up before,
the scope is compared after all: never fewer rows than exist. See docs/adr/0009 for the figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection

from recollect.adapters.postgres.lexical.search import rows_of, scope_size
from recollect.adapters.postgres.pipeline import ask
from recollect.adapters.postgres.rows import Condition
from recollect.adapters.postgres.vectors import spaces
from recollect.adapters.postgres.vectors.text import vector_text
from recollect.core.recall.request import Candidate
from recollect.core.recall.space import Survey
from recollect.ports.recall import VectorQuery

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
_SETTINGS: Final = """
select set_config('jit', 'off', true),
    set_config('random_page_cost', '1.1', true),
    set_config('enable_sort', 'off', true),
    set_config('hnsw.ef_search', %(dense_ef)s::text, true),
    set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.max_scan_tuples', %(dense_most)s::text, true)
"""

# OFFSET 0: the scope comes first, through its own index. Ordered by the score and not by the
# distance, which the index of the vectors would offer to bring in order, but only nearly so. What
# ranking needs to know is fetched for the nearest, not for every row compared.
_COMPARED: Final[LiteralString] = """
select m.id, c.score, m.importance, m.created_at
from (
    select e.memory_id, 1 - (e.vector::halfvec({dimension}) <=> {vector}) as score
    from (select m.id from memories m where {where} offset 0) m
    join embeddings e on e.memory_id = m.id and e.space_id = {space}
    where e.vector is not null
    order by score desc, e.memory_id
    limit {most}
) c
join memories m on m.id = c.memory_id
"""
# The same cast and the same space as in the definition of the index, or it is not used.
_WALKED: Final[LiteralString] = """
select w.id, 1 - w.distance as score, w.importance, w.created_at
from (
    select m.id, e.vector::halfvec({dimension}) <=> {vector} as distance, m.importance, m.created_at
    from embeddings e join memories m on m.id = e.memory_id
    where e.space_id = {space} and e.vector is not null and {where}
    order by distance
    limit {most}
) w
"""
# A walk meets its rows only nearly in order.
_FOUND: Final[LiteralString] = """
select n.id, n.score, n.importance, n.created_at, count(*) over () as met
from ({nearest}) n
order by n.score desc, n.id
limit {depth}
"""


async def survey(
    connection: AsyncConnection[Any], where: Condition, params: Mapping[str, object]
) -> Survey:
    found, explained = await ask(connection, params, spaces.ACTIVE, scope_size(where))
    return Survey(spaces.the_active(found), rows_of(explained))


async def nearest(
    connection: AsyncConnection[Any],
    query: VectorQuery,
    where: Condition,
    params: Mapping[str, object],
) -> list[Candidate]:
    """The memories under `where` (a condition on alias `m` with its `params`) whose vectors are
    nearest, best first. Names that begin with `dense_` are taken.
    """
    depth = query.depth
    if depth < 1:
        return []
    values = {
        **params,
        "dense_vector": vector_text(query.space.space, query.vector),
        "dense_depth": depth,
        "dense_ef": min(max(EF_PER_ROW * depth, EF_LEAST), EF_MOST),
        "dense_most": MAX_SCAN,
    }
    if depth <= EF_MOST and query.rows > EXACT_ROWS:
        walk = WALK_PER_ROW * depth
        found = await _run(connection, _WALKED, query, where, {**values, "dense_walk": walk})
        if found and found[0][-1] == walk:
            return [Candidate(*row[:-1]) for row in found]
    found = await _run(connection, _COMPARED, query, where, {**values, "dense_walk": depth})
    return [Candidate(*row[:-1]) for row in found]


async def _run(
    connection: AsyncConnection[Any],
    statement: LiteralString,
    query: VectorQuery,
    where: Condition,
    values: Mapping[str, object],
) -> list[Any]:
    # Numbers of ours: what an index is defined by can be no parameter.
    dimension = int(query.space.space.dimension)
    inner = statement.format(
        where=where,
        space=int(query.space.id),
        dimension=dimension,
        vector=f"%(dense_vector)s::halfvec({dimension})",
        most="%(dense_walk)s",
    )
    found = _FOUND.format(nearest=inner, depth="%(dense_depth)s")
    _, rows = await ask(connection, values, _SETTINGS, found)
    return rows
