"""Reads `tsquery` text as Postgres does, so that the plan's expressions can be tested without it.

The value of an expression for every possible row is its truth table: bit n of the number is its
value for the row that holds exactly the words whose bits are set in n.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_TOKEN = re.compile(r"\s*('(?:[^'\\]|''|\\.)*'|[&|()])", re.DOTALL)
_ESCAPED = re.compile(r"''|\\(.)", re.DOTALL)


def tokens(text: str) -> Iterator[str]:
    """Return operators as they are, and words with their quotes."""
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        assert found, f"not a tsquery from {position} on: {text!r}"
        yield found[1]
        position = found.end()


def words(text: str) -> list[str]:
    return [_unquote(token) for token in tokens(text) if token.startswith("'")]


def truth_table(text: str, columns: Mapping[str, int]) -> int:
    """Return the expression's value for every row; `columns` are the tables of the single words."""
    left = list(tokens(text))

    def either() -> int:
        value = both()
        while left and left[0] == "|":
            left.pop(0)
            value |= both()
        return value

    def both() -> int:
        value = one()
        while left and left[0] == "&":
            left.pop(0)
            value &= one()
        return value

    def one() -> int:
        token = left.pop(0)
        if token != "(":
            return columns[_unquote(token)]
        value = either()
        assert left.pop(0) == ")"
        return value

    value = either()
    assert not left, f"more than one expression: {text!r}"
    return value


def columns_of(names: Sequence[str]) -> dict[str, int]:
    """Return for each word the table of the rows that hold it."""
    rows = range(2 ** len(names))
    return {
        name: sum(1 << row for row in rows if row >> place & 1) for place, name in enumerate(names)
    }


def _unquote(token: str) -> str:
    return _ESCAPED.sub(lambda found: found[1] or "'", token[1:-1])
