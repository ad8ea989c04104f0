"""The formats that can be read, and how sure one can be of a file's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from recollect.core.errors import InvalidInput

Format = Literal[
    "recollect",
    "jsonl",
    "csv",
    "lines",
    "markdown",
    "claude",
    "claude-ai",
    "claude-code",
    "chatgpt",
    "chatgpt-memories",
    "mem0",
    "mcp-memory",
]
STDIN: Final = Path("-")
"""The path that means standard input."""

FORMATS: Final[tuple[Format, ...]] = get_args(Format)

# named: the caller said it; certain: something only this format has; likely: it fits, and so might
# another; guess: nothing else fits better.
Confidence = Literal["named", "certain", "likely", "guess"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """The format of a file, and what it was recognised by."""

    format: Format
    confidence: Confidence
    because: str


def check_format(format: str | None) -> Format | None:
    """The format of this name; or InvalidInput, which names all of them."""
    for known in FORMATS:
        if format == known:
            return known
    if format is None:
        return None
    raise InvalidInput(
        f"unknown format {format[:60]!r}",
        field="format",
        remedy=f"Choose one of: {', '.join(FORMATS)}; or leave it out.",
    )


def unrecognised() -> InvalidInput:
    return InvalidInput(
        "the format cannot be told from the content",
        field="format",
        remedy=f"Name it with --format: {', '.join(FORMATS)}.",
    )
