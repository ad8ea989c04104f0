"""What a command prints: one JSON document for scripts, or text for people.

Rich is imported only for tables, so that JSON and plain text do not wait for it. Memories are data
and must not control the terminal. An escape sequence in a memory could recolour, retitle or
overwrite the screen, and a direction override could reverse text; both are made visible instead.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from recollect.core.errors import RecollectError
from recollect.shells.cli.framework.exit import Exit

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import RenderableType

# Narrower tables would cut the ids; a narrower terminal wraps the lines itself.
_MIN_WIDTH: Final = 60
_WIDTH_WITHOUT_TERMINAL: Final = 100
_CONTROLS: Final = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 except tab and line feed, DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction marks and overrides
    "\u2028\u2029"  # line and paragraph separators
    "\ud800-\udfff"  # lone surrogates: no terminal encoding has them
    "]"
)
_CONTROL_PICTURES: Final = 0x2400
_DEL: Final = 0x7F
_UTC_TIME: Final = re.compile(
    r"\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d(?:\.\d+)?)?(?: UTC\b|\+00:00)"
)


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
    lines = [line.rstrip(" ") for line in _render(renderables).splitlines()]
    _write("".join(f"{line}\n" for line in lines))


def _render(renderables: Sequence[RenderableType]) -> str:
    if all(isinstance(renderable, str) and renderable.isprintable() for renderable in renderables):
        return "\n".join(map(str, renderables))  # as rich would print them
    from rich.console import Console

    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((_WIDTH_WITHOUT_TERMINAL, 24)).columns
    console = Console(
        file=sys.stdout,
        width=max(width, _MIN_WIDTH),
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
    except OSError as error:  # even when capturing, rich writes an empty string to the file
        raise write_error(error) from error
    return captured.get()


def note(text: str) -> None:
    """Print a note that is not part of the result."""
    sys.stderr.write(text + "\n")


def _write(text: str) -> None:
    """Write and flush; see `write_error` for a reader that is gone (`| head`)."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise write_error(error) from error


def write_error(error: OSError) -> Exception:
    """Return the error to raise if stdout cannot be written; a reader that is gone is none."""
    # The interpreter flushes again at exit: give it somewhere to write.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return Exit(0)
    return RecollectError(
        f"the output could not be written to stdout ({error.strerror or type(error).__name__})",
        remedy="Free some space where the output goes. Any change the command "
        "makes has been applied.",
    )


def escape_controls(text: str) -> str:
    """Make every character visible that could control a terminal."""
    return _CONTROLS.sub(lambda match: _picture(ord(match[0])), text)


def one_line(text: str) -> str:
    """Put a text on one line, with control characters made visible."""
    return " ".join(escape_controls(text).split())


def local_time(moment: datetime) -> str:
    """Format a local time to the minute, for the columns of tables."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def zoned_time(moment: datetime) -> str:
    """Format a local time with the offset of its zone, for a time outside of a table. Options that
    take a time accept this format.
    """
    return moment.astimezone().isoformat(" ", "minutes")


def localize_times(sentence: str) -> str:
    """Convert the UTC times in a sentence that Recollect wrote to local time."""
    return _UTC_TIME.sub(
        lambda found: zoned_time(datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00")), sentence
    )


def local_date(moment: datetime) -> str:
    """Format a local date."""
    return moment.astimezone().strftime("%Y-%m-%d")


def setting_value(value: object) -> str:
    """Format a setting as a user would type it; an unset value follows the default."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "default" if value is None else escape_controls(str(value))


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == _DEL:
        return "\u2421"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
