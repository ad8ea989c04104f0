"""Detect a file's format by its content and, if that is ambiguous, by its name."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, Final, Literal, get_args

from recollect.core.errors import InvalidInput
from recollect.core.imports import claude, json_exports
from recollect.core.imports.found import ImportProblem
from recollect.core.imports.jsonl import FORMAT
from recollect.core.imports.notes import parse_note
from recollect.core.imports.records import FIELDS, delimiter_of

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
    "mcp-memory-service",
    "basic-memory",
]
STDIN: Final = Path("-")
"""The path that means standard input."""

FORMATS: Final[tuple[Format, ...]] = get_args(Format)

# named: given by the caller; certain: something that only this format has; likely: it fits, but
# others might too; guess: nothing else fits better.
Confidence = Literal["named", "certain", "likely", "guess"]


@dataclass(frozen=True, slots=True)
class Recognised:
    """The format of a file, and how it was recognised."""

    format: Format
    confidence: Confidence
    because: str


def check_format(format: str | None) -> Format | None:
    """Return the format of this name; or raise InvalidInput, which lists all of them."""
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


_BOM: Final = b"\xef\xbb\xbf"
# The number of lines that identify a file of JSON Lines.
_MAX_LINES_READ: Final = 20
# Markdown syntax: a heading, a list item, a quotation, a fence.
_MARKDOWN: Final = re.compile(r"\s{0,3}(?:#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|>|```|~~~)")
_LONG_LINE: Final = 500
# No editor wraps lines narrower than this.
_NARROW: Final = 50
_SENTENCE_ENDS: Final = (".", "!", "?", ":")
# Bytes that no text contains, not even in an older encoding.
_BINARY: Final = re.compile(rb"[\x00-\x06\x0e-\x19\x1c-\x1f]")


def is_json(head: bytes) -> bool:
    return head.removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")


def is_pdf(head: bytes) -> bool:
    return head.startswith(b"%PDF-")


def not_a_text(head: bytes) -> ImportProblem | None:
    """Return what is wrong with a file that starts like this, if it is empty or binary."""
    if not head.removeprefix(_BOM).strip():
        return ImportProblem("file", "it is empty", "Name a file that contains memories.")
    if _BINARY.search(head):
        return ImportProblem(
            "file",
            "it is binary, or a text that is not UTF-8",
            "Name a text file; convert one first, for example with `iconv -t UTF-8`.",
        )
    return None


def document_of(data: bytes, *, one_per_line: bool = True) -> Any:  # noqa: ANN401  # a JSON value
    """Parse a JSON document, or a list if there is one per line; None if it is neither."""
    text = data.removeprefix(_BOM).decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if not one_per_line:
        return None
    found = [_json(line) for line in text.split("\n") if line.strip()]
    read = [item for item in found if item is not None]
    return read or None


def recognise(head: bytes, path: PurePath, document: Callable[[], Any]) -> Recognised:
    """Return the format of a file that starts like this; or raise InvalidInput. `document` reads
    all of it as JSON: one value, or a list if there is one per line; None if it is neither.
    """
    if is_pdf(head):
        return Recognised("document", "certain", "it is a PDF")
    # A stray line before JSON Lines, such as a warning, must not turn all the others into notes.
    if not is_json(head) and not path.name.lower().endswith((".jsonl", ".ndjson")):
        return _text(head, path)
    if (found := recognise_lines(head)) is not None:
        return found
    return _document(document())


def recognise_lines(head: bytes) -> Recognised | None:
    """Return the format of JSON Lines that start like this, if one of them is conclusive."""
    whole = head.removeprefix(_BOM).split(b"\n")[:_MAX_LINES_READ]
    values = [value for line in whole if isinstance(value := _json(line), dict)]
    if not values:
        return None
    first = values[0]
    if first.get("format") == FORMAT:
        return Recognised("recollect", "certain", "its first line says so")
    if first.get("type") in ("entity", "relation"):
        return Recognised("mcp-memory", "certain", "its first line is an entity or a relation")
    if any(map(claude.is_transcript_entry, values)):
        return Recognised("claude-code", "certain", "its lines are entries of a session")
    return _record(first)


def _record(first: dict[str, Any]) -> Recognised | None:
    if (
        not isinstance(first.get("content"), str)
        or "memory" in first
        or "created_timestamp" in first
    ):
        return None
    if first.keys() <= {*FIELDS}:
        return Recognised("jsonl", "certain", "all fields of its first object are known")
    return Recognised("jsonl", "likely", "its first object has a content")


def _document(document: Any) -> Recognised:  # noqa: ANN401  # a JSON value
    if isinstance(document, dict) and ("entities" in document or "relations" in document):
        return Recognised("mcp-memory", "likely", "it contains entities or relations")
    listed = document if isinstance(document, list) else [document]
    first = next((row for row in listed if isinstance(row, dict)), {})
    if "mapping" in first:
        return Recognised("chatgpt", "certain", "its conversations have a mapping")
    if claude.is_conversation(first) or claude.is_memory(first):
        return Recognised(
            "claude-ai", "certain", "it has chat_messages, or what claude.ai remembers"
        )
    if isinstance(document, list) and (found := _record(first)) is not None:
        return found
    listed = json_exports.entries(document) or []
    first = next((row for row in listed if isinstance(row, dict)), {})
    if "memory" in first:
        return Recognised("mem0", "likely", "its entries have a memory")
    if "content_hash" in first:
        return Recognised("mcp-memory-service", "certain", "its entries have a content_hash")
    if document is None or not listed:
        raise unknown_format()
    return Recognised("chatgpt-memories", "guess", "it is a list of something")


def _text(head: bytes, path: PurePath) -> Recognised:
    name = path.name.lower()
    text = head.removeprefix(_BOM).decode("utf-8", "replace")
    lines = text.split("\n")
    columns = _columns(lines[0])
    if name.endswith((".csv", ".tsv")) or ("content" in columns and len(columns) > 1):
        is_sure = "content" in columns
        because = (
            "its first line names a column `content`"
            if is_sure
            else "its name ends in .csv or .tsv"
        )
        return Recognised("csv", "certain" if is_sure else "likely", because)
    if parse_note(text).is_of_basic_memory:
        because = "its front matter has a title, a type and a permalink"
        return Recognised("basic-memory", "certain", because)
    if path.parent.name == "memory" or name == "memory.md":
        return Recognised("claude", "likely", "it is in a memory folder, or named MEMORY.md")
    if name.startswith("claude") and name.endswith(".md"):
        return Recognised("claude", "likely", "its name begins with CLAUDE")
    if name.endswith((".md", ".markdown")):
        return Recognised("markdown", "certain", "its name ends in .md or .markdown")
    if _has_one_per_line(text.strip().split("\n")):
        return Recognised("lines", "guess", "each line is a separate statement")
    return Recognised("markdown", "guess", "it is text with paragraphs")


def _columns(header: str) -> list[str]:
    try:
        cells = next(csv.reader([header.strip()], delimiter=delimiter_of(header)), [])
    except csv.Error:
        return []
    return [cell.strip().lower() for cell in cells]


def _has_one_per_line(lines: list[str]) -> bool:
    """Whether each line is a separate statement: there is no paragraph of several lines, or no
    blank line at all, and hardly a line continues in the next.
    """
    filled = [line.strip() for line in lines if line.strip()]
    if len(filled) < 2 or any(len(line) > _LONG_LINE or _MARKDOWN.match(line) for line in filled):
        return False
    has_paragraphs = any(not line.strip() for line in lines) and any(
        one.strip() and other.strip() for one, other in pairwise(lines)
    )
    width = max(map(len, filled))
    # Someone who starts the first line in lower case may start every note so.
    margin = max(width, _NARROW) if filled[0][0].islower() else width
    continued = [_is_continued(line, following, margin) for line, following in pairwise(filled)]
    return not has_paragraphs and sum(continued) * 2 <= len(continued)


def _is_continued(line: str, following: str, margin: int) -> bool:
    """Whether an editor has wrapped a sentence between two lines: the next word did not fit."""
    is_full = len(line) + 1 + len(following.split()[0]) > margin
    return is_full and following[0].islower() and not line.endswith(_SENTENCE_ENDS)


def _json(line: bytes | str) -> Any:  # noqa: ANN401  # a JSON value
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
