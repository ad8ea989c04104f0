"""The only way to stdout: one JSON document for scripts, or text for people.

Rich is imported only for tables: neither JSON nor a plain sentence waits for it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from recollect.core.errors import RecollectError
from recollect.shells.cli.ending import Exit

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import RenderableType

# Below this the tables would cut the ids; a narrower terminal folds the lines itself.
_NARROWEST: Final = 60
_WIDTH_WITHOUT_TERMINAL: Final = 100


def print_json(document: BaseModel | Mapping[str, object]) -> None:
    """Exactly one JSON document; times in ISO 8601, UTC."""
    plain = document if isinstance(document, Mapping) else document.model_dump(mode="json")
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(plain, indent=2, ensure_ascii=not utf8, default=str)
    _write(text + "\n")


def print_text(text: str) -> None:
    """A text for another program, exactly as it is."""
    _write(text + "\n")


def show(*renderables: RenderableType) -> None:
    """Text and tables for a person; colours only on a terminal, and never with NO_COLOR."""
    # Rich fills lines up with blanks, which nobody wants to copy.
    lines = [line.rstrip(" ") for line in _rendered(renderables).splitlines()]
    _write("".join(f"{line}\n" for line in lines))


def _rendered(renderables: Sequence[RenderableType]) -> str:
    if all(isinstance(one, str) and one.isprintable() for one in renderables):
        return "\n".join(map(str, renderables))  # as rich would print them
    from rich.console import Console

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns
    console = Console(
        file=sys.stdout,
        width=max(width, _NARROWEST),
        # Rich would also colour for FORCE_COLOR and the like: a file holds no escape sequences.
        force_terminal=terminal,
        markup=False,
        highlight=False,
        emoji=False,
    )
    try:
        with console.capture() as captured:
            for renderable in renderables:
                console.print(renderable, soft_wrap=isinstance(renderable, str))
    except OSError as error:  # rich writes to the file, though nothing, when it has captured
        raise unwritten(error) from error
    return captured.get()


def note(text: str) -> None:
    """A remark that is not part of the answer."""
    sys.stderr.write(text + "\n")


def _write(text: str) -> None:
    """Write and flush; a reader that has gone (`| head`) has what it wanted: see `unwritten`."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise unwritten(error) from error


def unwritten(error: OSError) -> Exception:
    """What to raise where stdout cannot take an answer. A reader that has gone is no error."""
    # The interpreter flushes once more when it ends: give it somewhere to put the rest.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return Exit(0)
    return RecollectError(
        f"the answer could not be written to stdout ({error.strerror or type(error).__name__})",
        remedy="Make room where the output goes. A change that was asked for is made.",
    )
