"""`recollect bench study`: measure the studies and write the benchmark page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from recollect.bench.cli.data import Data
from recollect.bench.cli.measuring import (
    ALL,
    check_writable,
    make_folder,
    measure_runs,
    select_sets,
)
from recollect.bench.data.datasets import EvaluationSet
from recollect.bench.reports.machine import provenance
from recollect.bench.runs.configs import Config
from recollect.bench.runs.run import Run
from recollect.bench.scores.report import Report
from recollect.bench.scores.scoring import score_runs
from recollect.bench.scores.summary import make_report
from recollect.bench.studies.page import FOLDER, PAGE, write_figures, write_study_page
from recollect.bench.studies.studies import STUDIES, Study, select_studies
from recollect.core.errors import InvalidInput
from recollect.settings import load


def study(
    *,
    data: Data = None,
    out: Annotated[
        Path, typer.Option(help=f"Directory for {PAGE}, with plots and figures in {FOLDER}/.")
    ] = Path("docs"),
    only: Annotated[
        str | None,
        typer.Option(help="Studies to measure: slugs separated by commas. Default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for resampling.")] = 1,
    page_only: Annotated[
        bool,
        typer.Option(
            "--page-only", help="Rewrite the page from existing figures without measuring."
        ),
    ] = False,
) -> None:
    """Measure the questions that decided the defaults and write the benchmark page. Studies that
    are not measured keep their existing figures.
    """
    measured = [] if page_only else select_studies(STUDIES, only)
    count = write_studies(STUDIES, measured, data, out, seed=seed)
    typer.echo(f"{out / PAGE}: {count} studies")


def write_studies(
    studies: Sequence[Study], measured: Sequence[Study], data: Path | None, out: Path, *, seed: int
) -> int:
    """Measure some of the studies, write the page of all, and return how many it shows."""
    sets = select_sets(data, ALL) if measured else []
    measurable = _select_measurable(measured, sets) if measured else []
    if measurable:
        make_folder(out / FOLDER)
    check_writable([out / PAGE])
    if measurable:
        write_figures(_measure_studies(measurable, sets, seed), out)
    return write_study_page(studies, out)


def _measure_studies(
    studies: Sequence[Study], sets: Sequence[EvaluationSet], seed: int
) -> list[tuple[Study, Report]]:
    settings = load()
    work = [(data, _configs(studies, data)) for data in sets]
    clocked = {config.name for study in studies if study.is_timed for config in study.parsed()}
    runs = measure_runs([item for item in work if item[1]], settings, clocked=clocked)
    return [
        (study, _report(study, sets, runs, seed=seed, embedder=settings.embedder))
        for study in studies
    ]


def _select_measurable(studies: Sequence[Study], sets: Sequence[EvaluationSet]) -> list[Study]:
    """Keep the studies that have at least one of their sets here."""
    names = {data.name for data in sets}
    found = [study for study in studies if not study.sets or names & set(study.sets)]
    if not found:
        needed = sorted({name for study in studies for name in study.sets})
        raise InvalidInput(
            "the sets of these studies were not found",
            field="--data",
            remedy=f"Pass a directory with at least one of: {', '.join(needed)}.",
        )
    return found


def _configs(studies: Sequence[Study], data: EvaluationSet) -> list[Config]:
    """All configurations that any study measures on a set."""
    using = (study for study in studies if not study.sets or data.name in study.sets)
    return _unique(config for study in using for config in study.parsed())


def _unique(configs: Iterable[Config]) -> list[Config]:
    return list({config.name: config for config in configs}.values())


def _report(
    study: Study, sets: Sequence[EvaluationSet], runs: Sequence[Run], *, seed: int, embedder: str
) -> Report:
    configs = study.parsed()
    names = [config.name for config in configs]
    here = [data for data in sets if not study.sets or data.name in study.sets]
    found = score_runs(here, [run for run in runs if run.config.name in names])
    return make_report(
        found,
        against=study.baseline,
        seed=seed,
        provenance=provenance(here, configs, seed=seed, embedder=embedder),
        metrics=study.metrics,
        strata=study.strata,
    )
