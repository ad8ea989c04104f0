"""Summarize runs in a report: means with intervals, differences with their significance.

p is corrected for the number of differences within a *family*: all configurations on all sets, for
one metric in one kind of stratum (overall, the sets' own, by rule). The means over the sets, in
which each set counts once, are families of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, TypeVar

import numpy as np

from recollect.core.errors import InvalidInput
from recollect_bench.data.strata import RULE_STRATA
from recollect_bench.scores.diagnostics import Changes, Legs, changes, compute_leg_shares
from recollect_bench.scores.metrics import METRICS
from recollect_bench.scores.report import (
    OVERALL,
    RULE,
    Compared,
    Latency,
    LegFigures,
    Mean,
    MeanCompared,
    Moved,
    Report,
    Result,
)
from recollect_bench.scores.scoring import Scored
from recollect_bench.scores.significance import (
    Difference,
    Numbers,
    differences,
    holm,
    intervals,
    smallest_detectable,
)

CHANGES_BY: Final = "nDCG@10"
"""The metric that decides which questions a change won and lost: it depends on every place."""

_DIGITS: Final = 6
_COMMON: Final = (OVERALL, *(f"{RULE}{rule}" for rule in RULE_STRATA))
"""The strata that all sets share, so that a mean over the sets is meaningful."""


def check_against(against: str, configs: Sequence[str]) -> None:
    if against not in configs:
        raise InvalidInput(
            f"{against[:60]!r} is not one of the configurations",
            field="--against",
            remedy=f"Choose one of: {', '.join(configs)}.",
        )


def make_report(
    found: Sequence[Scored],
    *,
    against: str,
    seed: int,
    provenance: Mapping[str, Any],
    metrics: Sequence[str] = METRICS,
    strata: Sequence[str] = (),
) -> Report:
    """Compute a report. `metrics` and `strata` limit it; no strata means all."""
    configs = tuple(dict.fromkeys(name for scored in found for name in scored.runs))
    check_against(against, configs)
    results: list[Result] = []
    compared: list[Compared] = []
    for scored in found:
        for stratum in scored.strata:
            if not strata or stratum in strata:
                results += _results(scored, stratum, metrics, seed)
                compared += _compare(scored, stratum, metrics, against, seed)
    common = [stratum for stratum in _COMMON if not strata or stratum in strata]
    return Report(
        sets=tuple(scored.data.name for scored in found),
        configs=configs,
        against=against,
        seed=seed,
        metrics=tuple(metrics),
        results=tuple(results),
        differences=_correct(compared),
        means=tuple(mean for stratum in common for mean in _means(found, stratum, metrics, seed)),
        mean_differences=_correct(
            [
                mean
                for stratum in common
                for mean in _mean_differences(found, stratum, metrics, against, seed)
            ]
        ),
        legs=tuple(_legs(found)),
        moved=tuple(_count_moved(found, against)),
        latency=tuple(_latency(found)),
        provenance=provenance,
    )


def _results(scored: Scored, stratum: str, metrics: Sequence[str], seed: int) -> Iterator[Result]:
    names = list(scored.runs)
    found = intervals([scored.columns(stratum, names, metrics)], seed)
    for (name, metric), of in zip(product(names, metrics), found, strict=True):
        value, low, high = _round(of.value), _round(of.low), _round(of.high)
        yield Result(scored.data.name, name, stratum, metric, value, low, high, of.count)


def _compare(
    scored: Scored, stratum: str, metrics: Sequence[str], against: str, seed: int
) -> Iterator[Compared]:
    names = [name for name in scored.runs if name != against]
    if against not in scored.runs or not names:
        return
    found = differences([_question_differences(scored, stratum, names, metrics, against)], seed)
    for (name, metric), of in zip(product(names, metrics), found, strict=True):
        yield Compared(
            set=scored.data.name,
            config=name,
            against=against,
            stratum=stratum,
            metric=metric,
            value=_round(of.value),
            low=_round(of.low),
            high=_round(of.high),
            p=_round(of.p),
            p_holm=of.p,
            queries=of.count,
            detectable=_detectable(of),
        )


def _question_differences(
    scored: Scored, stratum: str, names: Sequence[str], metrics: Sequence[str], against: str
) -> Numbers:
    """Return the differences from the baseline, question by question."""
    base = scored.columns(stratum, [against], metrics)
    return scored.columns(stratum, names, metrics) - np.tile(base, len(names))


def _detectable(of: Difference) -> float | None:
    smallest = smallest_detectable(of.deviation, of.count)
    return _round(smallest) if math.isfinite(smallest) else None


def _means(
    found: Sequence[Scored], stratum: str, metrics: Sequence[str], seed: int
) -> Iterator[Mean]:
    here, names = _select_with(found, stratum)
    if not here or not names:
        return
    found_here = intervals([scored.columns(stratum, names, metrics) for scored in here], seed)
    for (name, metric), of in zip(product(names, metrics), found_here, strict=True):
        value, low, high = _round(of.value), _round(of.low), _round(of.high)
        yield Mean(name, stratum, metric, value, low, high, len(here), of.count)


def _mean_differences(
    found: Sequence[Scored], stratum: str, metrics: Sequence[str], against: str, seed: int
) -> Iterator[MeanCompared]:
    here, names = _select_with(found, stratum)
    others = [name for name in names if name != against]
    if not here or against not in names or not others:
        return
    each = [_question_differences(scored, stratum, others, metrics, against) for scored in here]
    for (name, metric), of in zip(product(others, metrics), differences(each, seed), strict=True):
        yield MeanCompared(
            config=name,
            against=against,
            stratum=stratum,
            metric=metric,
            value=_round(of.value),
            low=_round(of.low),
            high=_round(of.high),
            p=_round(of.p),
            p_holm=of.p,
            sets=len(here),
            queries=of.count,
        )


def _select_with(found: Sequence[Scored], stratum: str) -> tuple[list[Scored], list[str]]:
    """Return the sets that have the stratum, and the configurations run on all of them."""
    here = [scored for scored in found if stratum in scored.strata]
    names = [
        name
        for name in (here[0].runs if here else ())
        if all(name in scored.runs for scored in here)
    ]
    return here, names


_Row = TypeVar("_Row", Compared, MeanCompared)


def _correct(rows: Sequence[_Row]) -> tuple[_Row, ...]:
    families: dict[tuple[str, str], dict[str, float]] = {}
    for number, row in enumerate(rows):
        families.setdefault(_family(row), {})[str(number)] = row.p_holm
    corrected = {number: p for family in families.values() for number, p in holm(family).items()}
    return tuple(
        replace(row, p_holm=_round(corrected[str(number)])) for number, row in enumerate(rows)
    )


def _family(row: Compared | MeanCompared) -> tuple[str, str]:
    kind = RULE if row.stratum.startswith(RULE) else row.stratum
    return row.metric, kind if kind in (RULE, OVERALL) else "own"


def _legs(found: Sequence[Scored]) -> Iterator[LegFigures]:
    for scored in found:
        for name, run in scored.runs.items():
            lists: Legs = {
                id: {str(leg): ids for leg, ids in answer.legs.items()}
                for id, answer in run.answers.items()
            }
            for share in compute_leg_shares(scored.data.gold, run.ranking, lists):
                yield LegFigures(scored.data.name, name, share)


def _count_moved(found: Sequence[Scored], against: str) -> Iterator[Moved]:
    for scored in found:
        for name in scored.runs:
            if name != against and against in scored.runs:
                moved = compare_runs(scored, against, name)
                counts = len(moved.won), len(moved.lost), moved.equal
                yield Moved(scored.data.name, name, against, CHANGES_BY, *counts)


def compare_runs(scored: Scored, before: str, after: str) -> Changes:
    """Return the questions of a set that switching from `before` to `after` won and lost."""
    return changes(
        scored.data.gold,
        scored.runs[before].ranking,
        scored.runs[after].ranking,
        scored.values[before][CHANGES_BY],
        scored.values[after][CHANGES_BY],
    )


def _latency(found: Sequence[Scored]) -> Iterator[Latency]:
    for scored in found:
        for name, run in scored.runs.items():
            if run.took_ms:
                p50, p95 = np.quantile(run.took_ms, (0.5, 0.95)).round(3).tolist()
                yield Latency(scored.data.name, name, p50, p95, len(run.took_ms))


def _round(value: float) -> float:
    # Adding 0.0 turns -0.0 into 0.0.
    return round(value, _DIGITS) + 0.0
