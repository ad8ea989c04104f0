"""The startup cost of commands: whole processes, mostly imports.

Each command is run from outside, as a person or a script runs it. CPU time is what the system
accounts to the ended process, so a busy machine lengthens the wall time but hardly the CPU time.
Bytecode is stored in a separate folder and compiled by a first, untimed run: an installed package
has it, and without it every run would compile what it imports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import Final

from recollect.core.errors import RecollectError
from recollect_bench.speed.hook import RECOLLECT

Progress = Callable[[str, int, int], None]
_EVENT: Final = {
    "session_id": "bench",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "what do we know about the deployment of the ledger",
}
COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "--version": ("--version",),
    "--help": ("--help",),
    "remember": ("remember", "the ledger is deployed on Fridays"),
    "recall": ("recall", "when is the ledger deployed"),
    "list": ("list",),
    "list --json": ("list", "--json"),
    "status": ("status",),
    "hook recall": ("hook", "recall"),
}


@dataclass(frozen=True, slots=True)
class StartupResult:
    """One command on one store; `modules` is the number of imported modules."""

    store: str
    command: str
    runs: int
    cpu_p50_ms: float
    cpu_p95_ms: float
    wall_p50_ms: float
    wall_p95_ms: float
    modules: int


def measure(
    store: str,
    settings: Mapping[str, str],
    folder: Path,
    runs: int,
    progress: Progress,
    command: Sequence[str] = RECOLLECT,
) -> list[StartupResult]:
    """Run every command `runs` times; `settings` are its environment variables."""
    variables = {
        **_inherit_environment(),
        **settings,
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
    }
    # Store something to recall and to list.
    _run((*command, *COMMANDS["remember"]), variables)
    results: list[StartupResult] = []
    for name, arguments in COMMANDS.items():
        modules = _count_modules(arguments, variables)
        _run((*command, *arguments), variables)  # compiles the bytecode
        times: list[tuple[float, float]] = []
        for number in range(runs):
            times.append(_run((*command, *arguments), variables))
            progress(f"{store}: {name}", number + 1, runs)
        cpu, wall = (sorted(values) for values in zip(*times, strict=True))
        results.append(
            StartupResult(store, name, runs, *_median_and_p95(cpu), *_median_and_p95(wall), modules)
        )
    return results


def as_document(results: Sequence[StartupResult]) -> dict[str, object]:
    return {"results": [asdict(result) for result in results]}


def _inherit_environment() -> dict[str, str]:
    """Return the environment without Recollect's settings, and with bytecode allowed."""
    return {
        name: value
        for name, value in os.environ.items()
        if "RECOLLECT_" not in name and name != "PYTHONDONTWRITEBYTECODE"
    }


def _run(command: Sequence[str], variables: Mapping[str, str]) -> tuple[float, float]:
    """Run one process; return its CPU and wall time in milliseconds."""
    started = perf_counter()
    with subprocess.Popen(  # noqa: S603  # our own command
        command,
        env=dict(variables),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        if process.stdin is not None:
            process.stdin.write(json.dumps(_EVENT).encode())
            process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = perf_counter() - started
    if process.returncode:
        raise RecollectError(
            f"a measured command failed with exit code {process.returncode}",
            remedy=f"Run `recollect {command[-1]}` to see why.",
        )
    return (used.ru_utime + used.ru_stime) * 1000, wall * 1000


def _count_modules(arguments: Sequence[str], variables: Mapping[str, str]) -> int:
    done = subprocess.run(  # noqa: S603  # our own command
        [sys.executable, "-X", "importtime", "-m", "recollect.main", *arguments],
        env=dict(variables),
        input=json.dumps(_EVENT).encode(),
        capture_output=True,
        check=False,
    )
    return done.stderr.count(b"import time:") - 1  # the first line is a heading


def _median_and_p95(times: Sequence[float]) -> tuple[float, float]:
    cuts = quantiles(times, n=20, method="inclusive") if len(times) > 1 else [*times] * 19
    return round(cuts[9], 1), round(cuts[18], 1)
