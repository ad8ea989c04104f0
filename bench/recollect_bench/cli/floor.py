"""`recollect bench floor`: how relevant a memory must be to be injected into a prompt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

from rich.table import Table

from recollect.core.recall.relevance import FLOOR, MEANING_FLOOR
from recollect.settings import Settings, load
from recollect.shells.cli.framework.commands import Option
from recollect_bench.cli.data import Data
from recollect_bench.cli.measuring import ALL, check_writable, report_console, select_sets
from recollect_bench.cli.sync import progress_bar
from recollect_bench.data.datasets import EvaluationSet
from recollect_bench.runs.configs import Layout
from recollect_bench.runs.measure import open_tools
from recollect_bench.runs.stage import Progress, staged
from recollect_bench.runs.stores import draw_sizes, parse_sizes
from recollect_bench.studies.floor import Asked, FloorRow, ask, build_prompts, table
from recollect_bench.studies.floor_plot import floor_plot
from recollect_bench.temporary import temporary_home

WORD_FLOORS: Final = (2.0, 2.5, 3.0, 3.2, FLOOR, 3.6, 3.8, 4.0, 4.5, 5.0)
MEANING_FLOORS: Final = (0.5, 0.55, 0.6, 0.62, 0.64, 0.65, 0.66, MEANING_FLOOR, 0.68, 0.7, 0.75)

Store = tuple[str, EvaluationSet]
"""The name of the set and size that a store is reported under, and the store's data."""


def floor(
    *,
    data: Data = None,
    sets: Annotated[
        str, Option("--sets", help="Sets to use: names separated by commas, or all.")
    ] = ALL,
    dense: Annotated[
        bool,
        Option(
            "--dense/--no-dense",
            help="Also measure by meaning, with the model in RECOLLECT_EMBEDDER.",
        ),
    ] = True,
    stores_of: Annotated[
        str | None,
        Option("--stores-of", help="Ask small stores of these sizes, drawn from each set."),
    ] = None,
    stores: Annotated[
        int,
        Option("--stores", min=1, help="With --stores-of: stores drawn per set and size, at most."),
    ] = 5,
    seed: Annotated[int, Option("--seed", min=0, help="Random seed for choosing questions.")] = 1,
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the report to FILE as JSON.")
    ] = None,
    plot: Annotated[
        Path | None, Option("--plot", help="Also draw the curves as a PNG image in FILE.")
    ] = None,
) -> None:
    """Show how many answerable prompts each relevance floor helps, and how many others it lets
    disturb.
    """
    check_writable([file for file in (json_file, plot) if file is not None])
    chosen, settings = select_sets(data, sets), load()
    asked = [(data.name, data) for data in chosen]
    if stores_of is not None:
        drawn = draw_sizes(chosen, parse_sizes(stores_of), stores, seed)
        asked = [(size.data.name, store) for size in drawn for store in size.stores]
    with progress_bar() as progress, temporary_home() as home:
        words = asyncio.run(_ask_words(asked, chosen, seed, progress))
        meaning = (
            asyncio.run(_ask_meaning(asked, chosen, settings, home, seed, progress))
            if dense
            else {}
        )
    report = {
        "by words": {name: table(found, WORD_FLOORS) for name, found in words.items()},
        "by meaning": {name: table(found, MEANING_FLOORS) for name, found in meaning.items()},
    }
    tables = {
        f"{name}, {title}": rows for title, found in report.items() for name, rows in found.items()
    }
    console = report_console()
    for title, rows in tables.items():
        console.print(_build_table(title, rows))
    if json_file is not None:
        document = {
            title: {name: [asdict(row) for row in rows] for name, rows in found.items()}
            for title, found in report.items()
        }
        json_file.write_text(json.dumps(document, indent=2) + "\n")
    if plot is not None:
        floor_plot(tables, plot)


async def _ask_words(
    stores: Sequence[Store], sets: Sequence[EvaluationSet], seed: int, progress: Progress
) -> dict[str, list[Asked]]:
    """Ask on local stores."""
    found: dict[str, list[Asked]] = {}
    for name, data in stores:
        prompts = list(build_prompts(data, sets, seed))
        with TemporaryDirectory(prefix="recollect-bench-") as folder:
            local = Layout(engine="sqlite")
            async with staged(data, local, None, Path(folder), progress) as stage:
                words, _ = await ask(stage, prompts, progress)
        found.setdefault(name, []).extend(words)
    return found


async def _ask_meaning(
    stores: Sequence[Store],
    sets: Sequence[EvaluationSet],
    settings: Settings,
    home: Path,
    seed: int,
    progress: Progress,
) -> dict[str, list[Asked]]:
    """Ask on a server's stores."""
    found: dict[str, list[Asked]] = {}
    async with AsyncExitStack() as opened:
        tools = await opened.enter_async_context(
            open_tools(settings, home, progress, lambda *_: None)
        )
        for name, data in stores:
            prompts = list(build_prompts(data, sets, seed))
            async with (
                tools.databases.empty() as url,
                staged(data, Layout(), tools.embedders, url, progress) as stage,
            ):
                _, meaning = await ask(stage, prompts, progress)
            found.setdefault(name, []).extend(meaning)
    return found


def _build_table(title: str, rows: Sequence[FloorRow]) -> Table:
    shown = Table(
        title,
        "helped %",
        "unanswerable %",
        "other sets' prompts %",
        "everyday prompts %",
        *rows[0].strata,
        box=None,
        pad_edge=False,
    )
    for row in rows:
        shares = (row.helped, row.own, row.strange, row.everyday, *row.strata.values())
        shown.add_row(f"{row.floor:g}", *(f"{share:.3g}" for share in shares))
    return shown
