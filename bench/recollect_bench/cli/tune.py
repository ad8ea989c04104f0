"""`recollect bench tune`: choose fusion parameters and confirm them on held-out questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from rich.table import Table

from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect.settings import Settings, load
from recollect.shells.cli.framework.commands import Option
from recollect.shells.cli.framework.output import print_text
from recollect.wiring.local import open_service
from recollect_bench.cli.data import Data
from recollect_bench.cli.measuring import (
    ALL,
    check_writable,
    measure_runs,
    report_console,
    select_sets,
)
from recollect_bench.cli.own import read_memories
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.own.labels import read_current_labels
from recollect_bench.own.memories import evaluation_set
from recollect_bench.own.private import private_folder
from recollect_bench.runs.configs import Config, parse_configs
from recollect_bench.scores.metrics import METRICS
from recollect_bench.scores.scoring import score_runs
from recollect_bench.studies.tune import (
    CURRENT,
    DEFAULT_SWEEP,
    Tuning,
    as_dict,
    build_candidates,
    changes,
    commands,
    split_halves,
    tune,
)


def tune_settings(
    *,
    data: Data = None,
    sets: Annotated[
        str, Option("--sets", help="Sets to use: names separated by commas, or all.")
    ] = ALL,
    own: Annotated[
        bool, Option("--own", help="Use your private set; see `recollect bench own`.")
    ] = False,
    configs: Annotated[
        str, Option("--configs", help="Configurations to try, as a sweep.")
    ] = DEFAULT_SWEEP,
    metric: Annotated[
        str, Option("--metric", help=f"Metric to optimise: {', '.join(METRICS)}.")
    ] = "nDCG@10",
    seed: Annotated[
        int, Option("--seed", min=0, help="Random seed for the halves and resampling.")
    ] = 1,
    apply: Annotated[
        bool, Option("--apply", help="Apply the change if one is recommended.")
    ] = False,
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the result to FILE as JSON.")
    ] = None,
) -> None:
    """Choose fusion parameters on one half of the questions and confirm them on the other."""
    _check_metric(metric)
    if json_file is not None:
        check_writable([json_file])
    settings = load()
    found = _own_set(settings) if own else select_sets(data, sets)
    split_halves(found, seed)  # reject too few questions before minutes of measuring
    current = asyncio.run(_read_current(settings))
    tried = build_candidates(parse_configs(configs), current)
    work = [(data, tried) for data in found]
    runs = measure_runs(work, settings, timed=0, keep_vectors=not own)
    tuning = tune(score_runs(found, runs), metric, seed)
    chosen = next(config for config in tried if config.name == tuning.chosen)
    recommended = changes(current, chosen) if tuning.recommended else {}
    _print(tuning, recommended)
    if recommended and (warning := store_warning(settings, chosen)):
        print_text(warning)
    if json_file is not None:
        json_file.write_text(json.dumps(as_dict(tuning, recommended), indent=2) + "\n")
    if apply and recommended:
        asyncio.run(_apply(settings, recommended))
        print_text("applied; see `recollect settings log` for the change")


def _check_metric(metric: str) -> None:
    if metric not in METRICS:
        raise InvalidInput(
            f"there is no metric named {metric[:60]!r}",
            field="--metric",
            remedy=f"Choose one of: {', '.join(METRICS)}.",
        )


def _own_set(settings: Settings) -> list[EvaluationSet]:
    folder = private_folder(settings.home)
    memories = asyncio.run(read_memories(settings))
    return [evaluation_set(memories, read_current_labels(folder, memories.memories))]


async def _read_current(settings: Settings) -> RecallSettings:
    """Read the settings of the store, without creating one."""
    if settings.api_url is None and not settings.sqlite_path.exists():
        return RecallSettings()
    async with open_service(settings) as recollect:
        return await recollect.settings()


async def _apply(settings: Settings, recommended: Mapping[str, object]) -> None:
    async with open_service(settings) as recollect:
        await recollect.change_settings(recommended)


def store_warning(settings: Settings, chosen: Config) -> str | None:
    """Return a warning if the change was measured on another kind of store than the current one."""
    if settings.api_url is not None or chosen.layout.engine == "sqlite":
        return None
    return (
        "these are the settings of the local store, and the change was measured on a server's; "
        "tune with --configs local, or set RECOLLECT_API_URL to change a server's settings"
    )


def _print(tuning: Tuning, recommended: Mapping[str, object]) -> None:
    out = report_console()
    best = Table("tried", f"{tuning.metric}, choosing half", title="best first")
    for name, value in sorted(tuning.means.items(), key=lambda item: -item[1]):
        best.add_row(name, f"{100 * value:.1f}")
    out.print(best)
    held = Table("held out", "questions", f"{tuning.chosen} minus {CURRENT}", "p")
    rows = dict(tuning.per_set)
    if len(rows) > 1:
        rows["mean of sets"] = tuning.held_out
    for name, gain in rows.items():
        shown = f"{100 * gain.value:+.2f} [{100 * gain.low:+.2f}, {100 * gain.high:+.2f}]"
        held.add_row(name, str(gain.count), shown, f"{gain.p:.4f}")
    out.print(held)
    if recommended:
        lines = ("a change is recommended:", *commands(recommended))
    elif tuning.chosen == CURRENT:
        lines = ("no change is recommended: nothing tried is better than the current settings",)
    else:
        lines = ("no change is recommended: the held-out interval is not above zero",)
    for line in lines:
        out.print(line, soft_wrap=True)
