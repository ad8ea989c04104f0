"""Significance against cases whose answer is known."""

from __future__ import annotations

import math
import sys
from dataclasses import astuple
from itertools import product

import numpy as np
import pytest
from scipy import stats

from recollect.core.errors import RecollectError
from recollect_bench.scores.significance import (
    Difference,
    difference,
    differences,
    holm,
    interval,
    intervals,
    portions,
    smallest_detectable,
)


def _exact_p(each: list[int]) -> float:
    """Return the two-sided p over every way to swap the two values of each question."""
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, each, strict=True)))
        for signs in product((1, -1), repeat=len(each))
    ]
    return sum(total >= abs(sum(each)) for total in sums) / len(sums)


@pytest.mark.parametrize(
    "tenths",
    [
        [1, 1, 1, 1, 1],
        [1, 2, 3, 4, -5, 6],
        [5, -5, 5, -5],
        [3, 3, 3, -3, 3, 0, 0, 3],
        [10, 3, -2, 7, 1, 1, -1, 4, 5, 6],
    ],
)
def test_p_value_matches_exhaustive_enumeration(tenths: list[int]) -> None:
    resamples = 40_000
    a = [0.1] * len(tenths)
    # Tenths are not exact in binary, so that sums that are equal differ in their last digits.
    b = [0.1 + value / 10 for value in tenths]
    exact = _exact_p(tenths)
    slack = 4 * math.sqrt(exact * (1 - exact) / resamples) + 2 / resamples
    assert difference(a, b, 1, resamples).p == pytest.approx(exact, abs=slack)


def test_p_value_is_never_zero() -> None:
    """Every question is won by far: none of a thousand permutations comes near."""
    assert difference([0.0] * 500, [1.0] * 500, seed=1, resamples=999).p == 1 / 1000


def test_equal_rankings_do_not_differ() -> None:
    found = difference([0.3, 1.0, 0.0], [0.3, 1.0, 0.0], seed=1)
    assert found == Difference(0, 0, 0, p=1, deviation=0, count=3)


def test_the_difference_is_of_the_second_over_the_first() -> None:
    a, b = [0.0, 0.5, 0.5, 1.0], [1.0, 0.5, 1.0, 1.0]
    found = difference(a, b, seed=1)
    assert found.value == (1 + 0 + 0.5 + 0) / 4
    assert found.deviation == pytest.approx(np.std([1, 0, 0.5, 0], ddof=1))
    assert found.count == 4
    assert difference(b, a, seed=1).value == -found.value


def test_p_value_depends_on_pairs_not_only_means() -> None:
    """A small gain on every question is significant; between unpaired values it is not."""
    questions = [number / 200 for number in range(200)]
    gained = [value + 0.01 for value in questions]
    paired, shuffled = (
        difference(questions, gained, seed=1),
        difference(questions, gained[::-1], seed=1),
    )
    assert paired.value == pytest.approx(shuffled.value)
    assert paired.low == pytest.approx(0.01)
    assert paired.p < 0.001
    assert shuffled.low < 0 < shuffled.high
    assert shuffled.p > 0.5


def test_the_interval_of_a_share_is_the_binomial_one() -> None:
    """200 of 500 questions answered: the resampled count is binomial, whose quantiles are known."""
    found = interval([1.0] * 200 + [0.0] * 300, seed=2)
    low, high = stats.binom.ppf([0.025, 0.975], 500, 0.4) / 500
    assert found.value == 0.4
    # One question in 500 either way is the noise of 10,000 draws.
    assert [found.low, found.high] == pytest.approx([low, high], abs=1 / 500)
    assert found.count == 500


def test_the_interval_of_a_difference_has_its_level() -> None:
    """Normal differences: the bounds lie 1.96 standard errors from the mean."""
    each = np.random.default_rng(5).normal(0.1, 0.5, 2_000)
    found = difference(np.zeros(2_000).tolist(), each.tolist(), seed=3)
    error = each.std() / math.sqrt(2_000)
    bounds = [found.low, found.high]
    expected = [-1.95996, 1.95996]
    assert [(bound - each.mean()) / error for bound in bounds] == pytest.approx(expected, abs=0.08)


def test_the_interval_agrees_with_scipys_bootstrap() -> None:
    values = np.random.default_rng(6).choice([0.0, 0.5, 1.0], 150).tolist()
    other = stats.bootstrap(
        (values,), np.mean, n_resamples=10_000, method="percentile", rng=np.random.default_rng(7)
    ).confidence_interval
    found = interval(values, seed=8)
    assert [found.low, found.high] == pytest.approx([other.low, other.high], abs=0.006)


def test_intervals_cover_the_true_value_95_percent_of_the_time() -> None:
    random, runs, truth = np.random.default_rng(9), 400, 0.3
    intervals = [
        interval((random.random(120) < truth).astype(float).tolist(), seed, resamples=1_000)
        for seed in range(runs)
    ]
    covered = sum(interval.low <= truth <= interval.high for interval in intervals) / runs
    assert 0.92 <= covered <= 0.98


