"""The lexical leg on plain Postgres: words found by GIN, ranked by how rare they are.

`ts_rank` counts a common word like a rare one, and asking it of every row that holds any word grows
with the store. So recall takes two short trips: the frequencies of the query's words with the
planner's guess of how many rows the scope holds, and one statement made for exactly these words
(`lexical_plan` decides which rows it looks at). Made per query, its constants are folded once and
not once per row. No statement is prepared, so it works behind PgBouncer in transaction mode.
Times given below were taken on two cores under a load of 5 to 9: read them as ratios.

Needs, besides the table and its GIN index: `lexeme_stats (lexeme text primary key, ndoc integer)`
and an index on `memories (owner, length(search_vector))`, not partial, or its statistics go unused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, sql

from recollect.adapters.postgres.asking import ask
from recollect.adapters.postgres.lexical_plan import (
    LENGTH_CELLS,
    Arm,
    Lexeme,
    Plan,
    Statistics,
    all_of,
    any_of,
    bounded,
    plan,
)
from recollect.core.recall import Candidate
from recollect.core.recall_settings import LexicalRanking
from recollect.core.text import MAX_QUERY_CHARS

MAX_CANDIDATES: Final = 20_000
"""Rows one arm may bring when every estimate was wrong: a bound on time. Most seen: 11,144."""

MIN_SHARE_OF_BEST: Final = 0.05
"""The floor, as a share of the best score. It changed no figure on LoCoMo, SciFact and MuSiQue."""

MIN_TS_RANK: Final = 0.001
"""The floor of plain `ts_rank`. One word of content among 64 asked for scores 0.0095. Not tuned."""

STATISTICS_SAMPLE: Final = 100_000
"""Rows a rebuild reads at most: at 300k rows 2.8 s, not 8.6 s, and 98.4% of the same top tens."""

GROWTH: Final = 1.5
"""Frequencies from half the rows give the same top ten 99 times in 100 (findings, section 2)."""

PATIENCE: Final = "100ms"
"""How long frequencies may keep anybody waiting who only wants to write."""

_LOCK: Final = 0x5EC0_11EC
"""The advisory lock that a rebuild holds, so that two processes never rebuild at once."""

_TABLE: Final = sql.SQL("memories")

# Rows of lexeme_stats that are no words: the parser yields neither '' nor a word with a space.
_ROWS_KEY: Final = ""
_LENGTH_KEYS: Final = tuple(f" length {cell:02}" for cell in range(1, LENGTH_CELLS + 1))

# What the query's words are to the index, and how common each is. A word without a row was in no
# memory, or in one, when the frequencies were taken.
_FREQUENCIES: Final = sql.SQL("""
select w.lexeme, s.ndoc
from unnest(
    tsvector_to_array(to_tsvector('english', %(lexical_text)s)) || %(lexical_keys)s::text[]
) w(lexeme)
left join lexeme_stats s using (lexeme)
""")

# Compiling a search would take longer than running it.
_UNCOMPILED: Final = sql.SQL("select set_config('jit', 'off', true)")

# The planner's guess took 1.4 ms where counting up to 3,001 rows took 10.
_SCOPE: Final[LiteralString] = """
explain (format json) select 1 from memories m where {where}
"""

# A few thousand rows at most: read the scope through its own index and score whatever matches.
# OFFSET 0 keeps the planner from preferring the GIN index (findings: twice as slow).
_SCOPE_FIRST: Final[LiteralString] = """
select m.id, m.importance, m.created_at, m.search_vector
from (
    select m.id, m.importance, m.created_at, m.search_vector from {source} m where {where} offset 0
) m
where m.search_vector @@ {match}::tsquery
"""

# The LIMIT is a fence as well: without it the score would be computed before the scope is checked.
_ARM: Final[LiteralString] = """
(select m.id, m.importance, m.created_at, m.search_vector
from memories m
where {where} and m.search_vector @@ {match}::tsquery{bound}
limit {most})
"""

# The rows of a later arm are short ones (by an index on the length) that no earlier arm brought.
_SHORT: Final[LiteralString] = " and length(m.search_vector) <= {length}"
_NOT_BEFORE: Final[LiteralString] = " and not m.search_vector @@ {match}::tsquery"

# ts_rank of one word saturates with its count (0.61, 0.76, 0.83 … 1), so the sum is a BM25 with
# these weights. Division by the fourth root of the length (all words, positions counted: rank
# over rank-by-length) had a mean nDCG@10 of 62.7 over seven sets, ts_rank's own logarithm 62.3;
# best of some 40 forms tried on these same sets, so part of that is luck.
_BY_IDF: Final[LiteralString] = """
select c.id,
    ({score}) / sqrt(sqrt(
        ts_rank(c.search_vector, {any_word}::tsquery)
        / ts_rank(c.search_vector, {any_word}::tsquery, 2))) as score,
    c.importance, c.created_at
