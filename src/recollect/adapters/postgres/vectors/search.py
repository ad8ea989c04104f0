"""The dense leg on pgvector: owner and scope decide how the nearest vectors are found.

Only owners with many vectors have an HNSW index (`hnsw.py`); the vectors of other owners are
compared one by one. An index scan approaches the query without regard to scopes: rows outside the
scope are discarded, so in a small scope it visits many rows and still misses some. There every
vector of the scope is compared instead. In a large scope the scan continues until enough rows are
found; if it gives up earlier, all vectors are compared after all, so no row is missing. See
docs/adr/0009 and 0041 for the measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, LiteralString
from uuid import UUID

from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.lexical.search import rows_of, scope_size
from recollect.adapters.postgres.lexical.statistics import STORED_KEY
from recollect.adapters.postgres.pipeline import Reading, execute_many
from recollect.adapters.postgres.pool import retry_on_disconnect
from recollect.adapters.postgres.rows import Condition, within
from recollect.adapters.postgres.vectors.hnsw import INDEX_SIZES, index_name, index_params
from recollect.adapters.postgres.vectors.spaces import to_active
from recollect.adapters.sql.spaces import ACTIVE_SPACE
from recollect.core.memory.memory import Scope
from recollect.core.recall.request import Candidate
from recollect.core.recall.space import Space, StoredSpace, Survey, unit_vector
from recollect.core.text.passages import Span
from recollect.ports.recall import VectorQuery

# A vector in the text format of pgvector.


def vector_text(space: Space, vector: Sequence[float]) -> str:
    """Return the text of a `halfvec`; raise ModelUnavailable if it is no vector of this space."""
    return _form(space.dimension) % tuple(unit_vector(space, vector))


@cache
def _form(dimension: int) -> str:
    return f"[{','.join(['%.6g'] * dimension)}]"


EF_MAX: Final = 1_000
"""The maximum of pgvector's `ef_search`; for more rows than that the search is exact."""

WALK_PER_ROW: Final = 2
"""Rows that an index scan collects per requested row, because it finds them only roughly in order.
"""

# For this transaction only, in one round trip. Pages are mostly in memory, so random reads cost
# little more than sequential ones; JIT compilation costs more than it saves.
_SETTINGS: Final[Mapping[LiteralString, str]] = {"jit": "off", "random_page_cost": "1.1"}
# The index returns rows in order, so forbid sorting. Not where vectors are compared: there the
# planner would read all memories in order rather than sort the nearest ones.
_WALK_SETTINGS: Final[Mapping[LiteralString, str]] = {
    **_SETTINGS,
    "enable_sort": "off",
    "hnsw.iterative_scan": "relaxed_order",
}

OVERFETCH: Final = 8
"""Rows per requested memory where there are long texts: several passages of one may be near. If
these
belong to too few memories, all passages are compared and grouped."""

# Whether there are passages, and how many memories there were when words were last counted.
_COUNTS: Final = f"""
select exists (
    select from embeddings e
    where e.owner = %(owner)s and e.passage > 0
        and e.space_id = (select s.id from spaces s where s.state = 'active')),
    (select f.ndoc from lexeme_stats f
    where f.owner = %(owner)s and f.lexeme = '{STORED_KEY}')
"""  # noqa: S608  # composed of constants

# OFFSET 0: the scope comes first, through its own index. Ordered by the score and not by the
# distance, for which the planner would use the vector index, whose order is only approximate. The
# columns for ranking are fetched for the nearest rows, not for every row compared.
_COMPARED: Final[LiteralString] = """
select m.id, c.score, m.importance, m.created_at, c.start_char, c.end_char
from (
    select e.memory_id, 1 - (e.vector::halfvec({dimension}) <=> {vector}) as score, e.start_char,
        e.end_char
    from (select m.id from memories m where {where} offset 0) m
    join embeddings e on e.owner = %(owner)s and e.memory_id = m.id and e.space_id = {space}
    where e.vector is not null
    order by score desc, e.memory_id, e.passage
    limit {most}
) c
join memories m on m.owner = %(owner)s and m.id = c.memory_id
"""
# If the scope is all of the owner's memories, only those outside their validity need to be looked
# up: forgotten or sensitive ones have no vector. That takes a third less time.
_ALL_COMPARED: Final[LiteralString] = """
select m.id, c.score, m.importance, m.created_at, c.start_char, c.end_char
from (
    select e.memory_id, 1 - (e.vector::halfvec({dimension}) <=> {vector}) as score, e.start_char,
        e.end_char
    from embeddings e
    where e.owner = %(owner)s and e.space_id = {space} and e.vector is not null
        and e.memory_id <> all(%(dense_exclude)s::uuid[]) and e.memory_id not in (
            select o.id from memories o where o.owner = %(owner)s
                and (o.valid_from > %(dense_at)s or o.valid_until <= %(dense_at)s))
    order by score desc, e.memory_id, e.passage
    limit {most}
) c
join memories m on m.owner = %(owner)s and m.id = c.memory_id
"""
# The same cast, owner and space as in the definition of the index, or it is not used.
_WALKED: Final[LiteralString] = """
select w.id, 1 - w.distance as score, w.importance, w.created_at, w.start_char, w.end_char
from (
    select m.id, e.vector::halfvec({dimension}) <=> {vector} as distance, m.importance,
        m.created_at, e.start_char, e.end_char
    from embeddings e join memories m on m.owner = e.owner and m.id = e.memory_id
    where e.owner = %(owner)s and e.space_id = {space} and e.vector is not null and {where}
    order by distance
    limit {most}
) w
"""
# An index scan returns its rows only roughly in order.
_FOUND: Final[LiteralString] = """
select n.id, n.score, n.importance, n.created_at, n.start_char, n.end_char, count(*) over () as met
from ({nearest}) n
order by n.score desc, n.id
limit {depth}
"""
# Each memory once, by its best passage.
_FOUND_ONCE: Final[LiteralString] = """
select b.id, b.score, b.importance, b.created_at, b.start_char, b.end_char, b.met
from (
    select distinct on (n.id) n.*, count(*) over () as met
    from ({nearest}) n
    order by n.id, n.score desc, n.start_char
) b
order by b.score desc, b.id
limit {depth}
"""


