"""Recollect's entry in Codex's TOML: text in, text out, comments included.

Only our own table is changed, line by line; as with JSON, every edit is verified by parsing the new
text and comparing the result with the expected one.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from recollect.adapters.agents.command import NAME, is_our_server
from recollect.core.errors import Conflict, InvalidInput

KEY: Final = "mcp_servers"
_NAMED: Final = rf"""(?:{NAME}|"{NAME}"|'{NAME}')"""
_OURS: Final = re.compile(rf"^\s*\[\s*{KEY}\s*\.\s*{_NAMED}\s*\]\s*(#.*)?$")
_BELOW_OURS: Final = re.compile(rf"^\s*\[\s*{KEY}\s*\.\s*{_NAMED}\s*\.")
_HEADER: Final = re.compile(r"^\s*\[")
_NOTHING: Final = re.compile(r"^\s*(#.*)?$")


def with_server(text: str, entry: Mapping[str, Any]) -> str:
    """Return the text with our server's table, appended or updated."""
    document = _document(text)
    current = _server(document)
    if current is None:
        changed = _append(text, entry)
    else:
        changed = text
        for name, value in entry.items():
            if current.get(name) != value:
                changed = _with_line(changed, name, value)
    servers = {**document.get(KEY, {}), NAME: {**(current or {}), **entry}}
    return _verify(changed, {**document, KEY: servers})


def without_server(text: str) -> str:
    """Return the text without our server's table and its subtables."""
    document = _document(text)
    if _server(document) is None:
        return text
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    number = 0
    while number < len(lines):
        if _OURS.match(lines[number]) or _BELOW_OURS.match(lines[number]):
            number = _end_of_table(lines, number)
            if not "".join(kept[-1:]).strip() and not "".join(lines[number : number + 1]).strip():
                number += 1  # one of the empty lines around the table is enough
        else:
            kept.append(lines[number])
            number += 1
    if kept and not kept[-1].strip() and lines[-1].strip():
        kept.pop()  # the empty line before our table
    servers = {name: entry for name, entry in document[KEY].items() if name != NAME}
    rest = {name: value for name, value in document.items() if name != KEY}
    expected = {**rest, KEY: servers} if servers else rest
    return _verify("".join(kept), expected, {**rest, KEY: servers})


def server_in(text: str) -> Mapping[str, Any] | None:
    """Return our server's entry; raise Conflict if the name is taken."""
    return _server(_document(text))


def table(entry: Mapping[str, Any]) -> str:
    """Format our table as a person would write it."""
    lines = [f"{name} = {_value(value)}\n" for name, value in entry.items()]
    return f"[{KEY}.{NAME}]\n" + "".join(lines)


def _append(text: str, entry: Mapping[str, Any]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text.strip() else newline if text.endswith("\n") else newline * 2
    return text + gap + table(entry).replace("\n", newline)


def _with_line(text: str, name: str, value: object) -> str:
    """Replace the line of one key in our table, or insert it first."""
    lines = text.splitlines(keepends=True)
    start = next((n for n, line in enumerate(lines) if _OURS.match(line)), None)
    if start is None:
        return text  # the table has another format; the verification will fail
    newline = "\r\n" if lines[start].endswith("\r\n") else "\n"
    written = f"{name} = {_value(value)}{newline}"
    for number in range(start + 1, _end_of_table(lines, start)):
        if re.match(rf"\s*{name}\s*=", lines[number]):
            return "".join([*lines[:number], written, *lines[number + 1 :]])
    return "".join([*lines[: start + 1], written, *lines[start + 1 :]])


def _end_of_table(lines: list[str], start: int) -> int:
    """Return the line after the table; comments before the next header belong to that header."""
    end = start + 1
    while end < len(lines) and not _HEADER.match(lines[end]):
        end += 1
    while end > start + 1 and _NOTHING.match(lines[end - 1]):
        end -= 1
    return end


def _value(value: object) -> str:
    """Format a string or a list of strings. JSON strings are valid TOML as long as non-ASCII
    characters are not escaped as surrogate pairs.
    """
    return json.dumps(value, ensure_ascii=False)


def _document(text: str) -> dict[str, Any]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _format_error(f"it is not TOML: {error}") from error
    if not isinstance(document.get(KEY, {}), dict):
        raise _format_error(f"its {KEY!r} is not a table of servers")
    return document


def _server(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    entry: Mapping[str, Any] | None = document.get(KEY, {}).get(NAME)
    if entry is not None and not is_our_server(entry):
        raise Conflict(
            f"there is already a server named {NAME!r} that `recollect install` did not write",
            remedy="Rename or remove it by hand, then install again; --print shows the entry.",
        )
    return entry


def _verify(text: str, *expected: object) -> str:
    try:
        if tomllib.loads(text) in expected:
            return text
    except tomllib.TOMLDecodeError:
        pass
    raise _format_error("its table of servers has a format that cannot be edited safely")


def _format_error(why: str) -> InvalidInput:
    return InvalidInput(
        f"the file was not changed: {why}",
        field="file",
        remedy="Fix the file, or make the change by hand; --print shows it.",
    )
