"""Memories as files: the paths that Anthropic's memory tool may use, and the texts it expects.

There is no file system behind these paths, so a path cannot reach anything that it should not.
Paths are still checked, because they are shown to people and stored as tags, and because what is
rejected here cannot harm anyone who exports it. The texts are those of the tool's documentation:
models were trained on them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

ROOT: Final = "/memories"
# A path is stored as a tag, which can be no longer (core/memory/memory.py, `Limits.word`).
MAX_PATH: Final = 200
MAX_LINES: Final = 999_999
_ENCODED: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_UNITS: Final = ("B", "K", "M", "G")
_LEVELS: Final = 2
_AROUND: Final = 4


class Refused(Exception):
    """A command that failed; the message is for the model."""


@dataclass(frozen=True, slots=True)
class FilePath:
    """A checked path: the root itself, or something below it."""

    text: str

    @property
    def is_root(self) -> bool:
        return self.text == ROOT

    def holds(self, other: FilePath) -> bool:
        """Whether the other path is inside this directory."""
        return other.text.startswith(f"{self.text}/")

    def moved(self, old: FilePath, new: FilePath) -> FilePath:
        """Return the new path after `old`, this path or a directory above it, is renamed."""
        return FilePath(new.text + self.text.removeprefix(old.text))


def file_path(text: object) -> FilePath:
    """Check a path; Refused for anything that could mean something else elsewhere."""
    if not isinstance(text, str):
        raise Refused("Error: The path is missing, or is not a text.")
    path = unicodedata.normalize("NFC", text)
    path = path[:-1] if path.endswith("/") and len(path) > 1 else path
    inside = path == ROOT or path.startswith(f"{ROOT}/")
    if not inside or len(path) > MAX_PATH or _has_tricks(path):
        raise Refused(
            f"Error: The path {printable_path(text)} is not allowed. Paths lie under {ROOT}, have"
            f" at most {MAX_PATH} characters, and name every step plainly."
        )
    return FilePath(path)


def _has_tricks(path: str) -> bool:
    names = path.split("/")[1:]
    plain = unicodedata.normalize("NFKC", path)
    return (
        any(name in ("", ".", "..") or name != name.strip() for name in names)
        or "\\" in path
        or _ENCODED.search(path) is not None
        # Control characters, NUL among them, invisible marks, halves of pairs, odd line ends.
        or any(unicodedata.category(character)[0] == "C" for character in path)
        or any(unicodedata.category(character) in ("Zl", "Zp") for character in path)
        # Full-width dots, slashes and the like, which other programs take for the plain ones.
        or any(plain.count(character) != path.count(character) for character in "/.\\%:~")
    )


def printable_path(text: str) -> str:
    """Return a path as it can be shown: on one line, and of limited length."""
    return "".join(character if character.isprintable() else "�" for character in text[:MAX_PATH])


def number_lines(lines: list[str], first: int = 1) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


def file_view(path: FilePath, content: str, view_range: object = None) -> str:
    """Show the file with line numbers, all of it or a range whose end may be -1."""
    lines = content.split("\n")
    if len(lines) > MAX_LINES:
        raise Refused(f"File {path.text} exceeds maximum line limit of 999,999 lines.")
    start, end = 1, len(lines)
    if view_range is not None:
        start, end = _range(view_range, len(lines))
    body = number_lines(lines[start - 1 : end], start)
    return f"Here's the content of {path.text} with line numbers:\n{body}"


def _range(view_range: object, lines: int) -> tuple[int, int]:
    match view_range:
        case [int(start), int(end)] if 1 <= start <= lines and (end == -1 or start <= end):
            return start, lines if end == -1 else min(end, lines)
    raise Refused(
        f"Error: Invalid `view_range` parameter: {view_range}. It should be two line numbers "
        f"within the range of lines of the file: [1, {lines}]"
    )


def listing(path: FilePath, sizes: Mapping[FilePath, int]) -> str:
    """List a directory two levels deep, without hidden items; a directory's size is that of its
    files.
    """
    inside = {file: size for file, size in sizes.items() if path.holds(file)}
    totals: dict[str, int] = {}
    for file, size in inside.items():
        names = file.text.removeprefix(f"{path.text}/").split("/")
        if any(name.startswith(".") or name == "node_modules" for name in names):
            continue
        for depth in range(1, min(len(names), _LEVELS) + 1):
            place = "/".join([path.text, *names[:depth]])
            totals[place] = totals.get(place, 0) + size
    rows = [(path.text, sum(inside.values())), *sorted(totals.items())]
    return (
        f"Here're the files and directories up to 2 levels deep in {path.text}, excluding hidden "
        "items and node_modules:\n" + "\n".join(f"{_size(size)}\t{place}" for place, size in rows)
    )


def replace_text(path: FilePath, content: str, old: str, new: str) -> tuple[str, str]:
    """Replace the only occurrence of `old`; return the content and the message for the model."""
    found = content.count(old) if old else 0
    if found == 0:
        raise Refused(
            f"No replacement was performed, old_str `{old}` did not appear verbatim in {path.text}."
        )
    if found > 1:
        raise Refused(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(map(str, _lines_of(content, old)))}. Please ensure it is unique"
        )
    before, _, after = content.partition(old)
    changed = before + new + after
    return changed, f"The memory file has been edited.\n{_snippet(changed, before, new)}"


def insert_text(content: str, line: object, text: str) -> str:
    """Insert text after a line; 0 is before the first."""
    lines = content.split("\n")
    if not isinstance(line, int) or isinstance(line, bool) or not 0 <= line <= len(lines):
        raise Refused(
            f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of "
            f"lines of the file: [0, {len(lines)}]"
        )
    lines[line:line] = text.removesuffix("\n").split("\n")
    return "\n".join(lines)


def _lines_of(content: str, old: str) -> list[int]:
    starts = (found.start() for found in re.finditer(re.escape(old), content))
    return sorted({content.count("\n", 0, start) + 1 for start in starts})


def _snippet(changed: str, before: str, new: str) -> str:
    """Return the lines around the change."""
    lines = changed.split("\n")
    first = before.count("\n")
    last = first + new.count("\n")
    start = max(0, first - _AROUND)
    return number_lines(lines[start : last + _AROUND + 1], start + 1)


def _size(size: int) -> str:
    """Format a size as `ls -h` does: 0B, 512B, 5.5K, 1.2M."""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.0f}{_UNITS[unit]}" if unit == 0 else f"{amount:.1f}{_UNITS[unit]}"
