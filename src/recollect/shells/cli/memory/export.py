"""The command that exports memories."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Final

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Scope
from recollect.core.text.analysis import counted
from recollect.shells.cli.framework.commands import Argument, Option, option_group
from recollect.shells.cli.framework.options import AsJson, scope
from recollect.shells.cli.framework.output import note, print_json, show, write_error
from recollect.shells.cli.framework.shell import run_async

if TYPE_CHECKING:
    from recollect.usecases.memory.transfer import Taken

_STDOUT: Final = "-"


@option_group(where=scope)
def export(
    file: Annotated[
        str, Argument(metavar="[FILE]", help="File to write; omitted or -: stdout.")
    ] = _STDOUT,
    *,
    format: Annotated[
        str,
        Option("--format", help="jsonl, which can be imported again, or md for people to read."),
    ] = "jsonl",
    where: Scope,
    sensitive: Annotated[bool, Option("--sensitive", help="Include sensitive memories.")] = False,
    forgotten: Annotated[bool, Option("--forgotten", help="Include forgotten memories.")] = False,
    force: Annotated[bool, Option("--force", help="Overwrite the file if it exists.")] = False,
    as_json: AsJson = False,
) -> None:
    """Export memories to a file: all of them, or those in a scope."""
    from recollect.shells.transfer.exporting import check_export_format

    check_export_format(format)
    if as_json and file == _STDOUT:
        raise InvalidInput(
            "stdout cannot hold both the export and the JSON summary",
            field="file",
            remedy="Name a file, or omit --json: the export itself is JSON Lines.",
        )
    with _open_output(file, force=force) as out:
        chosen = replace(where, forgotten=forgotten)
        taken = run_async(_write(out, chosen, format, sensitive=sensitive))
    _report(taken, file, as_json=as_json)


async def _write(out: IO[bytes], where: Scope, format: str, *, sensitive: bool) -> Taken:
    from recollect.settings import load
    from recollect.shells.progress import counting_bar
    from recollect.shells.transfer.exporting import write_export
    from recollect.wiring.transfer import open_transfer

    async with open_transfer(load()) as transfer:
        with counting_bar("exporting") as report:
            return await write_export(
                transfer.service, out, where, format, sensitive=sensitive, progress=report
            )


def _report(taken: Taken, file: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"file": file, "exported": taken.exported, "left_out": taken.left_out})
        return
    write = show if file != _STDOUT else note
    if file != _STDOUT:
        write(f"exported {counted(taken.exported, 'memory')} to {file}")
    if taken.left_out:
        left_out = counted(taken.left_out, "sensitive memory")
        write(f"left out {left_out}; add --sensitive to export everything")


@contextmanager
def _open_output(file: str, *, force: bool) -> Iterator[IO[bytes]]:
    from recollect.shells.transfer.exporting import new_file

    if file != _STDOUT:
        with new_file(Path(file), force=force) as out:
            yield out
        return
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        raise write_error(error) from error
