"""Chooses the rows a lexical query looks at, so that a common word costs what a rare one does.

Scoring every row that contains *any* word of the query grows with the store: three common words
touch most of it.  But a row that shares only the cheap words cannot reach the top.  So the plan
asks the index for the rows whose matched words weigh *enough together*, where "enough" is the
lowest weight that is still expected to leave about ``BUDGET`` rows.  Rows that hold every word
always qualify (AND), the threshold widens that towards any word (OR) until the budget is filled.

Pure arithmetic from document frequencies to ``tsquery`` text: no I/O, so it is tested as a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from recollect.adapters.postgres.search_vector import quote
from recollect.core.recall.relevance import idf, most_information

# Figures: 300k recombined ("a") and pure Zipf ("b") memories, Postgres 18.1, 30 to 40 queries each,
# two cores under others' load. All were chosen on these two corpora.

SMALL_SCOPE: Final = 3_000
"""Up to here every row of the scope is scored with the full OR, and nothing can be lost."""

BUDGET: Final = 2_000
"""Rows the weighed words may bring. a, two words: 1,000 loses 5% of the top ten, 2,000 2%."""

SOLO_ROWS: Final = 100
"""Words so rare that together they bring this few rows bring them all, whatever else they match."""

DRIVING_WORDS: Final = 8
"""Words weighed together after the solo ones. Of the top ten for 12 words 8 keep 98% (a) and
99.7% (b), 6 95% and 92%, all 12 100%, but at 5 times the p95: the expression has 200 nodes."""

LIGHT_WORD: Final = 0.2
"""A word under this share of the heaviest driving word's IDF scores, but brings no rows."""

INDEX_WORK: Final = 15_000.0
"""Bound on `_index_work`; past it fewer words drive. A guess: no other value was tried."""

BINS: Final = 48
"""Resolution of the weights. Coarser lifts common words: b, 12 words, 98% (24: 91%, 12: 68%)."""

MAX_WORDS: Final = 64
"""Only the rarest words of a query count: a pasted page stays one bounded statement."""

