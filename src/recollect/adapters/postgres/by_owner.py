"""Statements that lock or change rows of many owners, and their form on a Citus cluster.

Citus locks rows, and changes rows found by a join, on one shard at a time. There such a statement
runs once for each owner, in the same transaction; elsewhere once for all of them. It has markers
where the owner is named: `{e}` becomes a condition on the owner of `e`, or nothing (docs/adr/0046).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import LiteralString, TypeVar

Row = TypeVar("Row")


class _Conditions(dict[str, LiteralString]):
    def __init__(self, *, is_named: bool) -> None:
        super().__init__()
        self._is_named = is_named

    def __missing__(self, alias: str) -> LiteralString:
        return f"and {alias}.owner = %(owner)s" if self._is_named else ""


_NAMED = _Conditions(is_named=True)
_UNNAMED = _Conditions(is_named=False)


def limit_to(owner: str | None, statement: LiteralString) -> LiteralString:
    """The statement about one owner, who is its parameter `owner`, or about all."""
    return statement.format_map(_UNNAMED if owner is None else _NAMED)


def split_by_owner(
    rows: Sequence[Row], owner_of: Callable[[Row], str], *, is_distributed: bool
) -> Iterable[tuple[str | None, Sequence[Row]]]:
    """The rows of each owner on a cluster; elsewhere all of them, of no one owner."""
    if not is_distributed:
        return [(None, rows)]
    parts: dict[str, list[Row]] = {}
    for row in rows:
        parts.setdefault(owner_of(row), []).append(row)
    return sorted(parts.items())
