"""The dense leg on pgvector: owner and scope decide how the nearest vectors are found.

Only owners with many vectors have an HNSW index (`hnsw.py`); the vectors of other owners are
compared one by one. An index scan approaches the query without regard to scopes: rows outside the
scope are discarded, so in a small scope it visits many rows and still misses some. There every
vector of the scope is compared instead. In a large scope the scan continues until enough rows are
found; if it gives up earlier, all vectors are compared after all, so no row is missing. See
docs/adr/0009 and 0041 for the measurements.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
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
from recollect.core.recall.background import GAIN
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
"""Rows of an index per requested memory where there are long texts: several passages of one may be
near. If these belong to too few memories, all passages are compared."""

# Whether there are passages, and how many memories there were when words were last counted.
_COUNTS: Final = f"""
select exists (
    select from embeddings e
    where e.owner = %(owner)s and e.passage > 0
        and e.space_id = (select s.id from spaces s where s.state = 'active')),
    (select f.ndoc from lexeme_stats f
    where f.owner = %(owner)s and f.lexeme = '{STORED_KEY}')
"""  # noqa: S608  # composed of constants

# OFFSET 0: the scope comes first, through its own index.
_IN_SCOPE: Final[LiteralString] = """
select e.memory_id, 1 - (e.vector::halfvec({dimension}) <=> {vector}) as score, e.start_char,
    e.end_char
from (select m.id from memories m where {where} offset 0) m
join embeddings e on e.owner = %(owner)s and e.memory_id = m.id and e.space_id = {space}
where e.vector is not null
"""
# If the scope is all of the owner's memories, only those outside their validity need to be looked
# up: forgotten or sensitive ones have no vector. That takes a third less time.
_EVERYWHERE: Final[LiteralString] = """
select e.memory_id, 1 - (e.vector::halfvec({dimension}) <=> {vector}) as score, e.start_char,
    e.end_char
from embeddings e
where e.owner = %(owner)s and e.space_id = {space} and e.vector is not null
    and e.memory_id <> all(%(dense_exclude)s::uuid[]) and e.memory_id not in (
        select o.id from memories o where o.owner = %(owner)s
            and (o.valid_from > %(dense_at)s or o.valid_until <= %(dense_at)s))
"""
# A text of one passage.
_WHOLE: Final[LiteralString] = "and e.passage = 0 and e.start_char is null"
# Ordered by the score and not by the distance, for which the planner would use the vector index,
# whose order is only approximate. The columns for ranking are fetched for the nearest rows, not for
# every row compared.
_COMPARED: Final[LiteralString] = """
select m.id, c.score, m.importance, m.created_at, c.start_char, c.end_char
from ({rows} order by score desc, e.memory_id limit %(dense_depth)s) c
join memories m on m.owner = %(owner)s and m.id = c.memory_id
order by c.score desc, m.id
"""
# `gain_by_chance` of so many passages; with 1 it is 0.
_BY_CHANCE: Final[LiteralString] = "%(dense_chance)s * sqrt(ln(passages))"
# Each memory once, by its best passage: of equally near ones the first. Arrays are compared number
# by number.
_COMPARED_ONCE: Final[LiteralString] = """
select m.id, c.score, m.importance, m.created_at, -c.best[2]::integer, c.best[3]::integer
from (
    select g.memory_id, g.best, g.best[1] - {by_chance} as score
    from (
        select v.memory_id, max(array[v.score, -v.start_char, v.end_char]) as best,
            count(*) as passages
        from ({rows}) v group by v.memory_id
    ) g
    order by score desc, g.memory_id
    limit %(dense_depth)s
) c
join memories m on m.owner = %(owner)s and m.id = c.memory_id
order by c.score desc, m.id
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
    limit %(dense_walk)s
) w
"""
# An index scan returns its rows only roughly in order. `met` rows were compared, the least near
# of them with the score `least`.
_FOUND: Final[LiteralString] = """
select n.id, n.score, n.importance, n.created_at, n.start_char, n.end_char, count(*) over () as met,
    min(n.score) over () as least
from ({rows}) n
order by n.score desc, n.id
limit %(dense_depth)s
"""
# Each memory once, by its best passage. Passages are numbered from 0, so the last number says how
# many there are.
_FOUND_ONCE: Final[LiteralString] = """
select c.id, c.score - {by_chance} as score, c.importance, c.created_at, c.start_char, c.end_char,
    c.met, c.least
