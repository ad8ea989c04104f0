"""The lexical leg on plain Postgres: words found by GIN, ranked by their rarity.

`ts_rank` weighs a common word like a rare one, and computing it for every row with any word grows
with the store. So recall needs three short round trips: the languages of the memories, the
frequencies of the query's words with the planner's estimate of the rows in the scope, and one
statement for exactly these words (`plan.py` decides which rows it reads). Since the statement is
built per query, its constants are folded once and not once per row. No statement is prepared, so it
works behind PgBouncer in transaction mode. Times below were measured on two cores under a load of 5
to 9: read them as ratios.

Besides the table and its GIN index it needs the frequencies in `lexeme_stats`, and an index on
`memories (owner, length(search_vector))`, which must not be partial, or its statistics are not
used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from recollect.adapters.postgres.lexical.plan import (
    SMALL_SCOPE,
    Arm,
    Plan,
    Statistics,
    Word,
    plan,
)
from recollect.adapters.postgres.lexical.statistics import (
    FREQUENCIES,
    LIVE_FREQUENCIES,
    join_frequencies,
)
from recollect.adapters.postgres.pipeline import DistributedReading, Session, execute_many
from recollect.adapters.postgres.rows import Condition
from recollect.adapters.postgres.search_vector import quote
from recollect.core.recall.request import Candidate
from recollect.core.text.terms import query_forms
from recollect.usecases.tasks import analyze_text

MAX_CANDIDATES: Final = 20_000
"""Rows one arm may return if every estimate is wrong: a limit on time. Most seen: 11,144."""

MIN_SHARE_OF_BEST: Final = 0.05
"""The floor, as a share of the best score. It changed no result on LoCoMo, SciFact or MuSiQue."""

_TABLE: Final = "memories"

# Spaces are not words, so no text contains these.
_ABSENT: Final = "' ' & '  '"

# JIT compilation would take longer than the search. With less memory, the bitmap of a million short
# texts is per page instead of per row, and all rows of those pages are read.
_SETTINGS: Final[Mapping[LiteralString, str]] = {"jit": "off", "work_mem": "16MB"}

# One step of the index per language, however many memories it has.
_LANGUAGES: Final[LiteralString] = """
with recursive spoken (languages) as (
    (select m.languages from memories m where m.owner = %(owner)s and m.deleted_at is null
     order by m.languages limit 1)
    union all
    select (
        select m.languages from memories m
        where m.owner = %(owner)s and m.deleted_at is null and m.languages > s.languages
        order by m.languages limit 1
    ) from spoken s where s.languages is not null
)
select languages from spoken where languages is not null
"""

# The planner's estimate took 1.4 ms, counting up to 3,001 rows took 10 ms.
_SCOPE: Final[LiteralString] = """
explain (format json) select 1 from memories m where {where}
"""

# At most a few thousand rows: read the scope through its own index and score whatever matches.
# OFFSET 0 keeps the planner from choosing the GIN index (findings: twice as slow).
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

# A later arm reads short rows (by an index on the length) that no earlier arm returned.
_SHORT: Final[LiteralString] = " and length(m.search_vector) <= {length}"
_NOT_BEFORE: Final[LiteralString] = " and not m.search_vector @@ {match}::tsquery"

# ts_rank of one word saturates with its count (0.61, 0.76, 0.83 … 1), so the sum is a BM25 with
# these weights. Division by the fourth root of the length (all words, positions counted) had a
# mean nDCG@10 of 62.7 over seven sets, ts_rank's own logarithm 62.3; it was the best of some 40
# variants tried on these same sets, so part of that is luck. Only ts_rank knows that length, and
# can divide by it. For two words that a text does not contain it returns the same small number,
# whatever the text: that number, divided by itself over the length, is the length, and costs no
# more than looking for two words. For the best rows only: the weight of the words in the row, over
# the weight of all words of the query.
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
_BEST_FORM: Final[LiteralString] = "greatest({scores})"
_FORM_SCORE: Final[LiteralString] = """
{weight}::float8 * ts_rank(c.search_vector, {form}::tsquery)"""
_WORD_HELD: Final[LiteralString] = """
case when b.search_vector @@ {word}::tsquery then {weight}::float8 else 0 end"""


@dataclass(frozen=True, slots=True)
class LexicalSearch:
    """Which memories are searched, and how many are returned.

    `where` is a condition on alias `m` with its `params`, including `owner`; names that begin with
    `lexical_` are reserved. `source` is read instead of the table, without its indexes.
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
    conn: Session, query: str, target: LexicalSearch, expanded: str = ""
) -> list[Candidate]:
    """Return the `depth` best memories for any text, best first. Never raises because of the text.
    Words of `expanded` find memories as well, but do not count as words of the query.
    """
    words, statistics, rows = await _look_up_words(conn, query, expanded, target)
    if not words or target.depth < 1:
        return []
    # With 0 rows the plan reads the whole scope and scores whatever matches.
    scope_rows = 0 if target.reads_whole_scope else rows
    planned = plan(words, statistics, scope_rows, target.small_scope)
    return await _rank_by_idf(conn, planned, target)


