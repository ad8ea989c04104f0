"""`recollect bench sync`: how an offline client catches up with a temporary server."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from recollect.core.errors import StoreUnavailable
from recollect.shells.cli.framework.commands import Option
from recollect_bench.cli.measuring import report_console
from recollect_bench.speed.sync import SyncReport, measure

_START_SECONDS: Final = 180.0
console = Console(stderr=True, highlight=False)


def sync(
    *,
    writes: Annotated[
        int, Option("--writes", min=1, help="Number of offline writes waiting for the server.")
    ] = (10_000),
    straight: Annotated[
        int, Option("--straight", min=1, help="Number of writes sent directly to the server.")
    ] = 1_000,
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the report to FILE as JSON.")
    ] = None,
) -> None:
    """Measure offline writes and the time and requests to sync them, on a temporary server."""
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        # As root, Postgres runs as another account that needs access.
        Path(folder).chmod(0o711)
        with temporary_server(Path(folder) / "server") as (url, key), progress_bar() as progress:
            report = asyncio.run(measure(url, key, Path(folder), writes, straight, progress))
    report_console().print(_table(report))
    if json_file is not None:
        json_file.write_text(json.dumps(report.as_dict(), indent=2) + "\n")


@contextmanager
def temporary_server(home: Path) -> Iterator[tuple[str, str]]:
    """Run `recollect serve` on a free port without a worker, and yield its URL and key."""
    ready = home / "ready.json"
    home.mkdir(mode=0o711)
    command = [sys.executable, "-m", "recollect.main", "serve", "--port", "0"]
    inherited = {name: value for name, value in os.environ.items() if "RECOLLECT_" not in name}
    process = subprocess.Popen(  # noqa: S603  # our own command
        [*command, "--ready-file", str(ready)],
        env={**inherited, "RECOLLECT_HOME": str(home), "RECOLLECT_WORKER": "off"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until = time.monotonic() + _START_SECONDS
        while not ready.exists():
            if process.poll() is not None or time.monotonic() > until:
                raise StoreUnavailable(
                    "the server for the benchmark did not start",
                    remedy="Run `recollect serve` and `recollect doctor` to find out why.",
                )
            time.sleep(0.05)
        server = json.loads(ready.read_text())
        yield server["url"], server["key"]
    finally:
        process.terminate()
        process.wait()


@contextmanager
def progress_bar() -> Iterator[_Report]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Report(bar)


class _Report:
    """Progress callback that restarts the bar for each new step."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._what = ""
        self._task = bar.add_task("")

    def __call__(self, what: str, done: int, total: int) -> None:
        if what != self._what:
            self._what = what
            self._bar.reset(self._task, description=what, total=total)
        self._bar.update(self._task, completed=done)


def _table(report: SyncReport) -> Table:
    figures = report.as_dict()
    table = Table("measured", "value", "compared with direct", box=None, pad_edge=False)
    straight = figures["straight_writes_per_second"]
    table.add_row("sent directly to the server", f"{straight:,.0f} writes/s", "1.0 ×")
    table.add_row(
        "accepted offline",
        f"{figures['offline_writes_per_second']:,.0f} writes/s",
        f"{figures['offline_to_straight']:.1f} ×",
    )
    catch_up = figures["catch_up_seconds"]
    table.add_row(
        f"catching up on {report.writes:,}",
        f"{catch_up:.1f} s, {figures['catch_up_writes_per_second']:,.0f} writes/s",
        f"{figures['catch_up_to_straight']:.1f} ×",
    )
    table.add_row(
        "requests per synced write", f"{figures['requests_per_synced_write']:.4f}", "of 1"
    )
    table.add_row(
        f"first sync of {report.writes + report.straight_writes:,} elsewhere",
        f"{figures['first_sync_seconds']:.1f} s in {figures['first_sync_requests']:.0f} requests",
        "",
    )
    return table