LENGTH_CELLS: Final = 20
"""Quantiles of document length kept with the statistics."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the query: the lexemes it may stand in the index as, and in how many rows each of
    them occurs; 0 is unknown. One that is not `is_asked` only expands the query.
    """

    forms: tuple[str, ...]
    frequencies: tuple[int, ...]
    is_asked: bool = True

    @property
    def frequency(self) -> int:
        """Of any form, about: where its stem stands, the other forms stand as well."""
        return max(self.frequencies)

    @property
    def match(self) -> str:
        """As text of a `tsquery`: any of the forms."""
        forms = " | ".join(map(quote, self.forms))
        return forms if len(self.forms) == 1 else f"({forms})"


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of an owner: how many memories were counted, and how long they are."""

    rows: int
    length_quantiles: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to find candidates: rows that match, of at most this many distinct lexemes."""

    match: str
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The words that score, with a weight for each form, and the arms that find candidates.
    `information` is what each word weighs, whichever of its forms a row holds, and `ceiling` what
    the words of the query itself weigh together, of a long query the rarest ones.
    """

    words: tuple[Word, ...]
    weights: tuple[tuple[float, ...], ...]
    information: tuple[float, ...]
    ceiling: float
    any_word: str
    arms: tuple[Arm, ...]
    scope_first: bool


# What matches a word, or "&" / "|" over expressions.
Expression: TypeAlias = "str | tuple[str, list[Expression]]"


def any_of(words: Sequence[Word]) -> str:
    return " | ".join(word.match for word in words)


def plan(
    words: Sequence[Word],
    statistics: Statistics,
    scope_rows: int,
    small_scope: int = SMALL_SCOPE,
) -> Plan:
    """How to answer these words inside a scope of about `scope_rows` rows; one of at most
    `small_scope` is read whole.
    """
    # Not the size of the scope: it is estimated from all owners' rows, and scores would show it.
    rows = max(statistics.rows, 1)
    rarest = tuple(
        replace(each, frequencies=tuple(min(max(known, 1), rows) for known in each.frequencies))
        for each in limit_words(words)
    )
    information = tuple(idf(rows, each.frequency) for each in rarest)
    asked = [known for each, known in zip(rarest, information, strict=True) if each.is_asked]
    scope_first = scope_rows <= small_scope
    return Plan(
        words=rarest,
        weights=tuple(tuple(idf(rows, known) for known in each.frequencies) for each in rarest),
        information=information,
        ceiling=most_information(asked or information),
        any_word=any_of(rarest),
        arms=(
            (Arm(any_of(rarest)),)
            if scope_first
            else _arms(rarest, rows, scope_rows, statistics.length_quantiles)
        ),
        scope_first=scope_first,
    )


def limit_words(words: Sequence[Word]) -> list[Word]:
    """At most `MAX_WORDS`, rarest first. Unknown words get no more than half of the places.

    They may be new, or stand in one memory; but a pasted log is full of words that stand in none.
    """
    rarest = sorted(words, key=lambda each: (each.frequency, each.forms))
    unknown = [each for each in rarest if each.frequency == 0]
    known = rarest[len(unknown) :][: MAX_WORDS - min(len(unknown), MAX_WORDS // 2)]
    return [*unknown[: MAX_WORDS - len(known)], *known]


def _arms(
    rarest: Sequence[Word], rows: int, scope_rows: int, length_quantiles: Sequence[int]
) -> tuple[Arm, ...]:
    share = scope_rows / rows
    solo = _solo(rarest, share)
    rest = rarest[len(solo) :]
    if not rest:
        return (Arm(any_of(solo)),)
    together, expected = _combine_by_weight(rest, rows, scope_rows)
    if expected <= BUDGET:
        return (Arm(_render(("|", [*(word.match for word in solo), together]))),)
    # Even every word at once is too common: the best of such rows are short, so take those.
    limit = _length_limit([each.frequency / rows for each in rest], scope_rows, length_quantiles)
    bounded = Arm(_render(together), limit)
    return (Arm(any_of(solo)), bounded) if solo else (bounded,)


def _solo(rarest: Sequence[Word], share: float) -> list[Word]:
    solo: list[Word] = []
    expected = 0.0
    for each in rarest:
        expected += each.frequency * share
        if expected > SOLO_ROWS:
            break
        solo.append(each)
    return solo


def _combine_by_weight(
    rest: Sequence[Word], rows: int, scope_rows: int
) -> tuple[Expression, float]:
    """The rows whose matched words weigh enough, and how many hold every driving word."""
    heaviest = idf(rows, rest[0].frequency)
    telling = [each for each in rest if idf(rows, each.frequency) >= LIGHT_WORD * heaviest]
    cheapest: tuple[float, Expression, float] | None = None
    for count in range(min(DRIVING_WORDS, len(telling)), 0, -1):
        words = telling[:count]
        weights = _to_bins([idf(rows, each.frequency) for each in words])
        chances = _chances(weights, [each.frequency / rows for each in words])
        enough = _enough(chances, BUDGET / scope_rows)
        expression = _at_least([each.match for each in words], weights, enough)
        expected = chances[-1] * scope_rows
        if cheapest is not None and expected > BUDGET:
            break  # so few words are too common: reading their rows costs more than the index
        work = _index_work(words, weights, enough, expression)
        if cheapest is None or work < cheapest[0]:
            cheapest = (work, expression, expected)
        if work <= INDEX_WORK:
            break
    assert cheapest is not None, "rest is never empty"  # noqa: S101
    return cheapest[1], cheapest[2]


def _to_bins(weights: Sequence[float]) -> list[int]:
    total = sum(weights) or 1.0
    return [max(1, round(weight / total * BINS)) for weight in weights]


def _chances(weights: Sequence[int], shares: Sequence[float]) -> list[float]:
    """The chance of each sum of matched weights, were words independent of each other.

    They are not, so more rows match than expected; up to 2.7 times the budget was seen.
    """
    chances = [1.0]
    for weight, share in zip(weights, shares, strict=True):
        longer = [0.0] * (len(chances) + weight)
        for total, chance in enumerate(chances):
            longer[total] += chance * (1 - share)
            longer[total + weight] += chance * share
        chances = longer
    return chances


def _enough(chances: Sequence[float], wanted: float) -> int:
    """The lowest sum that rows reach no more often than wanted; at the least, every word."""
    enough = len(chances) - 1
    reached = 0.0
    for total in range(len(chances) - 1, 0, -1):
        reached += chances[total]
        if reached > wanted:
            break
        enough = total
    return enough


def _at_least(words: Sequence[str], weights: Sequence[int], enough: int) -> Expression:
    """Holds exactly where the matched weights add up to `enough`; heaviest word first."""

    def build(start: int, needed: int) -> Expression | None:
        left = weights[start:]
        if sum(left) < needed:
            return None
        if sum(left) - min(left) < needed:
            every: list[Expression] = [*words[start:]]
            return ("&", every)
        parts: list[Expression] = []
        for position in range(start, len(words)):
            if weights[position] >= needed:
                parts.append(words[position])
                continue
            more = build(position + 1, needed - weights[position])
            if more is None:
                break
            parts.append(("&", [words[position], more]))
        return ("|", parts)

    built = build(0, enough)
    assert built is not None, "enough never exceeds the sum of the weights"  # noqa: S101
    return built


def _index_work(
    words: Sequence[Word], weights: Sequence[int], enough: int, expression: Expression
) -> float:
    """About how long GIN takes: postings it must walk × the nodes it evaluates for each.

    GIN skips through the lists of the commonest words that cannot suffice among themselves.
    """
    walked = 0
    total = 0
    for word, weight in zip(reversed(words), reversed(weights), strict=True):
        total += weight
        if total >= enough:
            walked += word.frequency
    return walked * (0.06 + 0.03 * _nodes(expression))


def _length_limit(
    shares: Sequence[float], scope_rows: int, length_quantiles: Sequence[int]
) -> int | None:
    """The shortest length up to which `BUDGET` rows should hold every word; None for any length.

    A document twice as long has two chances to hold a word.
    """
    if not length_quantiles:
        return None
    mean = sum(length_quantiles) / len(length_quantiles)
    expected = 0.0
    for length in length_quantiles:
        chance = scope_rows / len(length_quantiles)
        for share in shares:
            chance *= 1 - (1 - min(share, 0.999)) ** (length / mean)
        expected += chance
        if expected >= BUDGET:
            return length
    return None


def _nodes(expression: Expression) -> int:
    return 1 if isinstance(expression, str) else sum(map(_nodes, expression[1]))


def _render(expression: Expression) -> str:
    if isinstance(expression, str):
        return expression
    operator, parts = expression
    rendered = [_render(part) for part in parts]
    return rendered[0] if len(rendered) == 1 else f"({f' {operator} '.join(rendered)})"
