"""Several statements in one trip: before every prompt, each trip to Postgres counts.

Postgres runs statements that come together as one transaction, so what the first of them sets "for
this transaction" holds for the others and is gone after them; and each is planned when its turn
comes, so it is planned under what was set. No beginning and no end has to be sent where there is no
longer transaction around it, and it works behind PgBouncer in transaction mode. The protocol for
this takes no parameters: they are written into the text, quoted by the driver, so a Postgres that
logs statements logs them, too (docs/privacy.md). A pipeline would keep them apart; with it a recall
took a third longer.

Statements are plain text with named places for values, put together from our own words alone: the
driver's objects for that take longer, and this is the hot path (docs/adr/0031).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

from psycopg import AsyncClientCursor, AsyncConnection
from psycopg.rows import tuple_row


async def ask(
    connection: AsyncConnection[Any], params: Mapping[str, object], *statements: LiteralString
) -> list[list[Any]]:
    """The rows of each statement, in order."""
    async with AsyncClientCursor(connection, row_factory=tuple_row) as cursor:
        await cursor.execute(";".join(statements), params)
        answers = [await cursor.fetchall()]
        while cursor.nextset():
            answers.append(await cursor.fetchall())
    return answers
