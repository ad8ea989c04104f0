"""The command that takes memories out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

from recollect.cli.made import made_of_options
from recollect.cli.options import AsJson, scope
from recollect.cli.output import note, print_json, show, unwritten
from recollect.cli.shell import run_async
from recollect.core.errors import InvalidInput, StoreUnavailable
from recollect.core.memory import Scope
from recollect.core.text import counted

if TYPE_CHECKING:
    from recollect.usecases.moving import Taken

_STDOUT: Final = "-"
_FORMATS: Final = ("jsonl", "md")


@made_of_options(where=scope)
def export(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="Where to; without it, or with -, stdout.")
    ] = _STDOUT,
    *,
    format: Annotated[
        str, typer.Option("--format", help="jsonl, which can be imported again, or md for people.")
    ] = "jsonl",
    where: Scope,
    sensitive: Annotated[
        bool, typer.Option("--sensitive", help="Sensitive memories as well.")
    ] = False,
    forgotten: Annotated[
        bool, typer.Option("--forgotten", help="Forgotten memories as well.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write memories to a file: all of them, or those of a scope."""
    if format not in _FORMATS:
        raise InvalidInput(
            f"unknown format {format[:60]!r}",
            field="format",
            remedy=f"Choose one of: {', '.join(_FORMATS)}.",
        )
    if as_json and file == _STDOUT:
        raise InvalidInput(
            "stdout cannot hold both the export and the JSON document",
            field="file",
            remedy="Name a file, or leave out --json: the export itself is JSON Lines.",
        )
    with _opened(file, force=force) as out:
        chosen = replace(where, forgotten=forgotten)
        taken = run_async(_write(out, chosen, format, sensitive=sensitive))
    _tell(taken, file, as_json=as_json)


async def _write(out: IO[bytes], where: Scope, format: str, *, sensitive: bool) -> Taken:
    from recollect.core.exchange import HEADER, to_line, to_markdown
    from recollect.moving import open_moving
    from recollect.progress import counting_bar
    from recollect.settings import load
    from recollect.usecases.moving import Taken, taken_out

    taken = Taken()
    written = to_line if format == "jsonl" else to_markdown
    async with open_moving(load()) as moving:
        with counting_bar("exporting") as tell:
            head = HEADER if format == "jsonl" else "# Memories\n"
            out.write(f"{head}\n".encode())
            stats = await moving.recollect.stats()
            tell("exporting", 0, stats.memories + (stats.forgotten if where.forgotten else 0))
            async for memory in taken_out(moving.recollect, where, taken, sensitive=sensitive):
                out.write(f"{written(memory)}\n".encode())
                tell("exporting", 1, None)
    return taken


def _tell(taken: Taken, file: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"file": file, "exported": taken.exported, "left_out": taken.left_out})
        return
    said = show if file != _STDOUT else note
    if file != _STDOUT:
        said(f"exported {counted(taken.exported, 'memory')} to {file}")
    if taken.left_out:
        left_out = counted(taken.left_out, "sensitive memory")
        said(f"left out {left_out}; --sensitive exports them, too")


@contextmanager
def _opened(file: str, *, force: bool) -> Iterator[IO[bytes]]:
    if file == _STDOUT:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except OSError as error:
            raise unwritten(error) from error
        return
    path = Path(file)
    if path.exists() and not force:
        raise _taken(path)
    if path.exists() and not path.is_file():
        raise InvalidInput(  # a device, say, whose place the file would take
            f"{path} is not a file",
            field="file",
            remedy="Name a file, or leave it out for stdout.",
        )
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # For its owner's eyes only, from the first byte on.
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        if force:
            beside.replace(path)
        else:
            os.link(beside, path)  # unlike a rename it takes nobody's place
    except FileExistsError as error:
        raise _taken(path) from error
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be written ({error.strerror or type(error).__name__})",
            remedy="Name a file in a folder that you may write to, with room on its disk.",
        ) from error
    finally:
        with suppress(OSError):
            beside.unlink()


def _taken(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path} is there already",
        field="file",
        remedy="Name another file, or overwrite it with --force.",
    )
