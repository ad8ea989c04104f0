"""The lexical leg on plain Postgres: words found by GIN, ranked by how rare they are.

`ts_rank` counts a common word like a rare one, and asking it of every row that holds any word grows
with the store. So recall takes three short trips: the languages of the memories, the frequencies of
the query's words with the planner's guess of how many rows the scope holds, and one statement made
for exactly these words (`plan.py` decides which rows it looks at). Made per query, its constants
are folded once and not once per row. No statement is prepared, so it works behind PgBouncer in
transaction mode. Times given below were taken on two cores under a load of 5 to 9: read them as
ratios.

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
from recollect.adapters.postgres.pipeline import Session, execute_many
from recollect.adapters.postgres.rows import Condition
from recollect.adapters.postgres.search_vector import quote
from recollect.core.recall.request import Candidate
from recollect.core.text.terms import query_forms
from recollect.usecases.tasks import analyze_text

MAX_CANDIDATES: Final = 20_000
"""Rows one arm may bring when every estimate was wrong: a bound on time. Most seen: 11,144."""

MIN_SHARE_OF_BEST: Final = 0.05
"""The floor, as a share of the best score. It changed no figure on LoCoMo, SciFact and MuSiQue."""

_TABLE: Final = "memories"

# Blanks are no words, so these are in no text.
_ABSENT: Final = "' ' & '  '"

# Compiling a search would take longer than running it. With less memory, the bitmap of a million
# short texts names pages instead of rows, and all of their rows are read.
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
_BEST_FORM: Final[LiteralString] = "greatest({scores})"
_FORM_SCORE: Final[LiteralString] = """
{weight}::float8 * ts_rank(c.search_vector, {form}::tsquery)"""
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
    """The `depth` best memories for any text, best first. No text raises. Words of `expanded` find
    memories too, but are not what is asked.
    """
    words, statistics, rows = await _look_up_words(conn, query, expanded, wanted)
    if not words or wanted.depth < 1:
        return []
    # A scope of no size is read whole, and whatever matches is scored.
    scope_rows = 0 if wanted.reads_whole_scope else rows
    planned = plan(words, statistics, scope_rows, wanted.small_scope)
    return await _by_idf(conn, planned, wanted)


async def _look_up_words(
    conn: Session, query: str, expanded: str, wanted: LexicalSearch
) -> tuple[list[Word], Statistics, int]:
    """The query's words, what is known of the owner's, and about how many rows the scope holds."""
    (spoken,) = await execute_many(conn, wanted.params, _LANGUAGES)
    languages = {language for (each,) in spoken for language in each.split()}
    asked = await analyze_text(len(query), query_forms, query, languages)
    also = await analyze_text(len(expanded), query_forms, expanded, languages)
    sought = dict.fromkeys((*asked, *also))
    lexemes = list(dict.fromkeys(form for forms in sought for form in forms))
    values = {**wanted.params, "lexical_lexemes": lexemes}
    statements = (FREQUENCIES, LIVE_FREQUENCIES, scope_size(wanted.where))
    frequencies, live, explained = await execute_many(conn, values, *statements)
    holding, statistics = join_frequencies(frequencies, live)
    own = frozenset(asked)
    words = [Word(forms, tuple(holding[form] for form in forms), forms in own) for forms in sought]
    return words, statistics, rows_of(explained)


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

    # A word counts once, by its best form: stems are rarely rarer than what they stand for.
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
            source=wanted.source, where=wanted.where, match=bind(planned.any_word)
        )
    else:
        candidates = " union all ".join(
            _ARM.format(
                where=wanted.where,
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
        depth=bind(wanted.depth),
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
