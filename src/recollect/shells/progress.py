"""Progress bars for long tasks, if there is a terminal.

They go to stderr: stdout is for a command's output.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

from recollect.core.errors import RecollectError
from recollect.core.recall.space import StoredSpace
from recollect.ports.embedding import EmbeddingQueue
from recollect.usecases.tasks import cancel_and_wait

if TYPE_CHECKING:
    from rich.progress import Progress

_POLL_SECONDS: Final = 1.0

Steps = Callable[[str, float], None]


@contextmanager
def step_bar() -> Iterator[Steps]:
    """Show the steps of one task in a bar, or as lines if there is no terminal."""
    if not sys.stderr.isatty():
        yield _step_lines()
        return
    with _bar("{task.percentage:>3.0f}%") as bar:
        task = bar.add_task("", total=1.0)
        yield lambda text, share: bar.update(task, description=text, completed=share)


@contextmanager
def quiet_step_bar() -> Iterator[Steps]:
    """Like `step_bar`, but silent without a terminal, for commands that a timer runs."""
    if not sys.stderr.isatty():
        yield lambda _text, _share: None
        return
    with step_bar() as step:
        yield step


@contextmanager
def counting_bar(description: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Show a bar for work whose total becomes known on the way; silent without a terminal."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _left: None
        return
    with _bar("{task.completed:,.0f} of {task.total:,.0f}") as bar:
        task = bar.add_task(description, total=0)

        def report(what: str, done: int, left: int | None) -> None:
            total = bar.tasks[0].total or 0
            completed = bar.tasks[0].completed + done
            total = max(completed, total if left is None else total + left)
            bar.update(task, description=what, completed=completed, total=total)

        yield report


@asynccontextmanager
async def embedding_bar(queue: EmbeddingQueue) -> AsyncIterator[None]:
    """While entered, show a bar for each space that any process is filling."""
    if not sys.stderr.isatty():
        yield
        return
    with _bar("{task.completed:,.0f} of {task.total:,.0f}") as bar:
        following = asyncio.create_task(_follow(queue, bar))
        try:
            yield
        finally:
            await cancel_and_wait(following)


async def _follow(queue: EmbeddingQueue, bar: Progress) -> None:
    tasks: dict[int, object] = {}
    while True:
        try:
            spaces = [space for space in await queue.spaces() if space.state != "retired"]
            for space in spaces:
                await _show(queue, space, bar, tasks)
        except RecollectError:
            pass  # the process that does the work reports it
        await asyncio.sleep(_POLL_SECONDS)


async def _show(
    queue: EmbeddingQueue, space: StoredSpace, bar: Progress, tasks: dict[int, object]
) -> None:
    progress = await queue.progress(space)
    total = progress.embedded + progress.waiting
    if space.id not in tasks:
        tasks[space.id] = bar.add_task(space.space.model, total=total)
    bar.update(
        tasks[space.id],  # type: ignore[arg-type]  # rich's own kind of number
        completed=progress.embedded,
        total=total,
        visible=progress.waiting > 0,
    )


def _bar(numbers: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(numbers),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        redirect_stdout=False,
        transient=True,
    )


def _step_lines() -> Steps:
    last = ""

    def step(text: str, _share: float) -> None:
        nonlocal last
        if text != last:
            last = text
            sys.stderr.write(f"{text} …\n")

    return step
