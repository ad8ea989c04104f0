"""Edit JSON text in place: everything else is preserved, including whitespace and comments.

Settings belong to the user who wrote them. Parsing and writing them again would lose comments,
indentation, order and the notation of numbers; so a member or an element is inserted, replaced or
removed in the text itself. Every edit is verified afterwards: the new text must mean the same as
the old one, except for that one difference.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from recollect.core.errors import InvalidInput

Path = tuple[str | int, ...]

_BLANKS: Final = " \t\r\n"
_SCALAR: Final = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
# After an item, up to the end of its line: a comma, a comment, neither or both.
_REST_OF_LINE: Final = re.compile(
    r"[ \t]*(,)?[ \t]*(?://[^\r\n]*|/\*(?:(?!\*/)[^\r\n])*\*/)?[ \t]*(?=\r?\n)"
)
_INDENT: Final = re.compile(r"[\r\n]([ \t]+)[\"\]}\[{]")
_MAX_DEPTH: Final = 200


class NotJson(Exception):
    """The text is not valid; the message says where."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position. `start` and `end` enclose it; a member's start at its key."""

    value: Any
    start: int
    end: int
    members: dict[str, Member]
    elements: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Member:
    """One `"key": value` of an object."""

    start: int
    node: Node


def parse(text: str) -> Node:
    """The whole text as one value. Comments and trailing commas are allowed: people write them, and
    a client that reads none of them reports the file itself.
    """
    reader = _Reader(text)
    at = reader.skip(0)
    node = reader.value(at, 0)
    rest = reader.skip(node.end)
    if rest != len(text):
        raise NotJson(f"there is extra text after the value, {reader.place(rest)}")
    return node


def is_blank(text: str) -> bool:
    """Whether the text holds no value, but at most comments."""
    return _Reader(text).skip(0) == len(text)


def put(text: str, path: Path, value: object) -> str:
    """The text with this value at the path; missing objects on the way are created. A number in the
    path is an index in an array; its length appends an element.
    """
    root = parse(text)
    node, depth = _find_deepest(root, path)
    if depth == len(path):
        written = _dump(value, _Layout.of(text, node.start))
        changed = text[: node.start] + written + text[node.end :]
    else:
        changed = _add_item(text, node, path[depth], _nest(path[depth + 1 :], value))
    _verify(changed, _set(root.value, path, value))
    return changed


def remove(text: str, path: Path) -> str:
    """The text without the member or element at the path, which must exist."""
    root = parse(text)
    owner, _ = _find_deepest(root, path[:-1])
    changed = _remove_item(text, owner, path[-1])
    _verify(changed, _delete(root.value, path))
    return changed


