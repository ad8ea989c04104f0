"""The supported formats, and how certain detection is."""

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
    "document",
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

# named: given by the caller; certain: something only this format has; likely: it fits, but others
# might too; guess: nothing else fits better.
Confidence = Literal["named", "certain", "likely", "guess"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """The format of a file, and how it was recognised."""

    format: Format
    confidence: Confidence
    because: str


def check_format(format: str | None) -> Format | None:
    """The format of this name; or InvalidInput, which lists all of them."""
    for known in FORMATS:
        if format == known:
            return known
    if format is None:
        return None
    raise InvalidInput(
        f"unknown format {format[:60]!r}",
        field="format",
        remedy=f"Choose one of: {', '.join(FORMATS)}; or omit it.",
    )


def unknown_format() -> InvalidInput:
    return InvalidInput(
        "the format could not be detected from the content",
        field="format",
        remedy=f"Pass it with --format: {', '.join(FORMATS)}.",
    )
