"""`recollect bench tune`: which fusion parameters to use, by questions that did not choose them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from recollect.bench.cli.data import Data
from recollect.bench.cli.measuring import ALL, check_writable, chosen_sets, measured
from recollect.bench.cli.own import read_memories
from recollect.bench.data.datasets import EvaluationSet
from recollect.bench.own.labels import present_labels
from recollect.bench.own.memories import evaluation_set
from recollect.bench.own.private import private_folder
from recollect.bench.runs.configs import Config, parse_configs
from recollect.bench.scores.metrics import METRICS
from recollect.bench.scores.scoring import scored
from recollect.bench.studies.tune import (
    CURRENT,
    DEFAULT_SWEEP,
    Tuning,
    as_dict,
    candidates,
    changes,
    commands,
    halves,
    tune,
)
from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect.settings import Settings, load
from recollect.wiring import open_service


def tune_settings(
    *,
    data: Data = None,
    sets: Annotated[str, typer.Option(help="Which sets: their names, or all.")] = ALL,
    own: Annotated[
        bool, typer.Option("--own", help="Your private set instead; see `recollect bench own`.")
    ] = False,
    configs: Annotated[str, typer.Option(help="What to try, as a sweep.")] = DEFAULT_SWEEP,
    metric: Annotated[str, typer.Option(help=f"One of {', '.join(METRICS)}.")] = "nDCG@10",
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same halves and figures.")] = 1,
    apply: Annotated[
        bool, typer.Option("--apply", help="Make the change, if one is recommended.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the outcome to this file as JSON.")
    ] = None,
) -> None:
    """Choose fusion parameters on half of the questions and confirm them on the other half."""
    _check_metric(metric)
    if json_file is not None:
        check_writable([json_file])
    settings = load()
    found = _own_set(settings) if own else chosen_sets(data, sets)
    halves(found, seed)  # complains of too few questions before minutes of measuring
    present = asyncio.run(_present(settings))
    tried = candidates(parse_configs(configs), present)
    work = [(one, tried) for one in found]
    runs = measured(work, settings, timed=0, keep_vectors=not own)
    tuning = tune(scored(found, runs), metric, seed)
    chosen = next(config for config in tried if config.name == tuning.chosen)
    wanted = changes(present, chosen) if tuning.recommended else {}
    _print(tuning, wanted)
    if wanted and (said := remark(settings, chosen)):
        typer.echo(said)
    if json_file is not None:
        json_file.write_text(json.dumps(as_dict(tuning, wanted), indent=2) + "\n")
    if apply and wanted:
        asyncio.run(_apply(settings, wanted))
        typer.echo("applied; `recollect settings log` shows what was changed")


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
    return [evaluation_set(memories, present_labels(folder, memories.memories))]


async def _present(settings: Settings) -> RecallSettings:
    """Those of the store, without making one where there is none."""
    if settings.api_url is None and not settings.sqlite_path.exists():
        return RecallSettings()
    async with open_service(settings) as recollect:
        return await recollect.settings()


async def _apply(settings: Settings, wanted: Mapping[str, object]) -> None:
    async with open_service(settings) as recollect:
        await recollect.change_settings(wanted)


def remark(settings: Settings, chosen: Config) -> str | None:
    """What is odd about a change that is only recommended for another store than the one here."""
    if settings.api_url is not None or chosen.layout.engine == "sqlite":
        return None
    return (
        "the settings here are those of the local store, which recalls by words alone; to change a "
        "server's, name it with RECOLLECT_API_URL"
    )


def _print(tuning: Tuning, wanted: Mapping[str, object]) -> None:
    out = Console(highlight=False, markup=False)
    best = Table("tried", f"{tuning.metric}, choosing half", title="best first")
    for name, value in sorted(tuning.means.items(), key=lambda one: -one[1]):
        best.add_row(name, f"{100 * value:.1f}")
    out.print(best)
    held = Table("held out", "questions", f"{tuning.chosen} against {CURRENT}", "p")
    rows = dict(tuning.per_set)
    if len(rows) > 1:
        rows["mean of sets"] = tuning.held_out
    for name, one in rows.items():
        told = f"{100 * one.value:+.2f} [{100 * one.low:+.2f}, {100 * one.high:+.2f}]"
        held.add_row(name, str(one.count), told, f"{one.p:.4f}")
    out.print(held)
    if wanted:
        lines = ("a change is recommended:", *commands(wanted))
    elif tuning.chosen == CURRENT:
        lines = ("no change is recommended: nothing that was tried is better than what is set",)
    else:
        lines = ("no change is recommended: the held-out interval does not lie above zero",)
    for line in lines:
        out.print(line, soft_wrap=True)
