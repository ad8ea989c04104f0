"""Which rows a lexical query looks at: tables for the arithmetic, properties for the guarantees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isclose, log
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.adapters.postgres.lexical.tsquery_text import columns_of, truth_table, words

from recollect.adapters.postgres.lexical.plan import (
    BINS,
    BUDGET,
    DRIVING_WORDS,
    LENGTH_CELLS,
    LIGHT_WORD,
    MAX_WORDS,
    SMALL_SCOPE,
    SOLO_ROWS,
    Arm,
    Plan,
    Statistics,
    Word,
    any_of,
    limit_words,
    plan,
)
from recollect.adapters.postgres.search_vector import quote
from recollect.core.recall.relevance import idf

LENGTHS = tuple(range(5, 5 * LENGTH_CELLS + 5, 5))
MAX_DRAWN = 10  # a truth table of 1,024 rows

any_lexeme = st.text(st.characters(exclude_characters="\0") | st.sampled_from("'\\&|!()<>:* "))
lexemes = st.lists(any_lexeme, min_size=1, max_size=8, unique=True)


def make_words(*frequencies: int) -> list[Word]:
    return [Word((f"w{place}",), (frequency,)) for place, frequency in enumerate(frequencies)]


def one_form_each(names: Sequence[str]) -> list[Word]:
    return [Word((name,), (1,)) for name in names]


def make_plan(rows: int, *frequencies: int, scope_rows: int | None = None) -> Plan:
    scope = rows if scope_rows is None else scope_rows
    return plan(make_words(*frequencies), Statistics(rows, LENGTHS), scope)


@st.composite
def questions(draw: st.DrawFn) -> tuple[int, int, tuple[int, ...]]:
    """Draw a store's size, a scope too large to be read completely, and the words' frequencies."""
    rows = draw(st.integers(SMALL_SCOPE + 1, 20_000_000))
    scope = draw(st.integers(SMALL_SCOPE + 1, rows))
    # As shares of the store in exponential steps, since most words of a text are rare.
    steps = draw(st.lists(st.floats(0, 1), min_size=1, max_size=MAX_DRAWN))
    return rows, scope, tuple(sorted(round(rows ** (step**0.5)) for step in steps))


# Eight words, each in 42 of 100 rows: so common that fewer would be cheaper to look up.
ALL_COMMON = (300_000, 300_000, (126_000,) * 8)
# Two words, each in 1.3 of 100 rows: rarely together, but long lists to read.
LONG_LISTS = (10_000_000, 10_000_000, (130_000,) * 2)


@given(any_lexeme)
@example("'")
@example("\\")
@example("\\'")
@example("a' | 'b")
def test_a_quoted_lexeme_is_that_one_word(lexeme: str) -> None:
    assert words(quote(lexeme)) == [lexeme]


@given(lexemes)
def test_any_of_holds_where_any_form_of_any_word_is(names: list[str]) -> None:
    columns = columns_of(names)
    no_word, every_word = 0, 2 ** len(names) - 1
    every_row = 2 ** (every_word + 1) - 1
    some = every_row & ~(1 << no_word)
    assert truth_table(any_of(one_form_each(names)), columns) == some
    assert truth_table(any_of([Word(tuple(names), (1,) * len(names))]), columns) == some


def test_a_word_is_as_common_as_its_commonest_form_and_each_form_has_its_weight() -> None:
    """The stem is in 9,000 rows, the word as written in 3."""
    word = Word(("deploys", "deploy"), (3, 9_000))
    found = plan([word, *make_words(9_000, 9_000)], Statistics(300_000, LENGTHS), 300_000)
    assert [each.forms for each in found.words] == [("deploys", "deploy"), ("w0",), ("w1",)]
    assert found.weights[0] == (idf(300_000, 3), idf(300_000, 9_000))
    either = "('deploys' | 'deploy')"
    assert found.arms == (Arm(f"(({either} & ('w0' | 'w1')) | ('w0' & 'w1'))"),)


@pytest.mark.parametrize(
    ("rows", "frequency", "expected"),
    [
        (10, 1, log(1 + (10 - 1 + 0.5) / (1 + 0.5))),
        (10, 5, log(1 + (10 - 5 + 0.5) / (5 + 0.5))),
        (10, 10, log(1 + (10 - 10 + 0.5) / (10 + 0.5))),  # in every row, and still above 0
        (300_000, 3, log(1 + (300_000 - 3 + 0.5) / (3 + 0.5))),
        (10, 0, log(1 + (10 - 1 + 0.5) / (1 + 0.5))),  # unknown: as if in one row
        (10, 99, log(1 + (10 - 10 + 0.5) / (10 + 0.5))),  # outdated figures: as if in every row
    ],
)
def test_the_weight_is_the_idf_of_bm25(rows: int, frequency: int, expected: float) -> None:
    ((weight,),) = make_plan(rows, frequency, scope_rows=rows).weights
    assert isclose(weight, expected)


@pytest.mark.parametrize("scope_rows", [1, 10, 1_000])
def test_weights_do_not_depend_on_the_estimated_size_of_the_scope(scope_rows: int) -> None:
    """The estimate is computed from the rows of all owners, and scores reveal the weights."""
    ((weight,),) = plan(make_words(5), Statistics(10), scope_rows).weights
    assert isclose(weight, log(1 + (10 - 5 + 0.5) / (5 + 0.5)))


def test_nothing_is_known_of_a_new_store() -> None:
    ((weight,),) = plan(make_words(0), Statistics(0), 0).weights
    assert isclose(weight, log(1 + (1 - 1 + 0.5) / (1 + 0.5)))


def test_rarer_words_weigh_more() -> None:
    weights = make_plan(300_000, 300_000, 40_000, 700, 2).weights
    assert all(rarer > commoner > 0 for (rarer,), (commoner,) in pairwise(weights))


@pytest.mark.parametrize(
    ("scope_rows", "scope_first"),
    [(0, True), (1, True), (SMALL_SCOPE, True), (SMALL_SCOPE + 1, False), (300_000, False)],
)
def test_a_small_scope_is_read_whole(scope_rows: int, scope_first: bool) -> None:
    found = make_plan(300_000, 200_000, 5, 100_000, scope_rows=scope_rows)
    assert found.scope_first == scope_first
    if scope_first:
        assert found.arms == (Arm("'w1' | 'w2' | 'w0'"),)


@pytest.mark.parametrize(
    ("rows", "frequencies", "match"),
    [
        # Rare words retrieve rows on their own: 3 + 40 + 57 = SOLO_ROWS.
        (300_000, (3, 40, 57), "'w0' | 'w1' | 'w2'"),
        # One row more, and the commonest of them is weighed; alone it still fits the budget.
        (300_000, (3, 40, 58), "('w0' | 'w1' | 'w2')"),
        # 6,000 rows are more than the budget of 2,000; both words together are in 6,000/50 = 120.
        (300_000, (6_000, 6_000), "('w0' & 'w1')"),
        (300_000, (50, 6_000, 6_000), "('w0' | ('w1' & 'w2'))"),
        # 1,500 rows fit the budget, 30,000 more do not: the rare word, with or without the other.
        (300_000, (1_500, 30_000), "'w0'"),
        # Two of three: 3 × 9,000 × 9,000 / 300,000 = 810 rows are expected.
        (300_000, (9_000,) * 3, "(('w0' & ('w1' | 'w2')) | ('w1' & 'w2'))"),
    ],
)
def test_words_bring_rows_alone_or_together(
    rows: int, frequencies: tuple[int, ...], match: str
) -> None:
    assert make_plan(rows, *frequencies).arms == (Arm(match),)


def test_where_every_word_is_too_common_the_short_rows_are_taken() -> None:
    """100 % of the rows hold the word: the shortest 5 of 100 are 5,000 of them, over the budget."""
    assert make_plan(100_000, 100_000).arms == (Arm("'w0'", max_length=LENGTHS[0]),)
    solo, common = make_plan(100_000, 7, 90_000, 90_000).arms
    assert solo == Arm("'w0'")
    assert common.match == "('w1' & 'w2')"
    assert common.max_length in LENGTHS


def test_words_that_are_too_common_even_together_all_drive() -> None:
    """Together they are in 9,000 rows. Without the commonest the index scan would be quicker, but
    30,000 rows would have to be read.
    """
    (arm,) = make_plan(1_000_000, 150_000, 200_000, 300_000).arms
    assert arm.match == "('w0' & 'w1' & 'w2')"
    assert arm.max_length in LENGTHS


def test_where_lengths_are_unknown_so_is_the_limit() -> None:
    assert plan(make_words(90_000), Statistics(100_000), 100_000).arms == (Arm("'w0'"),)


@given(questions())
@example(ALL_COMMON)
@example(LONG_LISTS)
def test_rows_that_weigh_enough_are_candidates_and_no_others(
    question: tuple[int, int, tuple[int, ...]],
) -> None:
    """The expression is a threshold on the weights, the lowest one that stays within the budget."""
    rows, scope, frequencies = question
    found = make_plan(rows, *frequencies, scope_rows=scope)
    solo = _solo_words(rows, scope, frequencies)
    names = [f"w{place}" for place in range(len(frequencies))]
    columns = columns_of(names)
    table = _join_arms(found, columns)
    alone = truth_table(any_of(one_form_each(names[:solo])), columns) if solo else 0
    driving = range(1, min(DRIVING_WORDS, len(names) - solo) + 1)
    allowed = [
        alone | _weigh_enough(rows, budget / scope, frequencies[solo : solo + count], solo, names)
        for count in driving
        for budget in (BUDGET * (1 - 1e-9), BUDGET * (1 + 1e-9))  # a tie may go either way
    ] or [alone]
    assert table in allowed


@given(questions())
@example(ALL_COMMON)
@example(LONG_LISTS)
def test_a_row_with_every_word_is_a_candidate_and_the_budget_is_kept(
    question: tuple[int, int, tuple[int, ...]],
) -> None:
    rows, scope, frequencies = question
    found = make_plan(rows, *frequencies, scope_rows=scope)
    columns = columns_of([f"w{place}" for place in range(len(frequencies))])
    every_word = 1 << (2 ** len(frequencies) - 1)
    table = _join_arms(found, columns)
    assert table & every_word, "only a bound on the length may drop such a row"
    shares = [min(max(each, 1), rows) / rows for each in frequencies]
    solo = _solo_words(rows, scope, frequencies)
    driving = shares[solo : solo + DRIVING_WORDS]
    telling = [idf(rows, round(share * rows)) for share in driving]
    driving = [s for s, w in zip(driving, telling, strict=True) if w >= LIGHT_WORD * telling[0]]
    together = float(scope)
    for share in driving:
        together *= share
    if not driving or together <= BUDGET * (1 - 1e-9):
        assert [arm.max_length for arm in found.arms] == [None]
        assert _estimate_share(table, shares) * scope <= (BUDGET + SOLO_ROWS) * (1 + 1e-6)


@given(st.lists(st.integers(0, 50), max_size=150), st.randoms(use_true_random=False))
def test_bounded_keeps_the_rarest(frequencies: list[int], random: Random) -> None:
    given_words = make_words(*frequencies)
    shuffled = list(given_words)
    random.shuffle(shuffled)
    kept = limit_words(shuffled)
    assert kept == limit_words(given_words)
    assert len(kept) == min(len(given_words), MAX_WORDS)
    assert len({each.forms for each in kept}) == len(kept)
    assert [each.frequency for each in kept] == sorted(each.frequency for each in kept)
    known = sorted(each for each in frequencies if each > 0)
    kept_known = [each.frequency for each in kept if each.frequency > 0]
    assert kept_known == known[: len(kept_known)]
    # Unknown words take more than half of the places only where known ones leave them free.
    assert len(kept_known) >= min(len(known), MAX_WORDS // 2)


def test_a_page_of_unknown_words_does_not_crowd_out_the_known_ones() -> None:
    kept = limit_words(make_words(*[0] * 100, *range(1, 101)))
    assert [each.frequency for each in kept] == [0] * 32 + list(range(1, 33))
    assert len(make_plan(300_000, *range(1, 200)).words) == MAX_WORDS


def _join_arms(found: Plan, columns: dict[str, int]) -> int:
    table = 0
    for arm in found.arms:
        table |= truth_table(arm.match, columns)
    return table


def _solo_words(rows: int, scope: int, frequencies: Sequence[int]) -> int:
    """Return how many of the rarest words together retrieve at most SOLO_ROWS rows."""
    brought = 0.0
    for count, frequency in enumerate(frequencies):
        brought += min(max(frequency, 1), rows) * (scope / rows)
        if brought > SOLO_ROWS:
            return count
    return len(frequencies)


def _weigh_enough(
    rows: int, wanted: float, frequencies: Sequence[int], first: int, names: Sequence[str]
) -> int:
    """Return the table of the rows whose driving words weigh enough, by trying all word sets."""
    raw = [idf(rows, frequency) for frequency in frequencies]
    binned = [max(1, round(weight / sum(raw) * BINS)) for weight in raw]
    shares = [frequency / rows for frequency in frequencies]
    weights: list[int] = []
    chances: list[float] = []
    for held in range(2 ** len(binned)):
        chance = 1.0
        for place, share in enumerate(shares):
            chance *= share if held >> place & 1 else 1 - share
        chances.append(chance)
        weights.append(sum(w for place, w in enumerate(binned) if held >> place & 1))
    reached = {
        enough: sum(c for c, w in zip(chances, weights, strict=True) if w >= enough)
        for enough in set(weights)
    }
    fitting = [enough for enough, chance in reached.items() if enough and chance <= wanted]
    enough = min(fitting, default=sum(binned))
    mask = 2 ** len(binned) - 1
    return sum(1 << row for row in range(2 ** len(names)) if weights[row >> first & mask] >= enough)


def _estimate_share(table: int, shares: Sequence[float]) -> float:
    """Return the share of rows that are candidates, assuming independent words."""
    total = 0.0
    for row in range(2 ** len(shares)):
        if table >> row & 1:
            chance = 1.0
            for place, share in enumerate(shares):
                chance *= share if row >> place & 1 else 1 - share
            total += chance
    return total