async def _look_up_words(
    conn: Session, query: str, expanded: str, target: LexicalSearch
) -> tuple[list[Word], Statistics, int]:
    """Return the query's words, the owner's statistics, and the estimated rows of the scope."""
    (spoken,) = await execute_many(conn, target.params, _LANGUAGES)
    languages = {language for (each,) in spoken for language in each.split()}
    asked = await analyze_text(len(query), query_forms, query, languages)
    also = await analyze_text(len(expanded), query_forms, expanded, languages)
    sought = dict.fromkeys((*asked, *also))
    lexemes = list(dict.fromkeys(form for forms in sought for form in forms))
    values = {**target.params, "lexical_lexemes": lexemes}
    estimate = scope_size(target.where)
    # On a cluster each statement is a round trip, so the scope is estimated only where it matters.
    at_once = () if isinstance(conn, DistributedReading) else (estimate,)
    frequencies, live, *plans = await execute_many(
        conn, values, FREQUENCIES, LIVE_FREQUENCIES, *at_once
    )
    holding, statistics = join_frequencies(frequencies, live)
    if not at_once and statistics.rows > target.small_scope:
        plans = await execute_many(conn, values, estimate)
    own = frozenset(asked)
    words = [Word(forms, tuple(holding[form] for form in forms), forms in own) for forms in sought]
    return words, statistics, rows_of(plans[0]) if plans else statistics.rows


def scope_size(where: Condition) -> LiteralString:
    """Return the statement that estimates the rows of a scope; `rows_of` reads its result."""
    return _SCOPE.format(where=where)


def rows_of(explained: Sequence[Any]) -> int:
    plan = explained[0][0][0]["Plan"]
    if "Distributed Query" in plan:  # by Citus: the plan of the node that has the owner's rows
        (task,) = plan["Distributed Query"]["Job"]["Tasks"]
        plan = task["Remote Plan"][0][0]["Plan"]
    return int(plan["Plan Rows"])


async def _rank_by_idf(conn: Session, planned: Plan, target: LexicalSearch) -> list[Candidate]:
    values: dict[str, object] = dict(target.params)

    def bind(value: object) -> LiteralString:
        name = f"lexical_{len(values)}"
        values[name] = value
        return f"%({name})s"

    # A word counts once, by its best form: stems are rarely rarer than the words they represent.
    score = " + ".join(
        _BEST_FORM.format(
            scores=", ".join(
                _FORM_SCORE.format(weight=bind(weight), form=bind(quote(form)))
                for form, weight in zip(word.forms, weights, strict=True)
            )
        )
        for word, weights in zip(planned.words, planned.weights, strict=True)
    )
    held = " + ".join(
        _WORD_HELD.format(weight=bind(weight), word=bind(word.match))
        for word, weight in zip(planned.words, planned.information, strict=True)
    )
    if planned.scope_first:
        candidates = _SCOPE_FIRST.format(
            source=target.source, where=target.where, match=bind(planned.any_word)
        )
    else:
        candidates = " union all ".join(
            _ARM.format(
                where=target.where,
                match=bind(arm.match),
                bound=_exclude_earlier(arm, planned.arms[:place], bind),
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
        depth=bind(target.depth),
    )
    (rows,) = await execute_many(conn, values, statement, settings=_SETTINGS)
    found = [Candidate(*row) for row in rows]
    return [
        candidate for candidate in found if candidate.score >= MIN_SHARE_OF_BEST * found[0].score
    ]


def _exclude_earlier(
    arm: Arm, earlier: Sequence[Arm], bind: Callable[[object], LiteralString]
) -> LiteralString:
    bounds = [_NOT_BEFORE.format(match=bind(each.match)) for each in earlier]
    if arm.max_length is not None:
        bounds.append(_SHORT.format(length=bind(arm.max_length)))
    return "".join(bounds)