# A vector that must be recomputed has no tokens either.
_TOKENS: Final = """
select t.memory_id, t.block
from unnest(%(ids)s::uuid[], %(starts)s::integer[]) as p(id, start_char)
join token_vectors t on t.memory_id = p.id
join embeddings e using (owner, memory_id, space_id, passage)
where t.owner = %(owner)s and t.space_id = %(space)s and e.vector is not null
    and e.start_char is not distinct from p.start_char
"""


class VectorSearch(PostgresComponent):
    """Implements the ports `VectorIndex` and `TokenIndex`."""

    @retry_on_disconnect
    async def survey(self, owner: str, scope: Scope) -> Survey:
        condition, params = within(owner, scope)
        async with self._pool.reading(owner) as connection:
            # On a cluster, no other statement may follow an EXPLAIN in the same transaction.
            found, indexed, ((has_passages, stored),), plan = await execute_many(
                connection,
                {**params, **index_params(owner)},
                ACTIVE_SPACE,
                INDEX_SIZES,
                _COUNTS,
                scope_size(condition),
            )
        space, sizes, rows = to_active(found), dict(indexed), rows_of(plan)
        size = None if space is None else sizes.get(index_name(space.id, owner))
        if size is not None and scope.is_everywhere:
            # The planner may have no statistics of this owner and, on a cluster, none of the index.
            rows = max(rows, int(size), stored or 0)
        use_index = size is not None and rows > self._limits.exact_rows
        return Survey(space, use_index, has_passages=has_passages)

    @retry_on_disconnect
    async def nearest(self, owner: str, scope: Scope, query: VectorQuery) -> list[Candidate]:
        """Return the memories of a scope whose vectors are nearest, best first."""
        depth = query.depth
        if depth < 1:
            return []
        limits = self._limits
        condition, params = within(owner, scope, query.exclude)
        values = {
            **params,
            "dense_vector": vector_text(query.space.space, query.vector),
            "dense_depth": depth,
            "dense_exclude": list(query.exclude),
            "dense_at": scope.valid_at,
        }
        walking: dict[LiteralString, str] = {
            **_WALK_SETTINGS,
            "hnsw.ef_search": str(min(max(limits.ef_per_row * depth, limits.ef_min), EF_MAX)),
            "hnsw.max_scan_tuples": str(limits.max_scan),
        }
        per_memory = OVERFETCH if query.has_passages else 1
        compared = _ALL_COMPARED if scope.is_everywhere else _COMPARED
        async with self._pool.reading(owner) as connection:

            async def search(
                statement: LiteralString,
                most: int | None,
                settings: Mapping[LiteralString, str] = _SETTINGS,
            ) -> list[Any]:
                values["dense_walk"] = most
                return await _search(connection, statement, query, condition, values, settings)

            if depth <= EF_MAX and query.use_index:
                walk = WALK_PER_ROW * depth * per_memory
                rows = await search(_WALKED, walk, walking)
                if len(rows) == depth and rows[0][-1] == walk:
                    return _to_candidates(rows)
            most = depth * per_memory
            rows = await search(compared, most)
            if 0 < len(rows) < depth and rows[0][-1] == most:
                rows = await search(compared, None)
        return _to_candidates(rows)

    @retry_on_disconnect
    async def token_vectors(
        self, owner: str, space: StoredSpace, passages: Mapping[UUID, Span | None]
    ) -> dict[UUID, bytes]:
        starts = [None if span is None else span.start for span in passages.values()]
        values = {"owner": owner, "space": space.id, "ids": list(passages), "starts": starts}
        async with self._pool.reading(owner) as connection:
            (rows,) = await execute_many(connection, values, _TOKENS)
        return dict(rows)


async def compare_vectors(
    connection: Reading, query: VectorQuery, where: Condition, params: Mapping[str, object]
) -> list[Candidate]:
    """Return the best memories of a condition by their stored vectors, best first."""
    values = {
        **params,
        "dense_vector": vector_text(query.space.space, query.vector),
        "dense_depth": query.depth,
        "dense_walk": None,
    }
    return _to_candidates(await _search(connection, _COMPARED, query, where, values, _SETTINGS))


def _to_candidates(rows: Sequence[Any]) -> list[Candidate]:
    return [
        Candidate(
            id,
            score,
            importance,
            created_at,
            passage=None if start is None else Span(start, end),
        )
        for id, score, importance, created_at, start, end, _ in rows
    ]


async def _search(
    connection: Reading,
    statement: LiteralString,
    query: VectorQuery,
    where: Condition,
    values: Mapping[str, object],
    settings: Mapping[LiteralString, str],
) -> list[Any]:
    # Our own numbers: expressions of an index definition cannot be parameters.
    dimension = int(query.space.space.dimension)
    inner = statement.format(
        where=where,
        space=int(query.space.id),
        dimension=dimension,
        vector=f"%(dense_vector)s::halfvec({dimension})",
        most="%(dense_walk)s",
    )
    found = _FOUND_ONCE if query.has_passages else _FOUND
    statement = found.format(nearest=inner, depth="%(dense_depth)s")
    (rows,) = await execute_many(connection, values, statement, settings=settings)
    return rows
