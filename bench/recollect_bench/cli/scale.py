"""`recollect bench scale`: stores of many memories and of many owners."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

from recollect.core.errors import InvalidInput
from recollect.settings import load
from recollect.shells.cli.framework.commands import Option
from recollect.shells.progress import step_bar
from recollect_bench.cli.measuring import check_writable, make_folder, parse_sizes, report_console
from recollect_bench.scale.report import ScaleReport, as_markdown, show
from recollect_bench.scale.stages import (
    Stage,
    State,
    check_room,
    plan_owners,
    plan_rows,
    run_stages,
)
from recollect_bench.temporary import signals_interrupt, temporary_home

_DEFAULT_ROWS: Final = "5000,300000"
_MIN_ROWS, _MIN_OWNERS, _MIN_EACH = 100, 10, 10


def scale(
    *,
    rows: Annotated[
        str | None,
        Option(
            "--rows",
            help="How many memories one owner has, ascending; 5000,300000 without --owners.",
        ),
    ] = None,
    owners: Annotated[
        int | None, Option("--owners", help="Also a store with this many owners of mixed sizes.")
    ] = None,
    total: Annotated[
        int | None, Option("--total", help="How many memories these owners have; 100 each.")
    ] = None,
    queries: Annotated[int, Option("--queries", min=2, help="Queries of each kind.")] = 100,
    seed: Annotated[int, Option("--seed", min=0, help="Same seed, same memories and queries.")] = 1,
    folder: Annotated[
        Path | None,
        Option("--folder", help="Keep the stores and results here; an interrupted run continues."),
    ] = None,
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the report to this file as JSON.")
    ] = None,
    markdown_file: Annotated[
        Path | None, Option("--markdown", help="Also write it to this file as Markdown.")
    ] = None,
) -> None:
    """Recall, storing, embedding and sync in stores of many memories or many owners, on a Postgres
    of its own that is filled in bulk with synthetic memories.
    """
    stages = _plan(rows, owners, total, seed)
    check_writable(file for file in (json_file, markdown_file) if file is not None)
    account = load().postgres_account
    with _home(folder) as home:
        state = State(home, {"queries": queries, "seed": seed})
        missing = [stage for stage in stages if stage.name not in state.results]
        check_room(home, missing)
        with step_bar() as step:

            def progress(what: str, done: int, of: int) -> None:
                step(what, done / max(1, of))

            running = run_stages(
                home,
                missing,
                state,
                account=account,
                seed=seed,
                queries=queries,
                progress=progress,
            )
            asyncio.run(running)
    report = ScaleReport([state.results[stage.name] for stage in stages], queries, seed)
    show(report, report_console())
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_dict(), indent=2) + "\n", encoding="utf-8")
    if markdown_file is not None:
        markdown_file.write_text(as_markdown(report), encoding="utf-8")


@contextmanager
def _home(folder: Path | None) -> Iterator[Path]:
    if folder is None:
        with temporary_home() as home:
            yield home
    else:
        make_folder(folder)
        with signals_interrupt():
            yield folder


def _plan(rows: str | None, owners: int | None, total: int | None, seed: int) -> list[Stage]:
    if total is not None and owners is None:
        raise InvalidInput("--total needs --owners", field="--total", remedy="Pass --owners, too.")
    if rows is None and owners is None:
        rows = _DEFAULT_ROWS
    stages = (
        []
        if rows is None
        else plan_rows(parse_sizes(rows, "--rows", example=_DEFAULT_ROWS, smallest=_MIN_ROWS), seed)
    )
    if owners is not None:
        total = 100 * owners if total is None else total
        if owners < _MIN_OWNERS or total < _MIN_EACH * owners:
            raise InvalidInput(
                f"{total:,} memories of {owners:,} owners are too few",
                field="--owners",
                remedy=f"Use at least {_MIN_OWNERS} owners and {_MIN_EACH} memories for each.",
            )
        stages += plan_owners(owners, total, seed)
    return stages
