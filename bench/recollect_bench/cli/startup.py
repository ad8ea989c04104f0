"""`recollect bench startup`: CPU and wall time of common commands."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from rich.table import Table

from recollect.shells.cli.framework.commands import Option
from recollect_bench.cli.measuring import check_writable, report_console
from recollect_bench.cli.sync import progress_bar, temporary_server
from recollect_bench.speed.startup import StartupResult, as_document, measure


def startup(
    *,
    runs: Annotated[int, Option("--runs", min=1, help="Number of runs per command.")] = 20,
    server: Annotated[
        bool,
        Option("--server", help="Also measure with a server, with and without a local store."),
    ] = False,
    json_file: Annotated[
        Path | None, Option("--json", help="Also write the report to FILE as JSON.")
    ] = None,
) -> None:
    """Measure CPU and wall time of common commands, and how many modules they import."""
    if json_file is not None:
        check_writable([json_file])
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recollect-bench-")))
        folder.chmod(0o711)  # as root, Postgres runs as another account that needs access
        progress = stack.enter_context(progress_bar())
        results = measure(
            "local", {"RECOLLECT_HOME": str(folder / "local")}, folder, runs, progress
        )
        if server:
            url, key = stack.enter_context(temporary_server(folder / "server"))
            named = {"RECOLLECT_API_URL": url, "RECOLLECT_API_KEY": key}
            for store, sync in (("cached", "on"), ("remote", "off")):
                settings = {
                    **named,
                    "RECOLLECT_HOME": str(folder / store),
                    "RECOLLECT_SYNC": sync,
                }
                results += measure(store, settings, folder, runs, progress)
    report_console().print(_table(results))
    if json_file is not None:
        json_file.write_text(json.dumps(as_document(results), indent=2) + "\n")


def _table(results: list[StartupResult]) -> Table:
    table = Table(
        "store", "command", "cpu p50 ms", "cpu p95 ms", "wall p50 ms", "wall p95 ms", "modules",
        box=None, pad_edge=False,
    )  # fmt: skip
    for result in results:
        table.add_row(
            result.store,
            result.command,
            f"{result.cpu_p50_ms:.0f}",
            f"{result.cpu_p95_ms:.0f}",
            f"{result.wall_p50_ms:.0f}",
            f"{result.wall_p95_ms:.0f}",
            f"{result.modules}",
        )
    return table
