"""`recollect bench load`: what a server still answers under overload."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

from rich.table import Table

from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import InvalidInput
from recollect.settings import load as load_settings
from recollect.shells.cli.framework.commands import Option
from recollect_bench.cli.measuring import check_writable, report_console
from recollect_bench.cli.sync import progress_bar
from recollect_bench.speed.corpus import Corpus
from recollect_bench.speed.load import LoadReport, Plan, Step, Target, measure
from recollect_bench.speed.server import new_key, run_server, variables_of, wait_for_dense
from recollect_bench.temporary import temporary_home


def load(
    *,
    clients: Annotated[
        str,
        Option("--clients", help="Number of concurrent clients in each step, separated by commas."),
    ] = "1,8,50,200,500",
    seconds: Annotated[float, Option("--seconds", min=0.1, help="Duration of each step.")] = 20.0,
    writes: Annotated[
        float, Option("--writes", min=0.0, max=1.0, help="Share of requests that store a memory.")
    ] = 0.2,
    memories: Annotated[
        int, Option("--memories", min=100, help="Number of memories stored before the first step.")
    ] = 2_000,
    neighbour: Annotated[
        bool,
        Option(
            "--neighbour/--no-neighbour",
            help="Also run a quiet owner with its own key that sends two requests per second.",
        ),
    ] = True,
    polite: Annotated[bool, Option("--polite", help="Clients honor Retry-After.")] = False,
    dense: Annotated[
        bool,
        Option(
            "--dense/--no-dense",
            help="Also measure the dense leg, with the model in RECOLLECT_EMBEDDER.",
        ),
    ] = True,
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the report to FILE as JSON.")
    ] = None,
) -> None:
    """Measure good answers per second as clients with one key increase, whether a quiet owner is
    still served, and the server's memory, on a temporary server.
    """
    if json_file is not None:
        check_writable([json_file])
    plan = Plan(_parse_clients(clients), seconds, writes, memories, neighbour, polite)
    yours, corpus = load_settings(), Corpus.seeded(1)
    embedder = yours.embedder if dense else NO_EMBEDDER
    with temporary_home() as home:
        variables = variables_of(home, yours, embedder)
        with run_server(home, variables) as (process, ready), progress_bar() as progress:
            if embedder != NO_EMBEDDER:
                wait_for_dense(ready["url"], ready["key"])
            quiet_key = new_key(variables, "quiet")
            target = Target(ready["url"], ready["key"], quiet_key, process.pid)
            report = asyncio.run(measure(target, plan, corpus, progress))
    report_console().print(_table(report))
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_dict(), indent=2) + "\n")


def _parse_clients(text: str) -> tuple[int, ...]:
    try:
        numbers = tuple(int(part) for part in text.split(","))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < 1:
        raise InvalidInput(
            f"{text!r} is not a list of numbers",
            field="--clients",
            remedy="Use for example 1,8,50.",
        )
    return numbers


def _table(report: LoadReport) -> Table:
    titles = ("clients", "recalls/s", "of best", "p50 ms", "p95 ms", "writes/s")
    more = ("refused", "late", "failed", "memory MB", "quiet owner")
    table = Table(*titles, *more, box=None, pad_edge=False)
    for step in report.steps:
        table.add_row(
            str(step.clients),
            f"{step.recalls_per_s:.1f}",
            f"{report.share_of_best(step):.0%}",
            _format_ms(step.p50_ms),
            _format_ms(step.p95_ms),
            f"{step.writes_per_s:.1f}",
            str(step.refused),
            str(step.late),
            str(step.failed),
            f"{min(step.memory_mb):.0f}–{max(step.memory_mb):.0f}",
            _format_quiet(step),
        )
    return table


def _format_ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"


def _format_quiet(step: Step) -> str:
    """Format how many of the quiet owner's recalls were answered in time."""
    if not step.quiet_asked:
        return "–"
    return f"{step.quiet_served}/{step.quiet_asked} in time, p95 {_format_ms(step.quiet_p95_ms)} ms"