from ({candidates}) c
order by score desc, c.id
limit {depth}
"""
_WORD_SCORE: Final[LiteralString] = """
{weight}::float8 * ts_rank(c.search_vector, {word}::tsquery)"""

# Plain ts_rank, kept to compare with. Rows with every word are first (1 is above any rank), rows
# with any word fill up. Unbounded: its cost grows with the rows that hold any word. No length
# normalisation, as in the findings; flag 1 is a far stronger baseline on long turns (LongMemEval
# R@10 55.8 against 36.0) and a weaker one on LoCoMo (54.7 against 58.2, first 470 queries).
_BY_TS_RANK: Final[LiteralString] = """
select r.id, r.score, r.importance, r.created_at
from (
    select m.id, m.importance, m.created_at,
        case when m.search_vector @@ %(lexical_all)s::tsquery
            then 1 + ts_rank(m.search_vector, %(lexical_all)s::tsquery)
            else ts_rank(m.search_vector, %(lexical_any)s::tsquery) end::float8 as score
    from {source} m
    where {where} and m.search_vector @@ %(lexical_any)s::tsquery
    order by score desc, m.id
    limit %(lexical_depth)s
) r
where r.score >= %(lexical_floor)s
order by r.score desc, r.id
"""

# The size as the server keeps it: 0.5 ms where counting 300k rows took 241.
_GROWN: Final[LiteralString] = """
select greatest(c.reltuples, pg_stat_get_live_tuples(c.oid))
    > %(growth)s * coalesce((select ndoc from lexeme_stats where lexeme = ''), 0)
