"""A report as Markdown tables, in percent, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from recollect_bench.scores.report import (
    OVERALL,
    RULE,
    Compared,
    Mean,
    MeanCompared,
    Report,
    Result,
)

MEAN: Final = "mean of sets"
SIGNIFICANT: Final = 0.05
STRATA_BY: Final = "R@10"
"""The metric shown for strata, as in the plots."""


_OfSet = TypeVar("_OfSet", Result, Compared)
_OfMean = TypeVar("_OfMean", Mean, MeanCompared)


def render_markdown(report: Report, *, title: str = "Benchmark") -> str:
    """Render a report: quality and differences by metric, strata, legs, latency, provenance."""
    parts = [f"# {title}", EXPLAINED]
    for metric in report.metrics:
        parts += [f"## {metric}", quality_table(report, metric)]
        if len(report.configs) > 1:
            parts += [f"Difference from {report.against}:", difference_table(report, metric)]
    metric = STRATA_BY if STRATA_BY in report.metrics else report.metrics[0]
    parts += [f"## Strata, {metric}"]
    parts += [f"### {name}\n\n{stratum_table(report, name, metric)}" for name in report.sets]
    parts += ["## What each leg contributed", leg_table(report)]
    if report.moved:
        parts += [f"## Questions won and lost compared with {report.against}", moved_table(report)]
    if report.latency:
        parts += ["## Recall time", latency_table(report)]
    parts += ["## Where the figures come from", provenance_table(report.provenance)]
    return "\n\n".join(parts) + "\n"


EXPLAINED: Final = (
    "Values are percentages with their 95% interval (bootstrap over questions). A difference is "
    "followed by its interval and the p value of a paired randomisation test with Holm's "
    "correction; it is bold where p is below .05. A question with no results counts as 0."
)


def quality_table(report: Report, metric: str, stratum: str = OVERALL) -> str:
    """Render a row for each configuration, a column for each set."""
    cells = _cells(report.results, report.means, metric, stratum, _interval)
    return _grid("configuration", report.configs, _columns(report, stratum), cells)


def difference_table(report: Report, metric: str, stratum: str = OVERALL) -> str:
    """Render the differences from the baseline, in the form of `quality_table`."""
    cells = _cells(report.differences, report.mean_differences, metric, stratum, _difference)
    columns = _columns(report, stratum)
    names = [name for name in report.configs if name != report.against]
    table = _grid("configuration", names, columns, cells)
    smallest = {
        row.set: row.detectable
        for row in report.differences
        if (row.metric, row.stratum, row.config) == (metric, stratum, names[0] if names else "")
    }
    shown = [
        f"{name} {100 * found:.1f}" for name in columns if (found := smallest.get(name)) is not None
    ]
    if not shown:
        return table
    listed = ", ".join(shown)
    return f"{table}\n\nSmallest difference detectable with 80% power, for {names[0]}: {listed}."


def stratum_table(report: Report, set_name: str, metric: str) -> str:
    """Render one set: a row for each stratum, a column for each configuration."""
    rows = [row for row in report.results if (row.set, row.metric) == (set_name, metric)]
    counts = {row.stratum: row.queries for row in rows}
    cells = {(f"{row.stratum} ({counts[row.stratum]})", row.config): _interval(row) for row in rows}
    names = [f"{stratum} ({count})" for stratum, count in counts.items()]
    return _grid("stratum (questions)", names, report.configs, cells)


def leg_table(report: Report) -> str:
    header = (
        "set",
        "configuration",
        "leg",
        "only this leg",
        "of these relevant",
        "first relevant at",
        "never",
    )
    rows = (
        (
            row.set,
            row.config,
            row.share.leg,
            row.share.only,
            row.share.only_relevant,
            "none" if row.share.median_rank is None else f"{row.share.median_rank:g}",
            f"{row.share.never} of {row.share.questions}",
        )
        for row in report.legs
    )
    return (
        "Hits among the first ten that only this leg found, how many of them are relevant, the "
        "median rank of its first relevant document, and how often it found none.\n\n"
        f"{_table(header, rows)}"
    )


def moved_table(report: Report) -> str:
    header = "set", "configuration", "won", "lost", "equal"
    rows = ((row.set, row.config, row.won, row.lost, row.equal) for row in report.moved)
    return _table(header, rows)


def latency_table(report: Report) -> str:
    header = "set", "configuration", "p50 ms", "p95 ms", "questions"
    return _table(
        header,
        (
            (row.set, row.config, f"{row.p50_ms:.1f}", f"{row.p95_ms:.1f}", row.queries)
            for row in report.latency
        ),
    )


def provenance_table(found: Mapping[str, Any]) -> str:
    data = _table(
        ("set", "documents", "questions", "without labels", "sha256 prefix"),
        (
            (name, data["documents"], data["questions"], data["unlabelled"], data["digest"][:12])
            for name, data in found["data"].items()
        ),
    )
    machine = found["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    return (
        f"{data}\n\nRecollect {found['recollect']}, seed {found['seed']}, {found['resamples']:,} "
        f"resamples; {machine['system']}, {machine['processor']}, {machine['cores']} cores; "
        f"{versions}. Settings sha256 starts with {found['settings_digest'][:12]}."
    )


def _columns(report: Report, stratum: str) -> list[str]:
    """Return the sets that have the stratum, and their mean if it is comparable."""
    here = {row.set for row in report.results if row.stratum == stratum}
    columns = [name for name in report.sets if name in here]
    common = stratum == OVERALL or stratum.startswith(RULE)
    return [*columns, MEAN] if common and len(columns) > 1 else columns


def _cells(
    of_sets: Iterable[_OfSet],
    of_means: Iterable[_OfMean],
    metric: str,
    stratum: str,
    format_cell: Callable[[_OfSet | _OfMean], str],
) -> dict[tuple[str, str], str]:
    """Return the cells of a table for one metric, by configuration and set."""
    selected = metric, stratum
    cells = {
        (row.config, row.set): format_cell(row)
        for row in of_sets
        if (row.metric, row.stratum) == selected
    }
    means = (row for row in of_means if (row.metric, row.stratum) == selected)
    return cells | {(row.config, MEAN): format_cell(row) for row in means}


def _interval(row: Result | Mean) -> str:
    return f"{100 * row.value:.1f} ({100 * row.low:.1f}–{100 * row.high:.1f})"


def _difference(row: Compared | MeanCompared) -> str:
    value = f"{100 * row.value:+.1f}"
    shown = f"**{value}**" if row.p_holm < SIGNIFICANT else value
    return f"{shown} ({100 * row.low:+.1f} to {100 * row.high:+.1f}), p {_p(row.p_holm)}"


def _p(p: float) -> str:
    return "< .001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _grid(
    corner: str, rows: Iterable[str], columns: Sequence[str], cells: dict[tuple[str, str], str]
) -> str:
    return _table(
        (corner, *columns),
        ((row, *(cells.get((row, column), "–") for column in columns)) for row in rows),
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|")
