"""The statements of `adapters/sql` on Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final, LiteralString

from psycopg.types.json import Jsonb

from recollect.adapters.postgres.pipeline import Session
from recollect.adapters.postgres.rows import utc
from recollect.adapters.sql.session import PARAMETER, Markers, Row, Values, fill

MARKERS: Final[Markers] = {
    "memory": "memory_id",
    "number": "id",
    "weight": "c.weight",
    "undated": "'-infinity'",
    "groups": (
        "unnest(cast(:sources as uuid[]), cast(:relations as text[])) as w (source, relation)"
    ),
    "languages": "string_to_array(:languages, ' ')",
    "for_share": "for share",
    "for_update": "for update",
}


class PostgresSession:
    """Implements `Session`, within a transaction or for reads."""

    def __init__(self, connection: Session) -> None:
        self._connection = connection

    async def fetch(self, statement: LiteralString, values: Values) -> list[Row]:
        cursor = await self._connection.execute(to_postgres(statement), _bind(values))
        return [
            {name: _to_value(value) for name, value in row.items()}
            for row in await cursor.fetchall()
        ]

    async def execute(self, statement: LiteralString, values: Values) -> int:
        cursor = await self._connection.execute(to_postgres(statement), _bind(values))
        return cursor.rowcount


@cache
def to_postgres(statement: LiteralString) -> LiteralString:
    return PARAMETER.sub(
        lambda match: "now()" if match[1] == "now" else f"%({match[1]})s", fill(statement, MARKERS)
    )


def _bind(values: Values) -> dict[str, Any]:
    return {
        name: Jsonb(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }


def _to_value(value: Any) -> Any:  # noqa: ANN401  # of any column
    return utc(value) if isinstance(value, datetime) else value
