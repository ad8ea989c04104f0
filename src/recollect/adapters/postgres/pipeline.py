"""Several statements in one trip: before every prompt, each trip to Postgres counts.

Postgres runs statements that arrive together as one transaction, so what the first sets "for this
transaction" applies to the others and ends with them; each is planned when its turn comes, under
what was set. Nothing has to begin or end a transaction, and it works behind PgBouncer in
transaction mode. The simple protocol takes no parameters: the driver quotes them into the text, so
a Postgres that logs statements logs them too (docs/privacy.md). A pipeline would keep them apart,
but recalls took a third longer with it.

Statements are plain text with named placeholders, composed of our own constants alone: the driver's
SQL objects take longer, and this is the hot path (docs/adr/0031).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg import AsyncClientCursor, AsyncConnection
from psycopg.rows import DictRow, dict_row, tuple_row

from recollect.adapters.postgres.access import Roles, Who, acting_for


class Reading:
    """A connection for statements that only read. What one call sends is a transaction of its own,
    in a single trip: beginning and ending one would be two more, and before every prompt they
    count.
    """

    __slots__ = ("_before", "_values", "connection")

    def __init__(self, connection: AsyncConnection[Any], who: Who, roles: Roles | None) -> None:
        self.connection = connection
        self._before, self._values = acting_for(who, roles)

    async def execute(
        self, query: LiteralString, params: Mapping[str, object] | None = None
    ) -> AsyncClientCursor[DictRow]:
        cursor = AsyncClientCursor(self.connection, row_factory=dict_row)
        await cursor.execute(f"{self._before};{query}", {**(params or {}), **self._values})
        cursor.nextset()
        return cursor

    async def execute_many(
        self, params: Mapping[str, object], statements: tuple[LiteralString, ...]
    ) -> list[list[Any]]:
        values = {**params, **self._values}
        _, *results = await _execute(self.connection, values, (self._before, *statements))
        return results


Session = AsyncConnection[Any] | Reading
"""Within a transaction, or for reads."""


async def execute_many(
    connection: Session,
    params: Mapping[str, object],
    *statements: LiteralString,
) -> list[list[Any]]:
    """The rows of each statement, in order."""
    if isinstance(connection, Reading):
        return await connection.execute_many(params, statements)
    return await _execute(connection, params, statements)


async def _execute(
    connection: AsyncConnection[Any],
    params: Mapping[str, object],
    statements: tuple[LiteralString, ...],
) -> list[list[Any]]:
    async with AsyncClientCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(";".join(statements), params)
        results = [await cursor.fetchall()]
        while cursor.nextset():
            results.append(await cursor.fetchall())
    return results
