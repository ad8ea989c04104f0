"""`recollect bench`: measure it on your own machine."""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from recollect.bench.cli_sync import sync
from recollect.bench.corpus import OWNER, Corpus
from recollect.bench.rig import Dense, Rig
from recollect.bench.speed import SpeedReport, measure
from recollect.core.errors import InvalidInput
from recollect.settings import load
from recollect.usecases.dense import dense_leg
from recollect.usecases.owned import OwnedRecollect
from recollect.wiring import catalogue, open_postgres, parts_on

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
console = Console(stderr=True, highlight=False)


@app.callback()
def bench() -> None:
    """Measure recall on this machine; nothing of yours is read or written."""


app.command()(sync)


@app.command()
def speed(
    *,
    rows: Annotated[
        str, typer.Option(help="How many memories the store holds at each step, ascending.")
    ] = "5000,50000",
    queries: Annotated[int, typer.Option(min=2, help="Queries of each kind.")] = 100,
    seed: Annotated[int, typer.Option(help="Same seed, same memories and queries.")] = 1,
    dense: Annotated[
        bool, typer.Option(help="Also the dense leg, with the model that RECOLLECT_EMBEDDER names.")
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Also write the report to this file as JSON.")
    ] = None,
) -> None:
    """How long recall takes as the store grows, on a throw-away embedded Postgres."""
    sizes = _sizes(rows)
    if json_file is not None:
        _check_writable(json_file)
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        # As root, Postgres runs as another account, which must be able to pass through.
        Path(folder).chmod(0o711)
        report = asyncio.run(_measured(Path(folder), sizes, queries, seed, dense=dense))
    _print(report)
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_dict(), indent=2) + "\n")


def _check_writable(file: Path) -> None:
    """Before minutes of measuring, not after them."""
    try:
        with file.open("a"):
            pass
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}",
            field="--json",
            remedy="Name a file in a folder that exists and that you may write to.",
        ) from error


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


async def _measured(
    home: Path, sizes: list[int], queries: int, seed: int, *, dense: bool
) -> SpeedReport:
    mine, yours = load(home=home, database_url=None, owner=OWNER), load()
    with _bar() as bar:
        task = bar.add_task("starting Postgres", total=None)

        def progress(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        def building(what: str, share: float) -> None:
            progress(what, round(100 * share), 100)

        # A model is not made again for every run: it comes from, and stays in, the user's folder.
        async with open_postgres(mine) as (store, _), catalogue(yours, building) as embedders:
            parts = parts_on(store, mine)
            opened = None
            if dense and store.vectors is not None:
                embedder = await embedders.embedder(yours.embedder)
                corpus = Corpus.seeded(seed)
                opened = await Dense.opened(store.vectors, embedder, yours.embedder, corpus)
                legs = {**parts.legs, "dense": dense_leg(store.vectors, embedders)}
                parts = replace(parts, legs=legs)
            name = yours.embedder if opened else "none"
            rig = Rig(store, OwnedRecollect(parts, OWNER), name, opened)
            return await measure(rig, sizes, queries=queries, seed=seed, progress=progress)


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
    out.print(_agreement(report))
    overhead = Table("rows", "query", "whole / (embedding + slowest leg)")
    for each in report.overhead:
        overhead.add_row(f"{each.rows:,}", each.query_kind, f"{each.ratio:.2f}")
    out.print(overhead)


def _agreement(report: SpeedReport) -> Table:
    scopes = list(dict.fromkeys(one.scope for one in report.agreement))
    table = Table(
        "rows", "leg", "query", *(f"in {scope}" for scope in scopes), title="as exhaustive search"
    )
    shares = {
        (one.rows, one.part, one.query_kind, one.scope): one.agreement for one in report.agreement
    }
    for rows, part, kind in dict.fromkeys(key[:3] for key in shares):
        found = (f"{100 * shares[rows, part, kind, scope]:.1f} %" for scope in scopes)
        table.add_row(f"{rows:,}", part, kind, *found)
    return table
