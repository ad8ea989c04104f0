"""Choose the rows a lexical query reads, so that a common word costs no more than a rare one.

The cost of scoring every row that contains *any* word of the query grows with the store: three
common words match most of it. But a row that matches only common words cannot reach the top. So the
plan reads the rows whose matched words *together* weigh enough, where "enough" is the lowest weight
that is expected to leave about ``BUDGET`` rows. Rows with every word always qualify (AND); the
threshold relaxes that towards any word (OR) until the budget is filled.

Pure arithmetic from document frequencies to ``tsquery`` text: no I/O, so it is tested as a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from recollect.adapters.postgres.search_vector import quote
from recollect.core.recall.relevance import idf, most_information

# Measured with 300k recombined ("a") and pure Zipf ("b") memories, Postgres 18.1, 30 to 40 queries
# each, on two cores under other load. All values were chosen on these two corpora.

SMALL_SCOPE: Final = 3_000
"""Up to this size every row of the scope is scored with the full OR, and nothing is missed."""

BUDGET: Final = 2_000
"""Rows the weighted words may match. a, two words: 1,000 loses 5% of the top ten, 2,000 2%."""

SOLO_ROWS: Final = 100
"""Words that together match at most this many rows: all of these rows are scored."""

DRIVING_WORDS: Final = 8
"""Words weighted together after the solo ones. Of the top ten for 12 words, 8 find 98% (a) and
99.7%
(b), 6 find 95% and 92%, all 12 find 100%, but at 5 times the p95: the expression has 200 nodes."""

LIGHT_WORD: Final = 0.2
"""A word below this share of the highest driving IDF is scored, but selects no rows."""

INDEX_WORK: Final = 15_000.0
"""Limit of `_index_work`; beyond it fewer words drive. A guess: no other value was tried."""

BINS: Final = 48
"""Resolution of the weights. Coarser favors common words: b, 12 words, 98% (24: 91%, 12: 68%)."""

MAX_WORDS: Final = 64
"""Only the rarest words of a query are used: a pasted page becomes a bounded statement."""

LENGTH_CELLS: Final = 20
"""Quantiles of document length stored with the statistics."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the query: the lexemes by which it may be in the index, and in how many rows each
    of them occurs; 0 is unknown. A word that is not `is_asked` only expands the query.
    """

    forms: tuple[str, ...]
    frequencies: tuple[int, ...]
    is_asked: bool = True

    @property
    def frequency(self) -> int:
        """About how many rows contain any form: a row with another form also contains the stem."""
        return max(self.frequencies)

    @property
    def match(self) -> str:
        """The text of a `tsquery` for any of the forms."""
        forms = " | ".join(map(quote, self.forms))
        return forms if len(self.forms) == 1 else f"({forms})"


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of an owner: how many memories were counted, and their lengths."""

    rows: int
    length_quantiles: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Arm:
    """One way to find candidates: rows that match, with at most this many distinct lexemes."""

    match: str
    max_length: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The words that are scored, with a weight for each form, and the arms that find candidates.
    `information` is the weight of each word, whichever of its forms a row contains, and `ceiling`
    the total weight of the words of the query itself (of the rarest ones, in a long query).
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
    """Plan the search for these words in a scope of about `scope_rows` rows; a scope of at most
    `small_scope` rows is read completely.
    """
    # Not the size of the scope: it is estimated from all owners' rows, and scores would reveal it.
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
    """Return at most `MAX_WORDS`, rarest first. Unknown words get at most half of the places.

    They may be new, or occur in one memory; but a pasted log is full of words that occur in none.
    """
    rarest = sorted(words, key=lambda each: (each.frequency, each.forms))
    unknown = [each for each in rarest if each.frequency == 0]
    known = rarest[len(unknown) :][: MAX_WORDS - min(len(unknown), MAX_WORDS // 2)]
    return [*unknown[: MAX_WORDS - len(known)], *known]


def _arms(
    rarest: Sequence[Word], rows: int, scope_rows: int, length_quantiles: Sequence[int]
) -> tuple[Arm, ...]:
    share = scope_rows / rows
    solo = _choose_solo(rarest, share)
    rest = rarest[len(solo) :]
    if not rest:
        return (Arm(any_of(solo)),)
    together, expected = _combine_by_weight(rest, rows, scope_rows)
    if expected <= BUDGET:
        return (Arm(_render(("|", [*(word.match for word in solo), together]))),)
    # Even rows with every word are too common: the best ones are short, so read only those.
    limit = _length_limit([each.frequency / rows for each in rest], scope_rows, length_quantiles)
    bounded = Arm(_render(together), limit)
    return (Arm(any_of(solo)), bounded) if solo else (bounded,)


def _choose_solo(rarest: Sequence[Word], share: float) -> list[Word]:
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
    """Return the rows whose matched words weigh enough, and how many match every driving word."""
    heaviest = idf(rows, rest[0].frequency)
    telling = [each for each in rest if idf(rows, each.frequency) >= LIGHT_WORD * heaviest]
    cheapest: tuple[float, Expression, float] | None = None
    for count in range(min(DRIVING_WORDS, len(telling)), 0, -1):
        words = telling[:count]
        weights = _to_bins([idf(rows, each.frequency) for each in words])
        chances = _chances(weights, [each.frequency / rows for each in words])
        enough = _find_threshold(chances, BUDGET / scope_rows)
        expression = _build_threshold([each.match for each in words], weights, enough)
        expected = chances[-1] * scope_rows
        if cheapest is not None and expected > BUDGET:
            break  # so few words are too common: their rows cost more than the index
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
    """Return the probability of each sum of matched weights if words were independent.

    They are not, so more rows match than expected; up to 2.7 times the budget was observed.
    """
    chances = [1.0]
    for weight, share in zip(weights, shares, strict=True):
        longer = [0.0] * (len(chances) + weight)
        for total, chance in enumerate(chances):
            longer[total] += chance * (1 - share)
            longer[total + weight] += chance * share
        chances = longer
    return chances


def _find_threshold(chances: Sequence[float], max_share: float) -> int:
    """Return the lowest sum that rows reach at most with this probability, or that of all words."""
    enough = len(chances) - 1
    reached = 0.0
    for total in range(len(chances) - 1, 0, -1):
        reached += chances[total]
        if reached > max_share:
            break
        enough = total
    return enough


def _build_threshold(words: Sequence[str], weights: Sequence[int], enough: int) -> Expression:
    """Build an expression that is true if the matched weights reach `enough`; heaviest first."""

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
    """Estimate how long GIN takes: postings it must read × the nodes it evaluates for each.

    GIN skips through the lists of the most common words that are not enough by themselves.
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
    """Return the length up to which about `BUDGET` rows contain every word; None for no limit.

    A document twice as long has two chances to contain a word.
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
