"""What the commands that measure have in common: which sets, where, and bars while it lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from recollect.bench.data.datasets import EvaluationSet, find_sets, read_set
from recollect.bench.data.synthetic import NAME, synthetic_set
from recollect.bench.runs.measure import TIMED, Work, measure, open_tools
from recollect.bench.runs.run import Run
from recollect.bench.runs.stage import Progress
from recollect.bench.temporary import throw_away_home
from recollect.core.errors import InvalidInput
from recollect.settings import Settings

ALL = "all"


def chosen_sets(data: Path | None, sets: str) -> list[EvaluationSet]:
    """The named sets of a folder, or all of them; without a folder, the synthetic one."""
    names = None if sets.strip() == ALL else [one.strip() for one in sets.split(",")]
    if data is not None:
        return [read_set(folder) for folder in find_sets(data, names)]
    if names is not None and names != [NAME]:
        raise InvalidInput(
            f"without a folder of data there is only the set {NAME!r}",
            field="--sets",
            remedy="Name the folder with --data or RECOLLECT_BENCH_DATA, or leave --sets out.",
        )
    return [synthetic_set()]


def measured(
    work: Sequence[Work],
    settings: Settings,
    *,
    timed: int = TIMED,
    clocked: Collection[str] | None = None,
    keep_vectors: bool = True,
) -> list[Run]:
    """Every run, on throw-away stores, with bars on stderr."""

    async def running(home: Path) -> list[Run]:
        with _bars() as (progress, whole):
            opened = open_tools(settings, home, progress, whole, keep_vectors=keep_vectors)
            async with opened as tools:
                return await measure(work, tools, timed=timed, clocked=clocked)

    with throw_away_home() as home:
        return asyncio.run(running(home))


def check_writable(files: Iterable[Path]) -> None:
    """Before minutes of measuring, not after them. What was not there is not left behind: the work
    may yet be refused.
    """
    for file in files:
        was_there = file.exists()
        try:
            with file.open("a"):
                pass
            if not was_there:
                file.unlink()
        except OSError as error:
            raise InvalidInput(
                f"{file} cannot be written: {error.strerror}",
                field=str(file),
                remedy="Name a file in a folder that exists and that you may write to.",
            ) from error


def make_folder(folder: Path) -> None:
    """The folder for several files, also early."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"{folder} cannot be made: {error.strerror}",
            field=str(folder),
            remedy="Name a folder that exists or can be made, and that you may write to.",
        ) from error


@contextmanager
def _bars() -> Iterator[tuple[Progress, Progress]]:
    """One bar for the step at hand and one for all runs, each with the time it will still take."""
    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
        transient=True,
    )
    with bar:
        step, all_of_it = bar.add_task("starting", total=None), bar.add_task("", total=None)
        told = ""

        def progress(what: str, done: int, total: int) -> None:
            nonlocal told
            if what != told:  # the time that another step took says nothing of this one
                bar.reset(step)
                told = what
            bar.update(step, description=what, completed=done, total=total)

        def whole(what: str, done: int, total: int) -> None:
            bar.update(all_of_it, description=what, completed=done, total=total)

        yield progress, whole
