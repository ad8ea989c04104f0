"""Export memories to a file: atomically, and readable by its owner only."""

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
    """Write the memories of a scope, newest first; sensitive ones only if requested."""
    check_export_format(format)
    taken = Taken()
    write = to_line if format == "jsonl" else to_markdown
    head = HEADER if format == "jsonl" else "# Memories\n"
    out.write(f"{head}\n".encode())
    stats = await recollect.stats()
    progress("exporting", 0, stats.memories + (stats.forgotten if scope.forgotten else 0))
    async for memory in export_pages(recollect, scope, taken, sensitive=sensitive):
        out.write(f"{write(memory)}\n".encode())
        progress("exporting", 1, None)
    return taken


@contextmanager
def new_file(path: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """Open a file that appears at `path` once it is complete. `force` replaces an existing one."""
    if path.exists() and not force:
        raise _taken_error(path)
    if path.exists() and not path.is_file():
        raise InvalidInput(  # such as a device, which the file would replace
            f"{path} is not a file",
            field="file",
            remedy="Name a file, or leave it out for stdout.",
        )
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # Readable by its owner only, from the first byte on.
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        if force:
            partial.replace(path)
        else:
            os.link(partial, path)  # unlike a rename, this replaces no file
    except FileExistsError as error:
        raise _taken_error(path) from error
    except OSError as error:
        raise StoreUnavailable(
            f"{path} cannot be written ({error.strerror or type(error).__name__})",
            remedy="Name a file in a folder that you may write to, with room on its disk.",
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def _taken_error(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path} already exists",
        field="file",
        remedy="Name another file, or overwrite it with --force.",
    )
