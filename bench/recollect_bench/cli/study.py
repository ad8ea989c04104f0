"""`recollect bench study`: measure the studies and write the benchmark page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from recollect.core.errors import InvalidInput
from recollect.settings import Settings, load
from recollect.shells.cli.framework.commands import Option
from recollect.shells.cli.framework.output import print_text
from recollect_bench.cli.data import Data
from recollect_bench.cli.measuring import (
    ALL,
    check_writable,
    make_folder,
    measure_runs,
    select_sets,
)
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.reports.machine import provenance
from recollect_bench.runs.configs import Config
from recollect_bench.runs.run import Run
from recollect_bench.runs.run_cache import RunCache
from recollect_bench.runs.stores import draw_sizes
from recollect_bench.scores.report import Report
from recollect_bench.scores.scoring import score_runs
from recollect_bench.scores.summary import make_report
from recollect_bench.studies.page import FOLDER, PAGE, write_figures, write_study_page
from recollect_bench.studies.studies import STUDIES, Study, select_studies

STORES = 10
"""Maximum number of stores drawn per set and size."""


def study(
    *,
    data: Data = None,
    out: Annotated[
        Path, Option("--out", help=f"Directory for {PAGE}, with plots and figures in {FOLDER}/.")
    ] = Path("docs"),
    only: Annotated[
        str | None,
        Option("--only", help="Studies to measure: slugs separated by commas. Default: all."),
    ] = None,
    seed: Annotated[int, Option("--seed", min=0, help="Random seed for resampling.")] = 1,
    page_only: Annotated[
        bool,
        Option("--page-only", help="Rewrite the page from existing figures without measuring."),
    ] = False,
) -> None:
    """Measure the questions that decided the defaults and write the benchmark page. A command that
    was stopped continues when it is run again. Studies that are not measured keep their existing
    figures.
    """
    measured = [] if page_only else select_studies(STUDIES, only)
    count = write_studies(STUDIES, measured, data, out, seed=seed)
    print_text(f"{out / PAGE}: {count} studies")


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
        _measure_studies(measurable, sets, seed, out)
    return write_study_page(studies, out)


def _measure_studies(
    studies: Sequence[Study], sets: Sequence[EvaluationSet], seed: int, out: Path
) -> None:
    """Measure the studies set by set. Finished runs are kept, so a second call continues."""
    settings = load()
    cache = RunCache(settings.home / "bench" / "runs", settings.embedder)
    plain = [study for study in studies if not study.stores_of]
    runs: list[Run] = []
    for data in sets:
        runs += _measure_set(data, _select_configs(plain, data), settings, cache)
    for study in plain:
        report = _report(study, _sets_of(study, sets), runs, seed=seed, embedder=settings.embedder)
        write_figures(study, report, out)
    for study in studies:
        if study.stores_of:
            _measure_stores(study, sets, settings, cache, seed, out)


def _measure_stores(
    study: Study,
    sets: Sequence[EvaluationSet],
    settings: Settings,
    cache: RunCache,
    seed: int,
    out: Path,
) -> None:
    drawn = draw_sizes(_sets_of(study, sets), study.stores_of, STORES, seed)
    runs = [
        run
        for size in drawn
        for run in size.join(
            [
                run
                for store in size.stores
                for run in _measure_set(store, study.parse_configs(), settings, cache)
            ]
        )
    ]
    report = _report(
        study, [size.data for size in drawn], runs, seed=seed, embedder=settings.embedder
    )
    write_figures(study, report, out)


def _measure_set(
    data: EvaluationSet,
    configs: Sequence[Config],
    settings: Settings,
    cache: RunCache,
) -> list[Run]:
    """Return the runs of one set: cached ones, and the missing ones, measured now."""
    found = {config.name: cache.read(data, config) for config in configs}
    missing = [config for config in configs if found[config.name] is None]
    if missing:
        measured = measure_runs([(data, missing)], settings, timed=0)
        cache.write(data, measured)
        found |= {run.config.name: run for run in measured}
    return [run for run in found.values() if run is not None]


def _sets_of(study: Study, sets: Sequence[EvaluationSet]) -> list[EvaluationSet]:
    return [data for data in sets if not study.sets or data.name in study.sets]


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


def _select_configs(studies: Sequence[Study], data: EvaluationSet) -> list[Config]:
    """Return all configurations that any of the studies measures on a set."""
    using = (study for study in studies if _sets_of(study, [data]))
    return _drop_duplicates(config for study in using for config in study.parse_configs())


def _drop_duplicates(configs: Iterable[Config]) -> list[Config]:
    return list({config.name: config for config in configs}.values())


def _report(
    study: Study, sets: Sequence[EvaluationSet], runs: Sequence[Run], *, seed: int, embedder: str
) -> Report:
    configs = study.parse_configs()
    names = [config.name for config in configs]
    found = score_runs(sets, [run for run in runs if run.config.name in names])
    return make_report(
        found,
        against=study.baseline,
        seed=seed,
        provenance=provenance(sets, configs, seed=seed, embedder=embedder),
        metrics=study.metrics,
        strata=study.strata,
    )