from (
    select b.*, case when b.start_char is null then 1 else (
        select max(e.passage) + 1 from embeddings e
        where e.owner = %(owner)s and e.memory_id = b.id and e.space_id = {space}
    ) end as passages
    from (
        select distinct on (n.id) n.*, count(*) over () as met, min(n.score) over () as least
        from ({rows}) n
        order by n.id, n.score desc, n.start_char
    ) b
) c
order by score desc, c.id
limit %(dense_depth)s
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
        values = {**params, **index_params(owner)}
        async with self._pool.reading(owner) as connection:
            found, indexed, ((has_passages, stored),) = await execute_many(
                connection, values, ACTIVE_SPACE, INDEX_SIZES, _COUNTS
            )
            space, sizes = to_active(found), dict(indexed)
            size = None if space is None else sizes.get(index_name(space.id, owner))
            rows = 0
            if size is not None:
                (plan,) = await execute_many(connection, values, scope_size(condition))
                rows = rows_of(plan)
                if scope.is_everywhere:
                    # The planner may have no statistics of this owner and, on a cluster, none of
                    # the index.
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
            **_values(query),
            "dense_exclude": list(query.exclude),
            "dense_at": scope.valid_at,
        }
        walking: dict[LiteralString, str] = {
            **_WALK_SETTINGS,
            "hnsw.ef_search": str(min(max(limits.ef_per_row * depth, limits.ef_min), EF_MAX)),
            "hnsw.max_scan_tuples": str(limits.max_scan),
        }
        every = _EVERYWHERE if scope.is_everywhere else _IN_SCOPE
        async with self._pool.reading(owner) as connection:
            if depth > EF_MAX or not query.use_index:
                return await _compare(connection, query, every, condition, values)
            walk = WALK_PER_ROW * depth * (OVERFETCH if query.has_passages else 1)
            statement = _FOUND_ONCE if query.has_passages else _FOUND
            rows = await _search(
                connection,
                statement,
                _WALKED,
                query,
                condition,
                {**values, "dense_walk": walk},
                walking,
            )
            if len(rows) < depth or rows[0][-2] < walk:
                return await _compare(connection, query, every, condition, values)
            found = _to_candidates(rows)
            if found[-1].score >= rows[0][-1]:
                return found
            # A text of one passage that the walk did not reach may be among the best, since it has
            # gained nothing by chance.
            whole = replace(query, has_passages=False)
            missed = await _compare(connection, whole, every + _WHOLE, condition, values)
            return merge(found, missed)[:depth]

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
    return await _compare(connection, query, _IN_SCOPE, where, {**params, **_values(query)})


def merge(one: Iterable[Candidate], other: Iterable[Candidate]) -> list[Candidate]:
    """Return the memories of both answers to a query, best first."""
    found = {candidate.id: candidate for candidate in (*one, *other)}
    return sorted(found.values(), key=lambda candidate: (-candidate.score, candidate.id))


async def _compare(
    connection: Reading,
    query: VectorQuery,
    rows: LiteralString,
    where: Condition,
    values: Mapping[str, object],
) -> list[Candidate]:
    statement = _COMPARED_ONCE if query.has_passages else _COMPARED
    found = await _search(connection, statement, rows, query, where, values, _SETTINGS)
    return _to_candidates(found)


def _values(query: VectorQuery) -> dict[str, object]:
    return {
        "dense_vector": vector_text(query.space.space, query.vector),
        "dense_depth": query.depth,
        "dense_chance": query.spread * GAIN,
    }


def _to_candidates(rows: Sequence[Any]) -> list[Candidate]:
    return [
        Candidate(
            id,
            score,
            importance,
            created_at,
            passage=None if start is None else Span(start, end),
        )
        for id, score, importance, created_at, start, end, *_ in rows
    ]


async def _search(
    connection: Reading,
    statement: LiteralString,
    rows: LiteralString,
    query: VectorQuery,
    where: Condition,
    values: Mapping[str, object],
    settings: Mapping[LiteralString, str],
) -> list[Any]:
    # Our own numbers: expressions of an index definition cannot be parameters.
    space, dimension = int(query.space.id), int(query.space.space.dimension)
    statement = statement.format(
        rows=rows.format(
            where=where,
            space=space,
            dimension=dimension,
            vector=f"%(dense_vector)s::halfvec({dimension})",
        ),
        by_chance=_BY_CHANCE,
        space=space,
    )
    (found,) = await execute_many(connection, values, statement, settings=settings)
    return found
