"""`recollect bench confidence`: of the hits shown with a confidence, how many answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

from rich.table import Table

from recollect.settings import Settings, load
from recollect.shells.cli.framework.commands import Option
from recollect_bench.cli.data import Data
from recollect_bench.cli.measuring import ALL, report_console, select_sets
from recollect_bench.cli.sync import progress_bar
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.runs.configs import Layout
from recollect_bench.runs.measure import open_tools
from recollect_bench.runs.stage import Progress, staged
from recollect_bench.runs.stores import draw_sizes, parse_sizes
from recollect_bench.studies.confidence import Asked, ask, count_bands, count_weak
from recollect_bench.studies.floor import build_prompts
from recollect_bench.temporary import temporary_home

_STORES: Final = 40
"""Drawn of each set and size, at most."""


def confidence(
    *,
    data: Data = None,
    sets: Annotated[
        str, Option("--sets", help="Sets to use: names separated by commas, or all.")
    ] = ALL,
    dense: Annotated[
        bool,
        Option("--dense/--no-dense", help="Recall by meaning, too, with RECOLLECT_EMBEDDER."),
    ] = True,
    stores_of: Annotated[
        str | None,
        Option("--stores-of", help="Ask small stores of these sizes, drawn from each set."),
    ] = None,
    seed: Annotated[int, Option("--seed", min=0, help="Random seed for choosing questions.")] = 1,
) -> None:
    """Show how many of the hits with each confidence answer, on both halves of the questions."""
    chosen, settings = select_sets(data, sets), load()
    if stores_of is not None:
        drawn = draw_sizes(chosen, parse_sizes(stores_of), _STORES, seed)
        chosen = [store for size in drawn for store in size.stores]
    with progress_bar() as progress, temporary_home() as home:
        found = asyncio.run(_ask(chosen, settings, home, seed, progress, by_meaning=dense))
    console = report_console()
    for half, title in enumerate(("the half it was fitted to", "the other half")):
        asked = [prompt for prompt in found if prompt.half == half]
        table = Table(title, "hits", "confidence %", "answer %", box=None, pad_edge=False)
        for band in count_bands(asked):
            table.add_row(band.title, f"{band.hits}", f"{band.shown:.1f}", f"{band.right:.1f}")
        console.print(table)
        weak = Table("", "prompts", "weak %", "first hit, confidence %", box=None, pad_edge=False)
        for row in count_weak(asked):
            weak.add_row(row.kind, f"{row.prompts}", f"{row.weak:.1f}", f"{row.first:.1f}")
        console.print(weak)


async def _ask(
    sets: Sequence[EvaluationSet],
    settings: Settings,
    home: Path,
    seed: int,
    progress: Progress,
    *,
    by_meaning: bool,
) -> list[Asked]:
    found: list[Asked] = []
    async with open_tools(settings, home, progress, lambda *_: None) as tools:
        for data in sets:
            prompts = list(build_prompts(data, sets, seed))
            embedders = tools.embedders if by_meaning else None
            with TemporaryDirectory(prefix="recollect-bench-") as folder:
                layout = Layout(engine="sqlite")
                async with staged(data, layout, embedders, Path(folder), progress) as stage:
                    found += await ask(stage, prompts, progress)
    return found
