"""`recollect bench graph-speed`: how long the walk over the concept graph takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from recollect.bench.graph_speed import SEEDS, GraphTiming, measure_graph


def graph_speed(
    *,
    memories: Annotated[
        str, typer.Option(help="How many memories the graph has at each step, ascending.")
    ] = "5000,50000,300000",
    queries: Annotated[int, typer.Option(min=2, help="Walks at each step.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same graphs and walks.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the figures to this file as JSON.")
    ] = None,
) -> None:
    """How long the walk over the concept graph takes as it grows, on made-up graphs."""
    found = [measure_graph(size, queries, seed) for size in _sizes(memories)]
    table = Table("memories", "concepts", "links", "MB", "build ms", "p50 ms", "p95 ms")
    for one in found:
        table.add_row(*_row(one))
    Console().print(table)
    if json_file is not None:
        text = json.dumps({"results": [one.as_dict() for one in found]}, indent=2)
        json_file.write_text(f"{text}\n", encoding="utf-8")


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
