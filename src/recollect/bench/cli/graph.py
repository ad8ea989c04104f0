"""`recollect bench graph-speed`: how long the graph leg takes, and how that compares."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from recollect.bench.cli.data import Data
from recollect.bench.cli.measuring import ALL, check_writable, chosen_sets
from recollect.bench.speed.corpus import OWNER, Corpus
from recollect.bench.speed.graph import SEEDS, GraphTiming, measure_graph
from recollect.bench.speed.graph_rig import LegTiming, time_legs
from recollect.bench.speed.vectors import Subjects
from recollect.bench.temporary import throw_away_home
from recollect.settings import load
from recollect.shells.progress import step_bar
from recollect.wiring import catalogue

BAR: Final = 1.5
"""What the graph leg's p95 may be, for 1 of the dense leg's."""


def graph_speed(
    *,
    memories: Annotated[
        str, typer.Option(help="How many memories the graph has at each step, ascending.")
    ] = "5000,50000,300000",
    queries: Annotated[int, typer.Option(min=2, help="Walks at each step.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same graphs and walks.")] = 1,
    legs: Annotated[
        bool, typer.Option(help="Also the whole leg and the dense leg, on a store of each size.")
    ] = True,
    data: Data = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the figures to this file as JSON.")
    ] = None,
) -> None:
    """How long the graph leg takes as the graph grows, on made-up graphs: the walk alone, and the
    whole leg beside the dense one on a throw-away Postgres. With a folder of evaluation sets the
    vectors lie among those of real texts.
    """
    sizes = _sizes(memories)
    if json_file is not None:
        check_writable([json_file])
    walks = [measure_graph(size, queries, seed) for size in sizes]
    table = Table("memories", "concepts", "links", "MB", "build ms", "p50 ms", "p95 ms")
    for walk in walks:
        table.add_row(*_row(walk))
    console = Console()
    console.print(table)
    timed = _time_legs(sizes, queries, seed, data) if legs else []
    if timed:
        console.print(_legs_table(timed))
    if json_file is not None:
        figures = {
            "results": [one.as_dict() for one in walks],
            "legs": [one.as_dict() for one in timed],
            "bar": BAR,
        }
        json_file.write_text(f"{json.dumps(figures, indent=2)}\n", encoding="utf-8")


def _time_legs(sizes: list[int], queries: int, seed: int, data: Path | None) -> list[LegTiming]:
    from recollect.adapters.postgres.embedded import EmbeddedPostgres

    corpus, yours = Corpus.seeded(seed), load()
    subjects = Subjects.made_up(corpus, sizes[-1])
    if data is not None:
        subjects = Subjects.of_sets(chosen_sets(data, ALL), seed)

    async def timed(url: str, home: Path) -> list[LegTiming]:
        mine = load(home=home, database_url=url, owner=OWNER, embedder=yours.embedder)
        # A model is not made again for every run: it comes from the user's folder.
        async with catalogue(yours, step) as embedders:
            return await time_legs(
                mine, url, embedders, corpus, subjects, sizes, queries=queries, progress=progress
            )

    def progress(what: str, done: int, total: int) -> None:
        step(what, done / max(1, total))

    with (
        step_bar() as step,
        throw_away_home() as home,
        EmbeddedPostgres(home, account=yours.postgres_account) as url,
    ):
        return asyncio.run(timed(url, home))


def _legs_table(timed: Sequence[LegTiming]) -> Table:
    table = Table("memories", "concepts", "read ms", "graph p50, p95", "dense p50, p95", "ratio")
    table.caption = f"ms of a whole leg; the ratio of the p95 may be {BAR:g}"
    for one in timed:
        table.add_row(
            f"{one.memories:,}",
            f"{one.concepts:,}",
            f"{one.read_ms:.0f}",
            f"{one.graph_p50_ms:.1f}, {one.graph_p95_ms:.1f}",
            f"{one.dense_p50_ms:.1f}, {one.dense_p95_ms:.1f}",
            f"{one.ratio:g}",
        )
    return table


def _row(one: GraphTiming) -> list[str]:
    return [
        f"{one.memories:,}",
        f"{one.concepts:,}",
        f"{one.links:,}",
        f"{one.megabytes:g}",
        f"{one.build_ms:g}",
        f"{one.p50_ms:g}",
        f"{one.p95_ms:g}",
    ]


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < SEEDS or sizes != sorted(set(sizes)):
        raise typer.BadParameter(
            f"{text!r} is not a list of ascending sizes; give for example 5000,50000 "
            f"({SEEDS} is the smallest).",
            param_hint="--memories",
        )
    return sizes