class _Reader:
    """Reads values with their positions."""

    def __init__(self, text: str) -> None:
        self._text = text

    def place(self, at: int) -> str:
        line = self._text.count("\n", 0, at) + 1
        return f"line {line}, column {at - self._text.rfind(chr(10), 0, at)}"

    def skip(self, at: int) -> int:
        while at < len(self._text):
            if self._text[at] in _BLANKS:
                at += 1
            elif comment := _COMMENT.match(self._text, at):
                at = comment.end()
            else:
                break
        return at

    def value(self, at: int, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise NotJson("it is nested too deeply")
        mark = self._text[at : at + 1]
        if mark == "{":
            return self._object(at, depth)
        if mark == "[":
            return self._array(at, depth)
        found = (_STRING if mark == '"' else _SCALAR).match(self._text, at)
        if found is None:
            raise NotJson(f"a value is missing or unfinished, {self.place(at)}")
        return Node(self._plain(found[0], at), at, found.end(), {})

    def _plain(self, text: str, at: int) -> object:
        try:
            return json.loads(text)
        except ValueError as error:
            raise NotJson(f"a value cannot be read, {self.place(at)}") from error

    def _object(self, start: int, depth: int) -> Node:
        members: dict[str, Member] = {}
        at = self.skip(start + 1)
        while self._text[at : at + 1] != "}":
            key = _STRING.match(self._text, at)
            if key is None:
                raise NotJson(f"a name in quotes is missing, {self.place(at)}")
            name = str(self._plain(key[0], at))
            if name in members:
                raise NotJson(f"{name!r} appears twice, {self.place(at)}")
            colon = self.skip(key.end())
            if self._text[colon : colon + 1] != ":":
                raise NotJson(f"a colon is missing, {self.place(colon)}")
            node = self.value(self.skip(colon + 1), depth + 1)
            members[name] = Member(at, node)
            at = self._find_next(node.end, "}")
        value = {name: member.node.value for name, member in members.items()}
        return Node(value, start, at + 1, members)

    def _array(self, start: int, depth: int) -> Node:
        elements: list[Node] = []
        at = self.skip(start + 1)
        while self._text[at : at + 1] != "]":
            node = self.value(at, depth + 1)
            elements.append(node)
            at = self._find_next(node.end, "]")
        return Node([element.value for element in elements], start, at + 1, {}, tuple(elements))

    def _find_next(self, end: int, closing: str) -> int:
        """Return where the next item or the closing bracket starts."""
        at = self.skip(end)
        if self._text[at : at + 1] == closing:
            return at
        if self._text[at : at + 1] != ",":
            raise NotJson(f"a comma or {closing} is missing, {self.place(at)}")
        return self.skip(at + 1)


@dataclass(frozen=True, slots=True)
class _Layout:
    """How to format a value at one position: `newline` is empty for a text on one line."""

    newline: str
    unit: str
    indent: str

    @classmethod
    def of(cls, text: str, at: int) -> _Layout:
        """Detect the line ends and the indentation of the surrounding text and of the current
        line.
        """
        if "\n" not in text.strip():
            return cls("", "", "")
        newline = "\r\n" if "\r\n" in text else "\n"
        found = _INDENT.search(text)
        line = text[text.rfind("\n", 0, at) + 1 : at]
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        return cls(newline, found[1] if found else "  ", indent)


def _dump(value: object, layout: _Layout) -> str:
    if not layout.newline:
        return json.dumps(value, ensure_ascii=False)
    text = json.dumps(value, ensure_ascii=False, indent=layout.unit)
    return text.replace("\n", layout.newline + layout.indent)


def _find_deepest(node: Node, path: Path) -> tuple[Node, int]:
    """Return the last existing node on the path, and how many steps lead to it."""
    for depth, step in enumerate(path):
        if isinstance(step, int):
            if step >= len(node.elements):
                return node, depth
            node = node.elements[step]
        elif step in node.members:
            node = node.members[step].node
        else:
            return node, depth
    return node, len(path)


def _add_item(text: str, owner: Node, step: str | int, value: object) -> str:
    """Return the text with one more item at the end of an object or array."""
    layout = _Layout.of(text, owner.start)
    inner = _Layout(layout.newline, layout.unit, layout.indent + layout.unit)
    written = _dump(value, inner)
    if isinstance(step, str):
        written = f"{json.dumps(step, ensure_ascii=False)}: {written}"
    separator = inner.newline + inner.indent
    items = _items(owner)
    if not items:
        closing = layout.newline + layout.indent
        comment = text[owner.start + 1 : owner.end - 1].rstrip()  # in an empty object
        before = text[: owner.start + 1] + comment
        return f"{before}{separator}{written}{closing}{text[owner.end - 1 :]}"
    last = items[-1][1]
    rest = _REST_OF_LINE.match(text, last) if layout.newline else None
    if rest is None:
        return f"{text[:last]},{separator or ' '}{written}{text[last:]}"
    # What follows the last item on its line, such as a comment, stays there.
    end = rest.end()
    before = text[:end] if rest[1] else f"{text[:last]},{text[last:end]}"
    return f"{before}{separator}{written}{',' if rest[1] else ''}{text[end:]}"


def _remove_item(text: str, owner: Node, step: str | int) -> str:
    """The text without one item and one comma; comments beside it stay."""
    items = _items(owner)
    place = list(owner.members).index(step) if isinstance(step, str) else step
    start, end = items[place]
    reader = _Reader(text)
    comma = reader.skip(end)
    if text[comma : comma + 1] == ",":
        return _close_gap(text[:start], text[end:comma] + text[comma + 1 :])
    if place > 0:
        comma = reader.skip(items[place - 1][1])
        return _close_gap(text[:comma] + text[comma + 1 : start], text[end:])
    inside = text[owner.start + 1 : start] + text[end : owner.end - 1]
    if not inside.strip():
        return text[: owner.start + 1] + text[owner.end - 1 :]
    return text[:start] + text[end:]


def _items(owner: Node) -> list[tuple[int, int]]:
    """Return where each member or element starts and ends."""
    if owner.members:
        return [(member.start, member.node.end) for member in owner.members.values()]
    return [(element.start, element.end) for element in owner.elements]


def _close_gap(before: str, after: str) -> str:
    """Join both parts without the line that became empty between them."""
    indented = before.rstrip(" \t")
    if re.match(r"[ \t]*(\r?\n|[\]}])", after):
        return indented.removesuffix("\n").removesuffix("\r") + after
    return before + after.lstrip(" \t")


def _nest(path: Path, value: object) -> object:
    for step in reversed(path):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def _set(value: Any, path: Path, new: object) -> Any:  # noqa: ANN401  # any JSON value
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        after = [*value] if isinstance(value, list) else []
        if step < len(after):
            after[step] = _set(after[step], rest, new)
        else:
            after.append(_nest(rest, new))
        return after
    before = value if isinstance(value, dict) else {}
    return {**before, step: _set(before.get(step), rest, new)}


def _delete(value: Any, path: Path) -> Any:  # noqa: ANN401  # any JSON value
    step, rest = path[0], path[1:]
    if rest:
        return _set(value, (step,), _delete(value[step], rest))
    if isinstance(step, int):
        return [item for place, item in enumerate(value) if place != step]
    return {name: member for name, member in value.items() if name != step}


def _verify(text: str, expected: object) -> None:
    try:
        if parse(text).value == expected:
            return
    except NotJson:
        pass
    raise InvalidInput(
        "the text has a format that cannot be edited safely",
        field="file",
        remedy="Make the change by hand; --print shows it.",
    )
