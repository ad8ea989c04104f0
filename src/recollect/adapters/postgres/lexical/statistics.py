"""How common each word is among an owner's memories.

For an owner with few memories the words are counted with each query. For others the frequencies are
computed now and then, and stored in `lexeme_stats (owner, lexeme, ndoc)` with the number of
memories and their lengths; `postgres/statistics.py` decides when. Scores reveal them, so nothing is
shared between owners (docs/adr/0039). Sensitive memories are not included in what is stored: they
are counted with each query.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, LiteralString

from psycopg import AsyncConnection, sql
from psycopg.rows import tuple_row

from recollect.adapters.postgres.lexical.plan import LENGTH_CELLS, Statistics
from recollect.adapters.postgres.pipeline import execute_many, set_local
from recollect.core.recall.relevance import MIN_ROWS

STATISTICS_SAMPLE: Final = 100_000
"""Rows a rebuild reads at most: at 300k rows 2.8 s, not 8.6 s, and 98.4% of the same top tens."""

GROWTH: Final = 1.5
"""Frequencies from half the rows give the same top ten 99 times in 100 (findings, section 2)."""

LOCK_TIMEOUT: Final = "100ms"
"""How long a rebuild of the frequencies may delay a write."""

REBUILD_LOCK: Final = 0x5EC0_11EC
"""The advisory lock that a rebuild holds, with the owner, so that no two rebuild at once."""

# Rows of lexeme_stats that are not words: no term is empty or contains a space.
_ROWS_KEY: Final = ""
STORED_KEY: Final = " stored"
"""The number of memories, including sensitive ones: only used to measure growth, not to score."""
_LENGTH_KEYS: Final = tuple(f" length {cell:02}" for cell in range(1, LENGTH_CELLS + 1))

# How common each lexeme of the query is. One without a row was in at most one memory when the
# frequencies were computed.
FREQUENCIES: Final = f"""
select w.lexeme, s.ndoc
from unnest(
    %(lexical_lexemes)s::text[]
    || array[{", ".join(f"'{key}'" for key in (_ROWS_KEY, *_LENGTH_KEYS))}]
) w(lexeme)
left join lexeme_stats s on s.owner = %(owner)s and s.lexeme = w.lexeme
"""  # noqa: S608  # composed of constants

LIVE_SAMPLE: Final = 1_000
"""The most memories of an owner in which a query counts words, and the most sensitive ones. R@10
with all memories sensitive, compared with none: 59.3 and 59.3 (360 memories), 90.5 and 90.0 (994),
59.7
and 60.4 (5,000, of which 2,000 were counted)."""

# How many memories are counted live (''), and how many of them contain each word: the sensitive
# ones and, for an owner without frequencies, all others.
LIVE_FREQUENCIES: Final = rf"""
with own as materialized (
    (select m.search_vector as words from memories m
    where m.owner = %(owner)s and m.is_sensitive and m.deleted_at is null limit {LIVE_SAMPLE})
    union all
    (select m.search_vector from memories m
    where m.owner = %(owner)s and not m.is_sensitive and m.deleted_at is null
        and not exists (
            select from lexeme_stats s where s.owner = %(owner)s and s.lexeme = '{_ROWS_KEY}')
    limit {LIVE_SAMPLE})
), asked as materialized (
    select w.lexeme,
        ('''' || replace(replace(w.lexeme, '\', '\\'), '''', '''''') || '''')::tsquery as query
    from unnest(%(lexical_lexemes)s::text[]) w(lexeme)
)
select '{_ROWS_KEY}', count(*) from own
union all
select asked.lexeme, count(*) from own join asked on own.words @@ asked.query group by 1
"""  # noqa: S608  # composed of constants

# From the owner's row, so that on a cluster the lock is on the node where the trigger takes it.
_TRY_LOCK: Final[LiteralString] = """
select pg_try_advisory_xact_lock(%(lock)s, hashtext(owner)) from owners where owner = %(owner)s
"""

_SIZE: Final[LiteralString] = """
select count(*) filter (where not is_sensitive), count(*) from memories
where owner = %(owner)s and deleted_at is null
"""

# Selects the same memories each time.
_SAMPLE: Final[LiteralString] = """
select search_vector from memories
where owner = {owner} and deleted_at is null and not is_sensitive
    and hashtext(id::text) & 1023 < {share}
"""

_LENGTHS: Final[LiteralString] = """
select count(*), percentile_disc(%(cells)s::float8[]) within group (order by length(s.v))
from ({sample}) s(v)
"""

# Readers see the old frequencies until the commit, without waiting. Almost all of them change.
_FORGET: Final[LiteralString] = "delete from lexeme_stats where owner = %(owner)s"

# A word of a single memory is not stored: a word without a row counts as 1 anyway, the table is
# half as long, and a word that was only in an erased memory leaves no trace. ts_stat takes text,
# and on a cluster only a statement that reads no table may call it.
_STORE: Final[LiteralString] = """
insert into lexeme_stats (owner, lexeme, ndoc)
select %(owner)s, f.lexeme, f.ndoc from (
    select t.word as lexeme,
        least(t.ndoc / %(sampled)s::float8 * %(rows)s, %(rows)s)::integer as ndoc
    from ts_stat({sample_text}) t where t.ndoc > 1
    union all
    select k.lexeme, k.ndoc from unnest(%(keys)s::text[], %(values)s::integer[]) k(lexeme, ndoc)
) f
on conflict (owner, lexeme) do nothing
"""


def join_frequencies(
    frequencies: Iterable[tuple[str, int | None]], live: Iterable[tuple[str, int]]
) -> tuple[dict[str, int], Statistics]:
    """Combine the results of `FREQUENCIES` and `LIVE_FREQUENCIES`: how many memories contain each
    lexeme of the query, and the owner's statistics.
    """
    found = dict(frequencies)
    counted = dict(live)
    rows = max((found.pop(_ROWS_KEY) or 0) + counted[_ROWS_KEY], MIN_ROWS)
    lengths = [found.pop(key) for key in _LENGTH_KEYS]
    holding = {text: (kept or 0) + counted.get(text, 0) for text, kept in found.items()}
    return holding, Statistics(rows, [length for length in lengths if length is not None])


async def refresh_statistics(conn: AsyncConnection[Any], owner: str) -> bool:
    """Recompute an owner's frequencies. Returns False if another process is doing it.

    Raises the driver's LockNotAvailable if the table stays locked.
    """
    async with conn.transaction():
        # A write may be waiting for the rebuild, so the rebuild must not wait for locks on the
        # table.
        await set_local(conn, {"lock_timeout": LOCK_TIMEOUT})
        lock = {"lock": REBUILD_LOCK, "owner": owner}
        (locked,) = await execute_many(conn, lock, _TRY_LOCK)
        if not locked or not locked[0][0]:
            return False
        ((size,),) = await execute_many(conn, {"owner": owner}, _SIZE)
        rows, stored = size
        share = min(1024, 1 + 1024 * STATISTICS_SAMPLE // max(rows, 1))
        sample = sql.SQL(_SAMPLE).format(owner=sql.Literal(owner), share=sql.Literal(share))
        async with conn.cursor(row_factory=tuple_row) as cursor:
            cells = [cell / LENGTH_CELLS for cell in range(1, LENGTH_CELLS + 1)]
            measure = sql.SQL(_LENGTHS).format(sample=sample)
            await cursor.execute(measure, {"cells": cells}, prepare=False)
            sampled, lengths = await cursor.fetchone() or (0, None)
            found = {
                _ROWS_KEY: rows,
                STORED_KEY: stored,
                **dict(zip(_LENGTH_KEYS, lengths or (), strict=False)),
            }
            await cursor.execute(_FORGET, {"owner": owner}, prepare=False)
            store = sql.SQL(_STORE).format(sample_text=sql.Literal(sample.as_string(conn)))
            values = {
                "owner": owner,
                "rows": rows,
                "sampled": max(sampled, 1),
                "keys": [*found],
                "values": [*found.values()],
            }
            await cursor.execute(store, values, prepare=False)
    return True
