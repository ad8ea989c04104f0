"""`recollect bench run`: measure configurations on evaluation sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from rich.table import Column, Table

from recollect.core.errors import InvalidInput
from recollect.settings import load
from recollect.shells.cli.framework.commands import Option
from recollect.shells.cli.framework.output import print_text
from recollect_bench.cli.data import Data
from recollect_bench.cli.measuring import (
    ALL,
    check_writable,
    make_folder,
    measure_runs,
    report_console,
    select_sets,
)
from recollect_bench.data.datasets import EvaluationSet, read_facts
from recollect_bench.reports.as_json import as_json
from recollect_bench.reports.as_markdown import MEAN, render_markdown
from recollect_bench.reports.machine import provenance
from recollect_bench.reports.plots import write_plots
from recollect_bench.reports.readable import render_changes
from recollect_bench.runs.configs import parse_configs
from recollect_bench.runs.measure import TIMED
from recollect_bench.runs.stores import draw_sizes, parse_sizes
from recollect_bench.scores.report import OVERALL, Report
from recollect_bench.scores.scoring import score_runs
from recollect_bench.scores.summary import check_against, make_report

STDOUT: Final = Path("-")
_TIMED_PER_STORE: Final = 3
_SHOWN: Final = ("R@1", "R@3", "R@10", "nDCG@10", "RR")


def run(
    *,
    data: Data = None,
    sets: Annotated[
        str, Option("--sets", help="Sets to use: names separated by commas, or all.")
    ] = ALL,
    configs: Annotated[
        str,
        Option("--configs", help="Configurations to compare: names, with :setting=value|value."),
    ] = "default,lexical,dense,rrf,convex",
    json_file: Annotated[
        Path | None, Option("--json", help="Write the report to FILE as JSON; - for stdout.")
    ] = None,
    markdown_file: Annotated[
        Path | None, Option("--markdown", help="Write the report to FILE as Markdown.")
    ] = None,
    plots: Annotated[Path | None, Option("--plots", help="Write plots to this directory.")] = None,
    readable_file: Annotated[
        Path | None,
        Option("--readable", help="Write the questions won and lost to FILE, side by side."),
    ] = None,
    against: Annotated[
        str | None, Option("--against", help="Compare with this configuration. Default: the first.")
    ] = None,
    seed: Annotated[int, Option("--seed", min=0, help="Random seed for resampling.")] = 1,
    timed: Annotated[
        int, Option("--timed", min=0, help="Number of questions per set that are also timed.")
    ] = TIMED,
    facts: Annotated[
        Path | None,
        Option("--facts", help="For graph=given: read the facts of one set from FILE instead."),
    ] = None,
    stores_of: Annotated[
        str | None,
        Option("--stores-of", help="Measure on small stores of these sizes, drawn from each set."),
    ] = None,
    stores: Annotated[
        int,
        Option("--stores", min=1, help="With --stores-of: stores drawn per set and size, at most."),
    ] = 20,
) -> None:
    """Measure how well configurations recall, on temporary stores."""
    parsed = parse_configs(configs)
    base = against or parsed[0].name
    check_against(base, [config.name for config in parsed])
    chosen = select_sets(data, sets)
    if facts is not None:
        chosen = [_with_facts(chosen, facts)]
    named = (json_file, markdown_file, readable_file)
    check_writable(file for file in named if file not in (None, STDOUT))
    if plots is not None:
        make_folder(plots)
    settings = load()
    if stores_of is None:
        runs = measure_runs([(data, parsed) for data in chosen], settings, timed=timed)
    else:
        drawn = draw_sizes(chosen, parse_sizes(stores_of), stores, seed)
        work = [(store, parsed) for size in drawn for store in size.stores]
        runs = measure_runs(work, settings, timed=min(timed, _TIMED_PER_STORE))
        runs = [run for size in drawn for run in size.join(runs)]
        chosen = [size.data for size in drawn]
    found = score_runs(chosen, runs)
    origin = provenance(chosen, parsed, seed=seed, embedder=settings.embedder)
    report = make_report(found, against=base, seed=seed, provenance=origin)
    _show(report, to_stderr=json_file == STDOUT)
    if json_file == STDOUT:
        print_text(as_json(report).removesuffix("\n"))
    elif json_file is not None:
        json_file.write_text(as_json(report), encoding="utf-8")
    if markdown_file is not None:
        markdown_file.write_text(render_markdown(report), encoding="utf-8")
    if readable_file is not None:
        readable_file.write_text(render_changes(found, base), encoding="utf-8")
    if plots is not None:
        write_plots(report, plots)


def _with_facts(sets: Sequence[EvaluationSet], file: Path) -> EvaluationSet:
    if len(sets) != 1:
        raise InvalidInput(
            f"{file} contains the facts of one set, but {len(sets)} sets are selected",
            field="--facts",
            remedy="Select one set with --sets.",
        )
    return replace(sets[0], facts=read_facts(file))


def _show(report: Report, *, to_stderr: bool) -> None:
    """Print the overall figures, in percent."""
    cells = {
        (row.config, row.set, row.metric): row.value
        for row in report.results
        if row.stratum == OVERALL
    }
    sets = list(report.sets)
    if len(sets) > 1:
        sets.append(MEAN)
        of_sets = (row for row in report.means if row.stratum == OVERALL)
        cells.update({(row.config, MEAN, row.metric): row.value for row in of_sets})
    table = Table(Column("set", overflow="fold"), Column("configuration", overflow="fold"), *_SHOWN)
    for set_name in sets:
        for name in report.configs:
            values = (cells[name, set_name, metric] for metric in _SHOWN)
            table.add_row(set_name, name, *(f"{100 * value:.1f}" for value in values))
    report_console(to_stderr=to_stderr).print(table)
