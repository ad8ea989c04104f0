"""The simple format: a record with a content and other fields, as one JSON object per line, a list
of them, or a row of a CSV file.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from recollect.core.imports.found import Found, ImportProblem, Item, moment_of, pieces
from recollect.core.imports.lines import Lines, objects
from recollect.core.memory.fields import Kind
from recollect.core.memory.memory import FIELDS as MEMORY_FIELDS
from recollect.core.memory.memory import STATED_FIELDS

FIELDS: Final = (*STATED_FIELDS, "created_at", "id")
_BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_REMEDY: Final = f"Fix the line. The fields are: {', '.join(FIELDS)}."


class _Wrong(ValueError):
    """A field with an invalid value."""


def records(lines: Lines, max_chars: int) -> Iterator[Item]:
    """Read one JSON object per line. An unreadable line is reported, and the rest is read."""
    yield from _read(objects(lines), max_chars)


def record_list(document: Iterable[Any], max_chars: int) -> Iterator[Item]:
    """Read the same objects from one JSON list."""
    yield from _read(_number_items(document), max_chars)


def rows(text: str, max_chars: int) -> Iterator[Item]:
    """Read CSV with a header. Tags and other lists are separated by `;` or `,`."""
    lines = text.removeprefix("\ufeff").splitlines(keepends=True)
    reader = csv.reader(lines, delimiter=delimiter_of(lines[0] if lines else ""), strict=True)
    try:
        names = [name.strip().lower() for name in next(reader, [])]
    except csv.Error:
        names = []
    if "content" not in names:
        yield ImportProblem(
            "line 1",
            "the first line has no column `content`",
            f"Name the columns in the first line: content, and any of {', '.join(FIELDS[1:])}.",
        )
        return
    yield from _read(_cells(reader, names), max_chars)


def delimiter_of(header: str) -> str:
    return max((",", ";", "\t"), key=header.count)


def _cells(
    reader: Iterator[list[str]], names: list[str]
) -> Iterator[tuple[str, dict[str, Any]] | ImportProblem]:
    while True:
        line = getattr(reader, "line_num", 0) + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield ImportProblem(
                f"line {line}", f"the row could not be read: {error}", "Correct the row."
            )
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(names):
            yield ImportProblem(
                f"line {line}",
                f"the row has {len(cells)} cells, the header {len(names)}",
                "Put text that contains the separator in quotation marks.",
            )
            continue
        named = zip(names, cells, strict=False)
        yield f"line {line}", {name: _cell(name, text) for name, text in named if text.strip()}


def _cell(name: str, text: str) -> Any:  # noqa: ANN401  # a JSON value
    kind = MEMORY_FIELDS[name].kind if name in STATED_FIELDS else "text"
    if kind == "texts":
        return [word for part in text.split(";") for word in part.split(",")]
    if kind == "flag":
        return _BOOLEANS.get(text.strip().lower(), text)
    if kind == "number":
        try:
            return float(text)
        except ValueError:
            return text
    return text


def _number_items(document: Iterable[Any]) -> Iterator[tuple[str, dict[str, Any]] | ImportProblem]:
    for number, item in enumerate(document, 1):
        if isinstance(item, dict):
            yield f"item {number}", item
        else:
            yield ImportProblem(
                f"item {number}", "the item is not a JSON object", "Correct or remove it."
            )


def _read(
    items: Iterable[tuple[str, dict[str, Any]] | ImportProblem], max_chars: int
) -> Iterator[Item]:
    unknown: set[str] = set()
    for item in items:
        if isinstance(item, ImportProblem):
            yield item
            continue
        place, values = item
        if new := values.keys() - {*FIELDS} - unknown:
            unknown |= new
            names = ", ".join(repr(name[:60]) for name in sorted(new))
            yield ImportProblem(place, f"unknown field {names} ignored", _REMEDY, is_warning=True)
        try:
            yield from _parse_record(place, values, max_chars)
        except _Wrong as error:
            yield ImportProblem(place, str(error), _REMEDY)


def _parse_record(place: str, values: Mapping[str, Any], max_chars: int) -> Iterator[Item]:
    content = _text(values, "content")
    if content is None or not content.strip():
        raise _Wrong("`content` is missing")
    key = values.get("id")
    known = {
        name: _READERS[MEMORY_FIELDS[name].kind](values, name)
        for name in STATED_FIELDS
        if name in values and name != "content"
    }
    given = {name: value for name, value in known.items() if value not in (None, "")}
    for piece in pieces(content, max_chars):
        yield Found(
            content=piece,
            place=place,
            key="" if key is None else str(key),
            created_at=_moment(values, "created_at"),
            **given,
        )


def _text(values: Mapping[str, Any], name: str) -> str | None:
    value = values.get(name)
    if value is not None and not isinstance(value, str):
        raise _Wrong(f"`{name}` is not a text")
    return value


def _moment(values: Mapping[str, Any], name: str) -> datetime | None:
    moment = moment_of(values.get(name))
    if moment is None and values.get(name) is not None:
        raise _Wrong(f"`{name}` is not a date such as 2026-01-31T09:30:00Z")
    return moment


def _texts(values: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = values.get(name)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _Wrong(f"`{name}` is not a list of texts")
    return tuple(value)


def _number(values: Mapping[str, Any], name: str) -> float:
    value = values[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _Wrong(f"`{name}` is not a number")
    return float(value)


def _flag(values: Mapping[str, Any], name: str) -> bool | None:
    value = values.get(name)
    if value is not None and not isinstance(value, bool):
        raise _Wrong(f"`{name}` is neither true nor false")
    return value


_READERS: Final[Mapping[Kind, Callable[[Mapping[str, Any], str], Any]]] = {
    "text": _text,
    "texts": _texts,
    "number": _number,
    "flag": _flag,
    "moment": _moment,
}
