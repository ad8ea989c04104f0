"""Whether a difference is more than chance in the choice of questions.

There are two methods, neither of which assumes normal values, which shares of found documents are
not. The bootstrap repeatedly draws as many questions with replacement: the percentiles of the means
are the interval. Paired randomisation swaps the two rankings' values at random, question by
question: p is how often a difference as large arises by chance. (Smucker, Allan and Carterette 2007
compare both for retrieval.)

An interval of few questions is too narrow, and one of equal values has no width; `count` comes with
every figure so that a reader can judge. The same seed gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from recollect_bench.extra import bench_extra

RESAMPLES: Final = 10_000
# Sums of the same shares in another order differ in the last digits, but count as equal.
_ROUNDING: Final = 1e-9

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its 95% interval."""

    value: float
    low: float
    high: float
    count: int


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much the second of two rankings is better than the first, on the same questions.

    `low` and `high` are the 95% interval. `p` is two-sided; `deviation` is the standard deviation
    of the questions' differences.
    """

    value: float
    low: float
    high: float
    p: float
    deviation: float
    count: int


def interval(values: Sequence[float], seed: int, resamples: int = RESAMPLES) -> Interval:
    """Return the mean of some questions' values, with its bootstrap interval."""
    return intervals([_column(values)], seed, resamples)[0]


def difference(
    a: Sequence[float], b: Sequence[float], seed: int, resamples: int = RESAMPLES
) -> Difference:
    """Compare b with a: positive if b is better. a[i] and b[i] belong to the same question."""
    if len(a) != len(b):
        raise ValueError(f"{len(a)} values cannot be paired with {len(b)}")
    return differences([_column(b) - _column(a)], seed, resamples)[0]


def intervals(sets: Sequence[Numbers], seed: int, resamples: int = RESAMPLES) -> list[Interval]:
    """Compute many means at once: each set has a row for every question and a column for every
    mean.

    The columns share the draws, which are most of the work. With several sets, the result is the
    mean of the sets' means, so that a large set counts no more than a small one; questions are
    drawn within their own set.
    """
    drawn = _resample(sets, _random(seed), resamples)
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    count = sum(map(len, sets))
    found = zip(_means(sets), low, high, strict=True)
    return [Interval(float(mean), float(item), float(other), count) for mean, item, other in found]


def differences(sets: Sequence[Numbers], seed: int, resamples: int = RESAMPLES) -> list[Difference]:
    """Compute many differences at once, like `intervals`, from per-question differences."""
    random = _random(seed)
    drawn = _resample(sets, random, resamples)
    bounds = np.quantile(drawn, (0.025, 0.975), axis=0)
    ps = _randomise(np.concatenate([each / len(each) for each in sets]), random, resamples)
    count = sum(map(len, sets))
    # The deviation that a single set with the same standard error of the mean would have.
    errors = sum(each.var(axis=0, ddof=1) / len(each) for each in sets if len(each) > 1)
    deviations = np.sqrt(errors * count) / len(sets) + np.zeros_like(ps)
    means = _means(sets)
    return [
        Difference(
            value=float(means[column]),
            low=float(bounds[0, column]),
            high=float(bounds[1, column]),
            p=float(ps[column]),
            deviation=float(deviations[column]),
            count=count,
        )
        for column in range(len(means))
    ]


def holm(ps: Mapping[str, float]) -> dict[str, float]:
    """Correct each p for the number of comparisons (Holm 1979); the order is kept."""
    corrected: dict[str, float] = {}
    largest = 0.0
    for place, name in enumerate(sorted(ps, key=lambda name: ps[name])):
        largest = max(largest, min(1.0, (len(ps) - place) * ps[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in ps}


def smallest_detectable(
    deviation: float, count: int, *, power: float = 0.8, alpha: float = 0.05
) -> float:
    """Return the true difference that `count` questions would detect with this power, by a paired
    t-test. Infinite for fewer than two questions, which detect nothing.
    """
    with bench_extra():
        from scipy.stats import t as student

    if count < 2:
        return math.inf
    quantiles = student.ppf(1 - alpha / 2, count - 1) + student.ppf(power, count - 1)
    return float(quantiles) * deviation / math.sqrt(count)


def _column(values: Sequence[float]) -> Numbers:
    if not len(values):
        raise ValueError("there are no values to take the mean of")
    return np.asarray(values, dtype=np.float64).reshape(-1, 1)


def _means(sets: Sequence[Numbers]) -> Numbers:
    return _mean([each.mean(axis=0) for each in sets])


def _random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _resample(sets: Sequence[Numbers], random: np.random.Generator, resamples: int) -> Numbers:
    """Return the means of `resamples` samples, drawn with replacement and of the original size."""
    return _mean([_draw_means(each, random, resamples) for each in sets])


def _mean(of_sets: Sequence[Numbers]) -> Numbers:
    return np.asarray(np.mean(of_sets, axis=0), dtype=np.float64)


def _draw_means(each: Numbers, random: np.random.Generator, resamples: int) -> Numbers:
    count = len(each)
    means: list[Numbers] = []
    for rows in portions(resamples, count):
        # The narrow type halves the time, most of which is spent on drawing.
        drawn = random.integers(count, size=(rows, count), dtype=np.int32)
        drawn += np.arange(rows, dtype=np.int32)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        means.append(times.astype(np.float64) @ each / count)
    return np.concatenate(means)


def _randomise(each: Numbers, random: np.random.Generator, resamples: int) -> Numbers:
    """Return how often chance alone gives a difference as large. The observed one counts as such a
    case (Davison and Hinkley 1997), so that p is never 0.
    """
    total = each.sum(axis=0)
    observed = np.abs(total) - _ROUNDING * np.abs(each).sum(axis=0)
    as_large = np.zeros(each.shape[1])
    for rows in portions(resamples, len(each)):
        unflipped = random.integers(2, size=(rows, len(each)), dtype=np.int8).astype(np.float64)
        as_large += np.count_nonzero(np.abs(2 * (unflipped @ each) - total) >= observed, axis=0)
    return (1 + as_large) / (1 + resamples)


def portions(resamples: int, count: int, at_once: int = 1_000_000) -> Iterator[int]:
    """Yield how many samples of `count` numbers to draw at a time. A million numbers take about ten
    megabytes, however many questions there are.
    """
    rows = max(1, at_once // max(1, count))
    for first in range(0, resamples, rows):
        yield min(rows, resamples - first)
