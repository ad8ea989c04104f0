"""Report a comparison on a user's own memories: a table, Markdown and JSON, without any text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.table import Column, Table

from recollect_bench.own.private import write_private
from recollect_bench.own.words import OWN_STRATA
from recollect_bench.reports.as_json import as_json
from recollect_bench.reports.as_markdown import EXPLAINED, difference_table, stratum_table
from recollect_bench.scores.report import OVERALL, Report

SHOWN: Final = ("R@10", "nDCG@10", "RR")
COMPARED: Final = "nDCG@10"
_IN_TABLE: Final = ("R@10", COMPARED)


def write_report(folder: Path, report: Report) -> tuple[Path, Path]:
    files = folder / "report.json", folder / "report.md"
    for file, text in zip(files, (as_json(report), as_markdown(report)), strict=True):
        write_private(file, text)
    return files


def as_table(report: Report) -> Table:
    name = Column("configuration", overflow="fold")
    table = Table("stratum", name, *_IN_TABLE, f"{COMPARED} against the first", title="percent")
    for row in _rows(report):
        table.add_row(*row)
    return table


def as_markdown(report: Report) -> str:
    parts = ["# Recall on your own memories", EXPLAINED]
    parts += ["\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in _about(report))]
    for metric in SHOWN:
        parts += [f"## {metric}", stratum_table(report, report.sets[0], metric)]
    if len(report.configs) > 1:
        parts += [f"## {COMPARED} against {report.against}"]
        for stratum in _strata(report):
            parts += [f"### {stratum}", difference_table(report, COMPARED, stratum)]
    return "\n\n".join(parts) + "\n"


def _about(report: Report) -> Iterator[tuple[str, object]]:
    yield "seed", report.seed
    yield from report.provenance.items()


def _strata(report: Report) -> list[str]:
    have = {result.stratum for result in report.results}
    return [stratum for stratum in (*OWN_STRATA, OVERALL) if stratum in have]


def _rows(report: Report) -> Iterator[tuple[str, ...]]:
    results = {(result.stratum, result.config, result.metric): result for result in report.results}
    differences = {
        (difference.stratum, difference.config): difference
        for difference in report.differences
        if difference.metric == COMPARED
    }
    for stratum in _strata(report):
        for config in report.configs:
            found = [results[stratum, config, metric] for metric in _IN_TABLE]
            against = ""
            if gain := differences.get((stratum, config)):
                against = (
                    f"{100 * gain.value:+.1f} ({100 * gain.low:+.1f} to {100 * gain.high:+.1f}) "
                    f"p {gain.p_holm:.3f}"
                )
            values = (f"{100 * result.value:.1f}" for result in found)
            yield f"{stratum} ({found[0].queries})", config, *values, against