def test_false_positive_rate_is_5_percent() -> None:
    random, runs = np.random.default_rng(10), 400
    ps = [
        difference(
            random.choice([0.0, 0.5, 1.0], 60).tolist(),
            random.choice([0.0, 0.5, 1.0], 60).tolist(),
            seed,
            resamples=1_000,
        ).p
        for seed in range(runs)
    ]
    assert 0.02 <= sum(p <= 0.05 for p in ps) / runs <= 0.08


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    random = np.random.default_rng(11)
    a, b = random.random(300).tolist(), random.random(300).tolist()
    assert interval(a, seed=1) == interval(a, seed=1)
    assert interval(a, seed=1) != interval(a, seed=2)
    assert difference(a, b, seed=1) == difference(a, b, seed=1)
    assert difference(a, b, seed=1) != difference(a, b, seed=2)


@pytest.mark.parametrize(
    ("at_once", "most"), [(1, 1), (7 * 30, 7), (30_000, 1_000), (10_000_000, 1_000)]
)
def test_resampling_draws_every_sample_at_any_chunk_size(at_once: int, most: int) -> None:
    drawn = list(portions(1_000, 30, at_once))
    assert (sum(drawn), max(drawn)) == (1_000, most)


@pytest.mark.parametrize("resamples", [1_000, 70_000])
def test_no_difference_has_the_p_of_chance(resamples: int) -> None:
    """Every permutation is as large, so p is 1 if all of them count, in one chunk or in more."""
    each = np.array([0.5, -0.5] * 15)
    assert difference([0.0] * 30, each.tolist(), seed=1, resamples=resamples).p == 1


def test_differences_of_many_columns_match_single_columns() -> None:
    random = np.random.default_rng(12)
    columns = random.choice([0.0, 0.5, 1.0], (80, 3))
    together = intervals([columns], seed=4)
    for column, found in zip(columns.T.tolist(), together, strict=True):
        alone = interval(column, seed=4)
        assert [found.value, found.low, found.high] == pytest.approx(
            [alone.value, alone.low, alone.high], abs=1e-12
        )
    each = columns[:, 1:] - columns[:, :1]
    for number, found_difference in enumerate(differences([each], seed=4), start=1):
        alone_difference = difference(columns[:, 0].tolist(), columns[:, number].tolist(), seed=4)
        assert astuple(found_difference) == pytest.approx(astuple(alone_difference), abs=1e-12)


def test_mean_difference_counts_each_set_once() -> None:
    """A set of 400 and one of 100: the error of the mean of means is known."""
    random = np.random.default_rng(13)
    large, small = random.normal(0.1, 0.2, (400, 1)), random.normal(0.3, 0.4, (100, 1))
    (found,) = intervals([large, small], seed=5)
    (same,) = differences([large, small], seed=5)
    error = math.sqrt(large.var() / 400 + small.var() / 100) / 2
    assert found.value == same.value == pytest.approx((large.mean() + small.mean()) / 2)
    assert found.count == 500
    for result in (found, same):
        bounds = [(bound - result.value) / error for bound in (result.low, result.high)]
        assert bounds == pytest.approx([-1.95996, 1.95996], abs=0.1)
    assert same.deviation / math.sqrt(500) == pytest.approx(error, rel=0.02)
    assert same.p == 1 / 10_001


def test_sets_that_gain_and_lose_alike_do_not_differ() -> None:
    """The large set's many small gains weigh as much as the small set's few losses."""
    (found,) = differences([np.full((400, 1), 0.1), np.full((100, 1), -0.1)], seed=5)
    assert found.value == pytest.approx(0)
    assert found.p == 1


@pytest.mark.parametrize(
    ("ps", "expected"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"a": 0.03}, {"a": 0.03}, id="one needs no correction"),
        pytest.param(
            {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005},
            # Ascending d, a, c, b: 4 × .005, 3 × .01, 2 × .03, and b not below c.
            {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02},
            id="worked example",
        ),
        pytest.param({"a": 0.9, "b": 0.8}, {"a": 1.0, "b": 1.0}, id="never above 1"),
        pytest.param({"a": 0.02, "b": 0.02}, {"a": 0.04, "b": 0.04}, id="equal ones stay equal"),
    ],
)
def test_holm_correction_matches_the_textbook(
    ps: dict[str, float], expected: dict[str, float]
) -> None:
    found = holm(ps)
    assert list(found) == list(ps)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("count", [20, 100, 2_000])
@pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.9, 0.01)])
def test_the_smallest_detectable_effect_is_detected_that_often(
    count: int, power: float, alpha: float
) -> None:
    """The power of a t-test at that effect, from the noncentral t distribution."""
    effect = smallest_detectable(0.4, count, power=power, alpha=alpha)
    freedom, shift = count - 1, effect / 0.4 * math.sqrt(count)
    found = stats.nct.sf(stats.t.ppf(1 - alpha / 2, freedom), freedom, shift)
    assert found == pytest.approx(power, abs=0.01)


def test_the_smallest_detectable_effect_of_many_is_the_textbooks() -> None:
    """(1.960 + 0.842) × deviation / √n."""
    assert smallest_detectable(0.5, 10_000) == pytest.approx(2.8016 * 0.5 / 100, rel=1e-3)


def test_one_question_detects_nothing() -> None:
    assert smallest_detectable(0.5, 1) == math.inf


def test_no_values_and_unpaired_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        interval([], seed=1)
    with pytest.raises(ValueError, match="2 values cannot be paired with 1"):
        difference([0.0, 1.0], [0.0], seed=1)


def test_missing_bench_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(RecollectError, match=r"scipy\.stats") as caught:
        smallest_detectable(0.5, 100)
    assert "make install EXTRAS=bench" in caught.value.remedy
