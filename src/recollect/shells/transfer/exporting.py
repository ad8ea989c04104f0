"""Write memories to a file: whole or not at all, and for its owner's eyes only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, Literal, get_args

from recollect.core.errors import InvalidInput, StoreUnavailable
from recollect.core.imports.jsonl import HEADER, to_line, to_markdown
from recollect.core.memory.memory import Scope
from recollect.ports.service import Service
from recollect.usecases.memory.transfer import Taken, export_pages

ExportFormat = Literal["jsonl", "md"]
EXPORT_FORMATS: Final[tuple[ExportFormat, ...]] = get_args(ExportFormat)


def check_export_format(format: str) -> None:
    if format not in EXPORT_FORMATS:
        raise InvalidInput(
            f"unknown format {format[:60]!r}",
            field="format",
            remedy=f"Choose one of: {', '.join(EXPORT_FORMATS)}.",
        )


async def write_export(
    recollect: Service,
    out: IO[bytes],
    scope: Scope,
    format: str,
    *,
    sensitive: bool,
    progress: Callable[[str, int, int | None], None] = lambda _what, _done, _left: None,
) -> Taken:
    """The memories of a scope, newest first; sensitive ones only when asked for."""
    check_export_format(format)
    taken = Taken()
    written = to_line if format == "jsonl" else to_markdown
    head = HEADER if format == "jsonl" else "# Memories\n"
    out.write(f"{head}\n".encode())
    stats = await recollect.stats()
    progress("exporting", 0, stats.memories + (stats.forgotten if scope.forgotten else 0))
    async for memory in export_pages(recollect, scope, taken, sensitive=sensitive):
        out.write(f"{written(memory)}\n".encode())
        progress("exporting", 1, None)
    return taken


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """A file that appears at `path` when it is whole; with `force` in the place of another."""
    if path.exists() and not force:
        raise _taken_error(path)
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
            os.link(beside, path)  # unlike a rename, it replaces no file
    except FileExistsError as error:
        raise _taken_error(path) from error
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be written ({error.strerror or type(error).__name__})",
            remedy="Name a file in a folder that you may write to, with room on its disk.",
        ) from error
    finally:
        with suppress(OSError):
            beside.unlink()


def _taken_error(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path} already exists",
        field="file",
        remedy="Name another file, or overwrite it with --force.",
    )
