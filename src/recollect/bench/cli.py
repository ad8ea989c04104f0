"""`recollect bench`: measure it on your own machine."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from recollect.bench.corpus import OWNER
from recollect.bench.speed import SpeedReport, measure
from recollect.settings import load
from recollect.usecases.owned import OwnedRecollect
from recollect.wiring import open_postgres, parts_on

app = typer.Typer(help="Measure recall on this machine.", no_args_is_help=True)
console = Console(stderr=True, highlight=False)


@app.callback()
def bench() -> None:
    """Measure recall on this machine; nothing of yours is read or written."""


@app.command()
def speed(
    rows: Annotated[
        str, typer.Option(help="How many memories the store holds at each step, ascending.")
    ] = "5000,50000",
    queries: Annotated[int, typer.Option(min=2, help="Queries of each kind.")] = 100,
    seed: Annotated[int, typer.Option(help="Same seed, same memories and queries.")] = 1,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the report to this file as JSON.")
    ] = None,
) -> None:
    """How long recall takes as the store grows, on a throw-away embedded Postgres."""
    sizes = _sizes(rows)
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        # As root, Postgres runs as another account, which must be able to pass through.
        Path(folder).chmod(0o711)
        report = asyncio.run(_measured(Path(folder), sizes, queries, seed))
    _print(report)
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_dict(), indent=2) + "\n")


def _sizes(text: str) -> list[int]:
    try:
        sizes = [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < 100 or sizes != sorted(set(sizes)):
        raise typer.BadParameter(
            f"{text!r} is not a list of ascending sizes; give for example 5000,300000 "
            "(100 is the smallest).",
            param_hint="--rows",
        )
    return sizes


async def _measured(home: Path, sizes: list[int], queries: int, seed: int) -> SpeedReport:
    with _bar() as bar:
        task = bar.add_task("starting Postgres", total=None)

        def progress(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        settings = load(home=home, database_url=None, owner=OWNER)
        async with open_postgres(settings) as (store, _):
            recollect = OwnedRecollect(parts_on(store, settings), OWNER)
            return await measure(
                store, recollect, sizes, queries=queries, seed=seed, progress=progress
            )


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


def _print(report: SpeedReport) -> None:
    out = Console(highlight=False)
    sizes = sorted({timing.rows for timing in report.results})
    timings = Table("part", "query", *(f"{size:,} rows, p50 / p95 ms" for size in sizes), "growth")
    cells = {(one.part, one.query_kind, one.rows): one for one in report.results}
    for growth in report.growth:
        columns = [cells[growth.part, growth.query_kind, size] for size in sizes]
        timings.add_row(
            growth.part,
            growth.query_kind,
            *(f"{one.p50_ms:.1f} / {one.p95_ms:.1f}" for one in columns),
            f"{growth.ratio:.2f} ×",
        )
    out.print(timings)
    agreed = Table("rows", "query", "scope", "of the unbounded query's first ten, found")
    for one in report.agreement:
        agreed.add_row(f"{one.rows:,}", one.query_kind, one.scope, f"{100 * one.agreement:.1f} %")
    out.print(agreed)
