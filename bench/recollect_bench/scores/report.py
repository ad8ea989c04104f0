"""The plain values of a report; `summary.py` computes them, `reports` writes them.

All quality figures are fractions between 0 and 1, rounded to six digits, so that the same seed
gives the same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from recollect_bench.scores.diagnostics import LegShare

OVERALL: Final = "overall"
RULE: Final = "rule:"
"""The prefix of strata by rule: a set may use any names for its own strata."""


@dataclass(frozen=True, slots=True)
class Result:
    """One configuration's mean on some questions, with its 95% interval."""

    set: str
    config: str
    stratum: str
    metric: str
    value: float
    low: float
    high: float
    queries: int


@dataclass(frozen=True, slots=True)
class Compared:
    """By how much a configuration is better than another. `detectable` is the smallest true
    difference that this number of questions would detect with 80% power; None if it detects none.
    """

    set: str
    config: str
    against: str
    stratum: str
    metric: str
    value: float
    low: float
    high: float
    p: float
    p_holm: float
    queries: int
    detectable: float | None


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean over the sets that have the stratum, each counting once."""

    config: str
    stratum: str
    metric: str
    value: float
    low: float
    high: float
    sets: int
    queries: int


@dataclass(frozen=True, slots=True)
class MeanCompared:
    """Like `Compared`, for the means over the sets."""

    config: str
    against: str
    stratum: str
    metric: str
    value: float
    low: float
    high: float
    p: float
    p_holm: float
    sets: int
    queries: int


@dataclass(frozen=True, slots=True)
class Latency:
    """The duration of a whole recall, over the questions that were timed."""

    set: str
    config: str
    p50_ms: float
    p95_ms: float
    queries: int


@dataclass(frozen=True, slots=True)
class LegFigures:
    """What a leg contributed to a configuration on a set."""

    set: str
    config: str
    share: LegShare


@dataclass(frozen=True, slots=True)
class Moved:
    """How many questions a configuration answers better and worse than another."""

    set: str
    config: str
    against: str
    metric: str
    won: int
    lost: int
    equal: int


@dataclass(frozen=True, slots=True)
class Report:
    """All figures of some runs. `configs` and `sets` are in the order of the runs."""

    sets: tuple[str, ...]
    configs: tuple[str, ...]
    against: str
    seed: int
    metrics: tuple[str, ...]
    results: tuple[Result, ...]
    differences: tuple[Compared, ...]
    means: tuple[Mean, ...]
    mean_differences: tuple[MeanCompared, ...]
    legs: tuple[LegFigures, ...]
    moved: tuple[Moved, ...]
    latency: tuple[Latency, ...]
    provenance: Mapping[str, Any]
