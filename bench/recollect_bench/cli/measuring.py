"""Shared by the commands that measure: choosing sets, output files, progress bars."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from recollect.core.errors import InvalidInput
from recollect.settings import Settings
from recollect_bench.data.datasets import EvaluationSet, find_sets, read_set
from recollect_bench.data.synthetic import NAME, synthetic_set
from recollect_bench.runs.measure import TIMED, Work, measure, open_tools
from recollect_bench.runs.run import Run
from recollect_bench.runs.stage import Progress
from recollect_bench.temporary import temporary_home

ALL = "all"
_WIDTH_WITHOUT_TERMINAL: Final = 200


def parse_sizes(text: str, option: str, *, example: str, smallest: int) -> list[int]:
    """Parse ascending store sizes, separated by commas."""
    try:
        sizes = [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or sizes[0] < smallest or sizes != sorted(set(sizes)):
        raise InvalidInput(
            f"{option} is a list of ascending sizes, not {text!r}",
            field=option,
            remedy=f"Use for example {example} (at least {smallest}).",
        )
    return sizes


def select_sets(data: Path | None, sets: str) -> list[EvaluationSet]:
    """Read the named sets of a directory, or all of them; without one, the synthetic set."""
    names = None if sets.strip() == ALL else [name.strip() for name in sets.split(",")]
    if data is not None:
        return [read_set(folder) for folder in find_sets(data, names)]
    if names is not None and names != [NAME]:
        raise InvalidInput(
            f"without --data there is only the set {NAME!r}",
            field="--sets",
            remedy="Set --data or RECOLLECT_BENCH_DATA, or leave --sets out.",
        )
    return [synthetic_set()]


def measure_runs(
    work: Sequence[Work],
    settings: Settings,
    *,
    timed: int = TIMED,
    keep_vectors: bool = True,
) -> list[Run]:
    """Measure everything on temporary stores, with progress bars on stderr."""

    async def measure_all(home: Path) -> list[Run]:
        with _bars() as (progress, whole):
            opened = open_tools(settings, home, progress, whole, keep_vectors=keep_vectors)
            async with opened as tools:
                return await measure(work, tools, timed=timed)

    with temporary_home() as home:
        return asyncio.run(measure_all(home))


def check_writable(files: Iterable[Path]) -> None:
    """Check before minutes of measuring that the files can be written, and leave none behind."""
    for file in files:
        was_there = file.exists()
        try:
            with file.open("a"):
                pass
            if not was_there:
                file.unlink()
        except OSError as error:
            raise InvalidInput(
                f"cannot write {file}: {error.strerror}",
                field=str(file),
                remedy="Choose a file in an existing directory that you can write to.",
            ) from error


def make_folder(folder: Path) -> None:
    """Create the output directory before measuring."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"cannot create {folder}: {error.strerror}",
            field=str(folder),
            remedy="Choose a directory that you can create or write to.",
        ) from error


def report_console(*, to_stderr: bool = False) -> Console:
    """Return a console for tables; wide for a file or pipe, which rich would cut to 80 columns."""
    console = Console(stderr=to_stderr, highlight=False, markup=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _WIDTH_WITHOUT_TERMINAL
    return console


@contextmanager
def _bars() -> Iterator[tuple[Progress, Progress]]:
    """Show one bar for the current step and one for all runs, with the time remaining."""
    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
        transient=True,
    )
    with bar:
        step, total_task = bar.add_task("starting", total=None), bar.add_task("", total=None)
        current = ""

        def progress(what: str, done: int, total: int) -> None:
            nonlocal current
            if what != current:  # estimate the time remaining for each step on its own
                bar.reset(step)
                current = what
            bar.update(step, description=what, completed=done, total=total)

        def whole(what: str, done: int, total: int) -> None:
            bar.update(total_task, description=what, completed=done, total=total)

        yield progress, whole
