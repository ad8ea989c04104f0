"""`recollect bench study`: measure every study and write the report that the documents show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from recollect.bench.cli.data import Data
from recollect.bench.cli.measuring import ALL, check_writable, chosen_sets, make_folder, measured
from recollect.bench.data.datasets import EvaluationSet
from recollect.bench.reports.machine import provenance
from recollect.bench.runs.configs import Config
from recollect.bench.runs.run import Run
from recollect.bench.scores.report import Report
from recollect.bench.scores.scoring import scored
from recollect.bench.scores.summary import make_report
from recollect.bench.studies.page import FOLDER, PAGE, write_figures, write_study_page
from recollect.bench.studies.studies import STUDIES, Study, chosen_studies
from recollect.core.errors import InvalidInput
from recollect.settings import load


def study(
    *,
    data: Data = None,
    out: Annotated[
        Path, typer.Option(help=f"The folder for {PAGE} and, below {FOLDER}/, plots and figures.")
    ] = Path("docs"),
    only: Annotated[
        str | None, typer.Option(help="Which studies, by their slugs; else all.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same numbers.")] = 1,
    page_only: Annotated[
        bool, typer.Option("--page-only", help="Measure nothing; write the page of what is there.")
    ] = False,
) -> None:
    """Settle the open questions, and write the page that says how. Studies that are not measured
    keep the figures that are there.
    """
    sets = [] if page_only else chosen_sets(data, ALL)
    studies = [] if page_only else _possible(chosen_studies(STUDIES, only), sets)
    if studies:
        make_folder(out / FOLDER)
    check_writable([out / PAGE])
    if studies:
        write_figures(_measured(studies, sets, seed), out)
    typer.echo(f"{out / PAGE}: {write_study_page(STUDIES, out)} studies")


def _measured(
    studies: Sequence[Study], sets: Sequence[EvaluationSet], seed: int
) -> list[tuple[Study, Report]]:
    settings = load()
    work = [(one, _configs(studies, one)) for one in sets]
    clocked = {config.name for each in studies if each.is_timed for config in each.parsed()}
    runs = measured([one for one in work if one[1]], settings, clocked=clocked)
    return [
        (each, _report(each, sets, runs, seed=seed, embedder=settings.embedder)) for each in studies
    ]


def _possible(studies: Sequence[Study], sets: Sequence[EvaluationSet]) -> list[Study]:
    """Those for which there is a set here."""
    names = {one.name for one in sets}
    found = [study for study in studies if not study.sets or names & set(study.sets)]
    if not found:
        needed = sorted({name for study in studies for name in study.sets})
        raise InvalidInput(
            "none of the studies' sets is here",
            field="--data",
            remedy=f"Name a folder that holds some of: {', '.join(needed)}.",
        )
    return found


def _configs(studies: Sequence[Study], data: EvaluationSet) -> list[Config]:
    """What some study wants to know of a set."""
    asking = (study for study in studies if not study.sets or data.name in study.sets)
    return _unique(config for study in asking for config in study.parsed())


def _unique(configs: Iterable[Config]) -> list[Config]:
    return list({config.name: config for config in configs}.values())


def _report(
    study: Study, sets: Sequence[EvaluationSet], runs: Sequence[Run], *, seed: int, embedder: str
) -> Report:
    configs = study.parsed()
    names = [config.name for config in configs]
    here = [one for one in sets if not study.sets or one.name in study.sets]
    found = scored(here, [run for run in runs if run.config.name in names])
    return make_report(
        found,
        against=study.baseline,
        seed=seed,
        provenance=provenance(here, configs, seed=seed, embedder=embedder),
        metrics=study.metrics,
        strata=study.strata,
    )
