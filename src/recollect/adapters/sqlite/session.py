"""The statements of `adapters/sql` on SQLite."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from math import log2
from typing import Any, Final, LiteralString
from uuid import UUID

from recollect.adapters.sql.session import Markers, Row, Values, fill
from recollect.adapters.sqlite.rows import microseconds, moment
from recollect.adapters.sqlite.schema.graph import UNDATED

MARKERS: Final[Markers] = {
    "memory": "memory",
    "number": "number",
    "weight": "max(c.held, 1)",
    "undated": f"{UNDATED}",
    "groups": (
        "(SELECT s.value AS source, r.value AS relation FROM json_each(:sources) s"
        " JOIN json_each(:relations) r ON r.key = s.key) AS w"
    ),
    "languages": ":languages",
    "for_share": "",
    "for_update": "",
}
_LIST: Final = re.compile(r"= any\(:(\w+)\)")
_IDS: Final = (
    "id", "source", "target", "concept_id", "edge_id", "memory_id", "edge", "here", "there",
    "was", "newer", "older", "proposal", "survivor", "superseded",
)  # fmt: skip
_MOMENTS: Final = (
    "created_at", "learned_at", "valid_from", "valid_to", "known_until", "said_from", "said_until",
    "starts_at", "stated_at", "accepted_at", "undone_at",
)  # fmt: skip


class SqliteSession:
    """Implements `Session`, in the thread of the connection."""

    def __init__(self, connection: sqlite3.Connection, now: int | None = None) -> None:
        """`now`: the value of `:now` in statements."""
        self._connection = connection
        self._now = {} if now is None else {"now": now}

    async def fetch(self, statement: LiteralString, values: Values) -> list[Row]:
        rows = self._run(statement, values).fetchall()
        return [{name: _to_value(name, value) for name, value in dict(row).items()} for row in rows]

    async def execute(self, statement: LiteralString, values: Values) -> int:
        return self._run(statement, values).rowcount

    def _run(self, statement: LiteralString, values: Values) -> sqlite3.Cursor:
        bound = {name: _bind(value) for name, value in values.items()}
        return self._connection.execute(to_sqlite(statement), bound | self._now)


@cache
def to_sqlite(statement: LiteralString) -> str:
    return _LIST.sub(r"IN (SELECT value FROM json_each(:\1))", fill(statement, MARKERS))


def weigh_edge(held: int) -> float:
    """Return the weight of an edge that this many memories state."""
    return log2(1 + max(held, 1))


def _bind(value: object) -> object:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return microseconds(value)
    if isinstance(value, list | Mapping):
        return json.dumps(value, ensure_ascii=False, default=str)  # ids
    return value


def _to_id(value: str | int) -> UUID | int:
    """Convert an id: spaces have numbers, everything else UUIDs."""
    return UUID(value) if isinstance(value, str) else value


def _to_value(column: str, value: Any) -> Any:  # noqa: ANN401  # of any column
    if value is None:
        return None
    if column.startswith("is_"):
        return bool(value)
    read = _READERS.get(column)
    return value if read is None else read(value)


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(_IDS, _to_id),
    **dict.fromkeys(_MOMENTS, moment),
    "weight": weigh_edge,
    "languages": str.split,
    "addition": json.loads,
    "tags": json.loads,
    "expanded_keywords": json.loads,
}
