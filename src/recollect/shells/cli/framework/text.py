"""Memories are data: they must not control the terminal that shows them.

An escape sequence in a memory could recolour, retitle or overwrite the screen, and a direction
override could reverse text; both are made visible instead.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

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


def harmless(text: str) -> str:
    """The text with every character that could control a terminal made visible."""
    return _CONTROLS.sub(lambda match: _picture(ord(match[0])), text)


def one_line(text: str) -> str:
    """The same, on one line."""
    return " ".join(harmless(text).split())


def local_time(moment: datetime) -> str:
    """Local time, to the minute: for the columns of tables."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def zoned_time(moment: datetime) -> str:
    """The same with the offset of the zone, for a time that stands alone. Options that take a time
    accept it.
    """
    return moment.astimezone().isoformat(" ", "minutes")


def with_local_times(sentence: str) -> str:
    """A sentence of ours with its times, which are in UTC, in local time."""
    return _UTC_TIME.sub(
        lambda found: zoned_time(datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00")), sentence
    )


def local_date(moment: datetime) -> str:
    """The same, to the day."""
    return moment.astimezone().strftime("%Y-%m-%d")


def setting_value(value: object) -> str:
    """As it would be typed; an unset value follows the default."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "default" if value is None else harmless(str(value))


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == _DEL:
        return "\u2421"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
