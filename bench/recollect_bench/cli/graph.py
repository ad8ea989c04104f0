"""`recollect bench graph-speed`: how long the graph leg takes, and how that compares."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

from rich.table import Table

from recollect.settings import load
from recollect.shells.cli.framework.commands import Option
from recollect.shells.progress import step_bar
from recollect.wiring.context import catalogue
from recollect_bench.cli.data import Data
from recollect_bench.cli.measuring import (
    ALL,
    check_writable,
    parse_sizes,
    report_console,
    select_sets,
)
from recollect_bench.speed.corpus import OWNER, Corpus
from recollect_bench.speed.graph import SEEDS, GraphTiming, measure_graph
from recollect_bench.speed.graph_rig import LegTiming, time_legs
from recollect_bench.speed.vectors import Subjects
from recollect_bench.temporary import temporary_home

BAR: Final = 1.5
"""The limit for the graph leg's p95, relative to the dense leg's."""


def graph_speed(
    *,
    memories: Annotated[
        str, Option("--memories", help="Graph sizes to measure, in memories, ascending.")
    ] = "5000,50000,300000",
    queries: Annotated[int, Option("--queries", min=2, help="Number of walks per size.")] = 100,
    seed: Annotated[int, Option("--seed", min=0, help="Random seed for graphs and walks.")] = 1,
    legs: Annotated[
        bool,
        Option(
            "--legs/--no-legs",
            help="Also time the whole graph leg and the dense leg on a store of each size.",
        ),
    ] = True,
    data: Data = None,
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the figures to FILE as JSON.")
    ] = None,
) -> None:
    """Measure how long the graph leg takes as the graph grows, on synthetic graphs: the walk alone,
    and the whole leg next to the dense leg on a temporary Postgres. With --data, the vectors are
    placed among those of real texts.
    """
    sizes = parse_sizes(memories, "--memories", example="5000,50000", smallest=SEEDS)
    if json_file is not None:
        check_writable([json_file])
    walks = [measure_graph(size, queries, seed) for size in sizes]
    table = Table("memories", "concepts", "links", "MB", "build ms", "p50 ms", "p95 ms")
    for walk in walks:
        table.add_row(*_row(walk))
    console = report_console()
    console.print(table)
    timed = _time_legs(sizes, queries, seed, data) if legs else []
    if timed:
        console.print(_legs_table(timed))
    if json_file is not None:
        figures = {
            "results": [walk.as_dict() for walk in walks],
            "legs": [leg.as_dict() for leg in timed],
            "bar": BAR,
        }
        json_file.write_text(f"{json.dumps(figures, indent=2)}\n", encoding="utf-8")


def _time_legs(sizes: list[int], queries: int, seed: int, data: Path | None) -> list[LegTiming]:
    from recollect.adapters.postgres.embedded import EmbeddedPostgres

    corpus, yours = Corpus.seeded(seed), load()
    subjects = Subjects.made_up(corpus, sizes[-1])
    if data is not None:
        subjects = Subjects.of_sets(select_sets(data, ALL), seed)

    async def timed(url: str, home: Path) -> list[LegTiming]:
        mine = load(home=home, database_url=url, owner=OWNER, embedder=yours.embedder)
        # The model is cached in the user's home, so it is not built again for every run.
        async with catalogue(yours, step) as embedders:
            return await time_legs(
                mine, url, embedders, corpus, subjects, sizes, queries=queries, progress=progress
            )

    def progress(what: str, done: int, total: int) -> None:
        step(what, done / max(1, total))

    with (
        step_bar() as step,
        temporary_home() as home,
        EmbeddedPostgres(home, account=yours.postgres_account) as url,
    ):
        return asyncio.run(timed(url, home))


def _legs_table(timed: Sequence[LegTiming]) -> Table:
    table = Table("memories", "concepts", "read ms", "graph p50, p95", "dense p50, p95", "ratio")
    table.caption = f"ms per leg; the limit for the p95 ratio is {BAR:g}"
    for leg in timed:
        table.add_row(
            f"{leg.memories:,}",
            f"{leg.concepts:,}",
            f"{leg.read_ms:.0f}",
            f"{leg.graph_p50_ms:.1f}, {leg.graph_p95_ms:.1f}",
            f"{leg.dense_p50_ms:.1f}, {leg.dense_p95_ms:.1f}",
            f"{leg.ratio:g}",
        )
    return table


def _row(walk: GraphTiming) -> list[str]:
    return [
        f"{walk.memories:,}",
        f"{walk.concepts:,}",
        f"{walk.links:,}",
        f"{walk.megabytes:g}",
        f"{walk.build_ms:g}",
        f"{walk.p50_ms:g}",
        f"{walk.p95_ms:g}",
    ]