from pg_class c where c.oid = 'memories'::regclass
"""

# A write may be waiting for the rebuild, so the rebuild waits for nobody who holds the table.
_TRY_LOCK: Final[LiteralString] = """
select pg_try_advisory_xact_lock(%(lock)s), set_config('lock_timeout', %(patience)s, true)
"""

_SIZE: Final[LiteralString] = """
select count(*) from memories where deleted_at is null
"""

# Whole pages at random, the same ones each time it is read: it reads only what it counts.
_SAMPLE: Final[LiteralString] = """
select search_vector from memories tablesample system ({percent}) repeatable (1)
where deleted_at is null
"""

# A word in one memory alone is not kept: a word without a row counts as 1 anyway, the table is
# half as long, and a word that only an erased memory held is nowhere else. ts_stat takes text.
# Readers see the old frequencies until the commit; nobody waits.
_REBUILD: Final[LiteralString] = """
with sampled as materialized (
    select count(*)::float8 as rows,
        percentile_disc(%(cells)s::float8[]) within group (order by length(s.v)) as lengths
    from ({sample}) s(v)
), fresh as materialized (
    select t.word as lexeme, least(t.ndoc / sampled.rows * %(rows)s, %(rows)s)::integer as ndoc
    from ts_stat({sample_text}) t, sampled where t.ndoc > 1
    union all
    select %(rows_key)s, %(rows)s
    union all
    select k.lexeme, k.length
    from sampled, unnest(%(length_keys)s::text[], sampled.lengths) k(lexeme, length)
    where k.length is not null
), gone as (
    delete from lexeme_stats s where not exists (select from fresh f where f.lexeme = s.lexeme)
)
insert into lexeme_stats (lexeme, ndoc) select lexeme, ndoc from fresh
on conflict (lexeme) do update set ndoc = excluded.ndoc where lexeme_stats.ndoc <> excluded.ndoc
"""


async def search(
    conn: AsyncConnection[Any],
    query: str,
    *,
    where: sql.Composable,
    params: Mapping[str, object],
    depth: int,
    ranking: LexicalRanking,
    source: sql.Composable | None = None,
) -> list[Candidate]:
    """The `depth` best memories for any text, best first.

    `where` is a condition on alias `m` with its `params`; names that begin with `lexical_` are
    taken. No text raises; a text of stop words alone finds nothing. `source` is read through
    instead of the table, whose indexes it does not have.
    """
    lexemes, statistics, rows = await _known(conn, query, where, params)
    if not lexemes or depth < 1:
        return []
    if ranking == "ts_rank":
        return await _by_ts_rank(conn, lexemes, where, params, depth, source or _TABLE)
    # The yardstick: a scope of no size is read whole, and whatever matches is scored.
    whole = ranking == "idf_exhaustive" or source is not None
    planned = plan(lexemes, statistics, 0 if whole else rows)
    return await _by_idf(conn, planned, where, params, depth, source or _TABLE)


async def statistics_due(conn: AsyncConnection[Any]) -> bool:
    """Whether the store has grown by half since the frequencies were taken."""
    (grown,) = await ask(conn, {"growth": GROWTH}, sql.SQL(_GROWN))
    return bool(grown and grown[0][0])


async def refresh_statistics(conn: AsyncConnection[Any]) -> bool:
    """Take the frequencies anew; False when another process is at it.

    Fails with the driver's LockNotAvailable when somebody holds the table for long.
    """
    async with conn.transaction():
        lock = {"lock": _LOCK, "patience": PATIENCE}
        (locked,) = await ask(conn, lock, sql.SQL(_TRY_LOCK))
        if not locked[0][0]:
            return False
        ((size,),) = await ask(conn, {}, sql.SQL(_SIZE))
        (rows,) = size
        percent = min(100.0, 100.0 * STATISTICS_SAMPLE / max(rows, 1))
        sample = sql.SQL(_SAMPLE).format(percent=sql.Literal(percent))
        statement = sql.SQL(_REBUILD).format(
            sample=sample, sample_text=sql.Literal(sample.as_string(conn))
        )
        values = {
            "rows": rows,
            "rows_key": _ROWS_KEY,
            "length_keys": list(_LENGTH_KEYS),
            "cells": [cell / LENGTH_CELLS for cell in range(1, LENGTH_CELLS + 1)],
        }
        async with conn.cursor() as cursor:
            await cursor.execute(statement, values, prepare=False)
    return True


async def _known(
    conn: AsyncConnection[Any], query: str, where: sql.Composable, params: Mapping[str, object]
) -> tuple[list[Lexeme], Statistics, int]:
    """The query's words, what is known of the store's, and about how many rows the scope holds."""
    # 13,000 characters cost 11 ms to parse and 105 ms to search.
    text = query[:MAX_QUERY_CHARS].replace("\0", " ").encode("utf-8", "ignore").decode()
    values = {**params, "lexical_text": text, "lexical_keys": [_ROWS_KEY, *_LENGTH_KEYS]}
    frequencies, explained = await ask(conn, values, _FREQUENCIES, scope_size(where))
    found = dict(frequencies)
    rows = found.pop(_ROWS_KEY) or 0
    lengths = [found.pop(key) for key in _LENGTH_KEYS]
    lexemes = [Lexeme(text, frequency or 0) for text, frequency in found.items()]
    statistics = Statistics(rows, [length for length in lengths if length is not None])
    return lexemes, statistics, rows_of(explained)


def scope_size(where: sql.Composable) -> sql.Composed:
    """The statement that asks how many memories a scope holds, about; `rows_of` its answer."""
    return sql.SQL(_SCOPE).format(where=where)


def rows_of(explained: Sequence[Any]) -> int:
    return int(explained[0][0][0]["Plan"]["Plan Rows"])


async def _by_idf(
    conn: AsyncConnection[Any],
    planned: Plan,
    where: sql.Composable,
    params: Mapping[str, object],
    depth: int,
    source: sql.Composable,
) -> list[Candidate]:
    values: dict[str, object] = dict(params)

    def bind(value: object) -> sql.Placeholder:
        name = f"lexical_{len(values)}"
        values[name] = value
        return sql.Placeholder(name)

    score = sql.SQL(" + ").join(
        sql.SQL(_WORD_SCORE).format(weight=bind(weight), word=bind(any_of([word])))
        for word, weight in zip(planned.lexemes, planned.weights, strict=True)
    )
    if planned.scope_first:
        candidates: sql.Composable = sql.SQL(_SCOPE_FIRST).format(
            source=source, where=where, match=bind(planned.any_word)
        )
    else:
        arms = [
            sql.SQL(_ARM).format(
                where=where,
                match=bind(arm.match),
                bound=_bound(arm, planned.arms[:place], bind),
                most=bind(MAX_CANDIDATES),
            )
            for place, arm in enumerate(planned.arms)
        ]
        candidates = sql.SQL(" union all ").join(arms)
    statement = sql.SQL(_BY_IDF).format(
        score=score, any_word=bind(planned.any_word), candidates=candidates, depth=bind(depth)
    )
    _, rows = await ask(conn, values, _UNCOMPILED, statement)
    found = [Candidate._make(row) for row in rows]
    return [one for one in found if one.score >= MIN_SHARE_OF_BEST * found[0].score]


def _bound(
    arm: Arm, earlier: Sequence[Arm], bind: Callable[[object], sql.Placeholder]
) -> sql.Composable:
    bounds: list[sql.Composable] = [
        sql.SQL(_NOT_BEFORE).format(match=bind(each.match)) for each in earlier
    ]
    if arm.max_length is not None:
        bounds.append(sql.SQL(_SHORT).format(length=bind(arm.max_length)))
    return sql.Composed(bounds)


async def _by_ts_rank(
    conn: AsyncConnection[Any],
    lexemes: Sequence[Lexeme],
    where: sql.Composable,
    params: Mapping[str, object],
    depth: int,
    source: sql.Composable,
) -> list[Candidate]:
    words = [each.text for each in bounded(lexemes)]
    values = {
        **params,
        "lexical_all": all_of(words),
        "lexical_any": any_of(words),
        "lexical_depth": depth,
        "lexical_floor": MIN_TS_RANK,
    }
    statement = sql.SQL(_BY_TS_RANK).format(source=source, where=where)
    _, rows = await ask(conn, values, _UNCOMPILED, statement)
    return [Candidate._make(row) for row in rows]
