"""The lexical leg on plain Postgres: words found by GIN, ranked by how rare they are.

`ts_rank` counts a common word like a rare one, and asking it of every row that holds any word grows
with the store. So recall takes two short trips: the frequencies of the query's words with the
planner's guess of how many rows the scope holds, and one statement made for exactly these words
(`lexical_plan` decides which rows it looks at). Made per query, its constants are folded once and
not once per row. No statement is prepared, so it works behind PgBouncer in transaction mode.
Times given below were taken on two cores under a load of 5 to 9: read them as ratios.

Needs, besides the table and its GIN index: the frequencies that `lexeme_stats` takes, and an index
on `memories (owner, length(search_vector))`, not partial, or its statistics go unused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from recollect.adapters.postgres.lexical.plan import (
    SMALL_SCOPE,
    Arm,
    Lexeme,
    Plan,
    Statistics,
    all_of,
    any_of,
    plan,
)
from recollect.adapters.postgres.lexical.statistics import (
    FREQUENCIES,
    LIVE_FREQUENCIES,
    known_of,
    words_asked,
)
from recollect.adapters.postgres.pipeline import Session, execute_many
from recollect.adapters.postgres.rows import Condition
from recollect.core.recall.request import Candidate

MAX_CANDIDATES: Final = 20_000
"""Rows one arm may bring when every estimate was wrong: a bound on time. Most seen: 11,144."""

MIN_SHARE_OF_BEST: Final = 0.05
"""The floor, as a share of the best score. It changed no figure on LoCoMo, SciFact and MuSiQue."""

_TABLE: Final = "memories"

# Blanks are no words, so these are in no text.
_ABSENT: Final = all_of([" ", "  "])

# Compiling a search would take longer than running it.
_UNCOMPILED: Final[Mapping[LiteralString, str]] = {"jit": "off"}

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
from own_memories m
where {where} and m.search_vector @@ {match}::tsquery{bound}
limit {most})
"""

# The rows of a later arm are short ones (by an index on the length) that no earlier arm brought.
_SHORT: Final[LiteralString] = " and length(m.search_vector) <= {length}"
_NOT_BEFORE: Final[LiteralString] = " and not m.search_vector @@ {match}::tsquery"

# ts_rank of one word saturates with its count (0.61, 0.76, 0.83 … 1), so the sum is a BM25 with
# these weights. Division by the fourth root of the length (all words, positions counted) had a
# mean nDCG@10 of 62.7 over seven sets, ts_rank's own logarithm 62.3; best of some 40 forms tried on
# these same sets, so part of that is luck. Only ts_rank knows that length, and divides by it. Of
# two words that a text does not hold it says the same small number, whatever the text: that number,
# over itself divided by the length, is the length, and costs no more than looking for two words.
# Of the best, and only of them: the weight of the words that the row holds, over the weight of all
# that are asked.
_BY_IDF: Final[LiteralString] = """
select b.id, b.score, b.importance, b.created_at, least(({held}) / {ceiling}::float8, 1)
from (
    select c.id,
        ({score}) / sqrt(sqrt(
            ts_rank('one:1', {absent}::tsquery) / ts_rank(c.search_vector, {absent}::tsquery, 2)
        )) as score,
        c.importance, c.created_at, c.search_vector
    from ({candidates}) c
    order by score desc, c.id
    limit {depth}
) b
order by b.score desc, b.id
"""
_WORD_SCORE: Final[LiteralString] = """
{weight}::float8 * ts_rank(c.search_vector, {word}::tsquery)"""
_WORD_HELD: Final[LiteralString] = """
case when b.search_vector @@ {word}::tsquery then {weight}::float8 else 0 end"""


