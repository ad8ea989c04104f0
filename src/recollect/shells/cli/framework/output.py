"""All output to stdout: one JSON document for scripts, or text for people.

Rich is imported only for tables, so that JSON and plain text need not wait for it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from recollect.core.errors import RecollectError
from recollect.shells.cli.framework.exit import Exit

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import RenderableType

# Narrower tables would cut the ids; a narrower terminal wraps the lines itself.
_NARROWEST: Final = 60
_WIDTH_WITHOUT_TERMINAL: Final = 100


def print_json(document: BaseModel | Mapping[str, object]) -> None:
    """Print exactly one JSON document; times in ISO 8601, UTC."""
    plain = document if isinstance(document, Mapping) else document.model_dump(mode="json")
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(plain, indent=2, ensure_ascii=not utf8, default=str)
    _write(text + "\n")


def print_text(text: str) -> None:
    """Print text for another program, unchanged."""
    _write(text + "\n")


def show(*renderables: RenderableType) -> None:
    """Print text and tables for a person; colours only on a terminal, and never with NO_COLOR."""
    # Rich pads lines with spaces, which would end up in copied text.
    lines = [line.rstrip(" ") for line in _rendered(renderables).splitlines()]
    _write("".join(f"{line}\n" for line in lines))


def _rendered(renderables: Sequence[RenderableType]) -> str:
    if all(isinstance(renderable, str) and renderable.isprintable() for renderable in renderables):
        return "\n".join(map(str, renderables))  # as rich would print them
    from rich.console import Console

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns
    console = Console(
        file=sys.stdout,
        width=max(width, _NARROWEST),
        # Rich would also use colours for FORCE_COLOR and the like; a file must not get escape
        # sequences.
        force_terminal=terminal,
        markup=False,
        highlight=False,
        emoji=False,
    )
    try:
        with console.capture() as captured:
            for renderable in renderables:
                console.print(renderable, soft_wrap=isinstance(renderable, str))
    except OSError as error:  # even when capturing, rich writes to the file, though nothing
        raise write_error(error) from error
    return captured.get()


def note(text: str) -> None:
    """Print a remark that is not part of the result."""
    sys.stderr.write(text + "\n")


def _write(text: str) -> None:
    """Write and flush; see `unwritten` for a reader that is gone (`| head`)."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise write_error(error) from error


def write_error(error: OSError) -> Exception:
    """The error to raise if stdout cannot be written. A reader that is gone is no error."""
    # The interpreter flushes again at exit: give it somewhere to write.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return Exit(0)
    return RecollectError(
        f"the output could not be written to stdout ({error.strerror or type(error).__name__})",
        remedy="Free some space where the output goes. Any change the command "
        "makes has been applied.",
    )
