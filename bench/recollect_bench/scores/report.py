"""What a report holds, as plain values; `summary.py` computes them, others write them down.

All figures of quality are fractions between 0 and 1, rounded to six digits: the same seed gives the
same text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from recollect_bench.scores.diagnostics import LegShare

OVERALL: Final = "overall"
RULE: Final = "rule:"
"""The names of strata by rule begin so: a set may call its own strata what it likes."""


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
    difference that so many questions would show four times in five; None when they show none.
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
    """As `Compared`, of the means over the sets."""

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
    """What a whole recall took, over the questions that were asked by the clock."""

    set: str
    config: str
    p50_ms: float
    p95_ms: float
    queries: int


@dataclass(frozen=True, slots=True)
class LegFigures:
    """What a leg brought to a configuration on a set."""

    set: str
    config: str
    share: LegShare


@dataclass(frozen=True, slots=True)
class Moved:
    """How many questions a configuration answers better and worse than another does."""

    set: str
    config: str
    against: str
    metric: str
    won: int
    lost: int
    equal: int


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is told of some runs. `configs` and `sets` are in the order of the runs."""

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