@dataclass(frozen=True, slots=True)
class LexicalSearch:
    """Which memories are searched, and how many are returned.

    `where` is a condition on alias `m` with its `params`, among them the `owner`; names that begin
    with `lexical_` are reserved. `source` is read instead of the table, without its indexes.
    """

    where: Condition
    params: Mapping[str, object]
    depth: int
    is_exhaustive: bool = False
    source: LiteralString = _TABLE
    small_scope: int = SMALL_SCOPE

    @property
    def reads_whole_scope(self) -> bool:
        return self.is_exhaustive or self.source != _TABLE


async def search(
    conn: Session, query: str, wanted: LexicalSearch, expanded: str = ""
) -> list[Candidate]:
    """The `depth` best memories for any text, best first. No text raises; a text of stop words
    alone finds nothing. Words of `expanded` find memories too, but are not what is asked.
    """
    lexemes, statistics, rows = await _known(conn, words_asked(query, expanded), wanted)
    if not lexemes or wanted.depth < 1:
        return []
    # A scope of no size is read whole, and whatever matches is scored.
    scope_rows = 0 if wanted.reads_whole_scope else rows
    planned = plan(lexemes, statistics, scope_rows, wanted.small_scope)
    return await _by_idf(conn, planned, wanted)


async def _known(
    conn: Session, asked: Mapping[str, object], wanted: LexicalSearch
) -> tuple[list[Lexeme], Statistics, int]:
    """The query's words, what is known of the owner's, and about how many rows the scope holds."""
    values = {**wanted.params, **asked}
    statements = (FREQUENCIES, LIVE_FREQUENCIES, scope_size(wanted.where))
    frequencies, live, explained = await execute_many(conn, values, *statements)
    return *known_of(frequencies, live), rows_of(explained)


def scope_size(where: Condition) -> LiteralString:
    """The statement that asks how many memories a scope holds, about; `rows_of` its answer."""
    return _SCOPE.format(where=where)


def rows_of(explained: Sequence[Any]) -> int:
    plan = explained[0][0][0]["Plan"]
    if "Distributed Query" in plan:  # by Citus: the node that has the owner's rows knows
        (task,) = plan["Distributed Query"]["Job"]["Tasks"]
        plan = task["Remote Plan"][0][0]["Plan"]
    return int(plan["Plan Rows"])


async def _by_idf(conn: Session, planned: Plan, wanted: LexicalSearch) -> list[Candidate]:
    values: dict[str, object] = dict(wanted.params)

    def bind(value: object) -> LiteralString:
        name = f"lexical_{len(values)}"
        values[name] = value
        return f"%({name})s"

    words = [
        {"weight": bind(weight), "word": bind(any_of([word]))}
        for word, weight in zip(planned.lexemes, planned.weights, strict=True)
    ]
    score = " + ".join(_WORD_SCORE.format(**word) for word in words)
    held = " + ".join(_WORD_HELD.format(**word) for word in words)
    if planned.scope_first:
        candidates = _SCOPE_FIRST.format(
            source=wanted.source, where=wanted.where, match=bind(planned.any_word)
        )
    else:
        candidates = " union all ".join(
            _ARM.format(
                where=wanted.where,
                match=bind(arm.match),
                bound=_bound(arm, planned.arms[:place], bind),
                most=bind(MAX_CANDIDATES),
            )
            for place, arm in enumerate(planned.arms)
        )
    statement = _BY_IDF.format(
        score=score,
        held=held,
        ceiling=bind(planned.ceiling),
        absent=bind(_ABSENT),
        candidates=candidates,
        depth=bind(wanted.depth),
    )
    (rows,) = await execute_many(conn, values, statement, settings=_UNCOMPILED)
    found = [Candidate(*row) for row in rows]
    return [
        candidate for candidate in found if candidate.score >= MIN_SHARE_OF_BEST * found[0].score
    ]


def _bound(
    arm: Arm, earlier: Sequence[Arm], bind: Callable[[object], LiteralString]
) -> LiteralString:
    bounds = [_NOT_BEFORE.format(match=bind(each.match)) for each in earlier]
    if arm.max_length is not None:
        bounds.append(_SHORT.format(length=bind(arm.max_length)))
    return "".join(bounds)
