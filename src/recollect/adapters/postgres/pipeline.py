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
from psycopg.rows import tuple_row


async def execute_many(
    connection: AsyncConnection[Any], params: Mapping[str, object], *statements: LiteralString
) -> list[list[Any]]:
    """The rows of each statement, in order."""
    async with AsyncClientCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(";".join(statements), params)
        results = [await cursor.fetchall()]
        while cursor.nextset():
            results.append(await cursor.fetchall())
    return results
