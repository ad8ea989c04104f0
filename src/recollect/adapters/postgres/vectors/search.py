"""The dense leg on pgvector: owner and scope decide how the nearest vectors are found.

Only owners with many vectors have an HNSW index (`hnsw.py`); those of the others are compared one
by one. An index walks towards the query and knows nothing of scopes: what it meets outside is
thrown away, so in a small scope it walks far and still misses rows. There every vector of the scope
is compared instead. In a large scope it walks until enough is found; if it gives up before, the
scope is compared after all: never fewer rows than exist. See docs/adr/0009 and 0041 for the
figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, LiteralString

from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.lexical.search import rows_of, scope_size
from recollect.adapters.postgres.pipeline import Reading, execute_many
from recollect.adapters.postgres.retry import retry_on_disconnect
from recollect.adapters.postgres.rows import Condition, within
from recollect.adapters.postgres.vectors.hnsw import INDEX_SIZE, index_params
from recollect.adapters.postgres.vectors.spaces import ACTIVE, to_active
from recollect.adapters.postgres.vectors.text import vector_text
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.core.recall.request import Candidate
from recollect.core.recall.space import Survey
from recollect.ports.recall import VectorQuery

EF_MAX: Final = 1_000
"""pgvector allows no more neighbours in sight; more rows than that are searched exactly."""

WALK_PER_ROW: Final = 2
"""Rows that a walk collects for each row asked for, because it meets them only nearly in order."""

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
    join embeddings e on e.owner = %(owner)s and e.memory_id = m.id and e.space_id = {space}
    where e.vector is not null
    order by score desc, e.memory_id
    limit {most}
) c
join memories m on m.owner = %(owner)s and m.id = c.memory_id
"""
# Where the scope is all of the owner's memories, none needs to be looked up: what is forgotten or
# sensitive has no vector. That takes a third less time.
_ALL_COMPARED: Final[LiteralString] = """
select m.id, c.score, m.importance, m.created_at
from (
    select e.memory_id, 1 - (e.vector::halfvec({dimension}) <=> {vector}) as score
    from embeddings e
    where e.owner = %(owner)s and e.space_id = {space} and e.vector is not null
        and e.memory_id <> all(%(dense_exclude)s::uuid[])
    order by score desc, e.memory_id
    limit {most}
) c
join memories m on m.owner = %(owner)s and m.id = c.memory_id
"""
# The same cast, owner and space as in the definition of the index, or it is not used.
_WALKED: Final[LiteralString] = """
select w.id, 1 - w.distance as score, w.importance, w.created_at
from (
    select m.id, e.vector::halfvec({dimension}) <=> {vector} as distance, m.importance, m.created_at
    from embeddings e join memories m on m.owner = e.owner and m.id = e.memory_id
    where e.owner = %(owner)s and e.space_id = {space} and e.vector is not null and {where}
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


class VectorSearch(PostgresComponent):
    """Implements the `VectorIndex` port."""

    @retry_on_disconnect
    async def survey(self, owner: str, scope: Scope) -> Survey:
        condition, params = within(owner, scope)
        async with self._pool.reading(owner) as connection:
            found, plan, indexed = await execute_many(
                connection,
                {**params, **index_params(owner)},
                ACTIVE,
                scope_size(condition),
                INDEX_SIZE,
            )
        rows = rows_of(plan)
        if indexed and scope == EVERYWHERE:  # the planner may not know this owner
            rows = max(rows, int(indexed[0][0]))
        return Survey(to_active(found), bool(indexed) and rows > self._limits.exact_rows)

    @retry_on_disconnect
    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        """The memories of a scope whose vectors are nearest, best first."""
        depth = query.depth
        if depth < 1:
            return []
        limits = self._limits
        condition, params = within(owner, scope, query.exclude)
        values = {
            **params,
            "dense_vector": vector_text(query.space.space, query.vector),
            "dense_depth": depth,
            "dense_ef": min(max(limits.ef_per_row * depth, limits.ef_min), EF_MAX),
            "dense_most": limits.max_scan,
            "dense_exclude": list(query.exclude),
        }
        async with self._pool.reading(owner) as connection:
            if depth <= EF_MAX and query.use_index:
                walk = WALK_PER_ROW * depth
                values["dense_walk"] = walk
                rows = await _search(connection, _WALKED, query, condition, values)
                if rows and rows[0][-1] == walk:
                    return [Candidate(*row[:-1]) for row in rows]
            values["dense_walk"] = depth
            compared = _ALL_COMPARED if scope == EVERYWHERE else _COMPARED
            rows = await _search(connection, compared, query, condition, values)
        return [Candidate(*row[:-1]) for row in rows]


async def _search(
    connection: Reading,
    statement: LiteralString,
    query: VectorQuery,
    where: Condition,
    values: Mapping[str, object],
) -> list[Any]:
    # Our own numbers: what an index is defined by cannot be a parameter.
    dimension = int(query.space.space.dimension)
    inner = statement.format(
        where=where,
        space=int(query.space.id),
        dimension=dimension,
        vector=f"%(dense_vector)s::halfvec({dimension})",
        most="%(dense_walk)s",
    )
    statement = _FOUND.format(nearest=inner, depth="%(dense_depth)s")
    _, rows = await execute_many(connection, values, _SETTINGS, statement)
    return rows
