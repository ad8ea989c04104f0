"""Several statements in one round trip: recall runs before every prompt, so each round trip counts.

Postgres runs statements that arrive together as one transaction, so settings that the first one
makes "for this transaction" apply to the others and end with them; each is planned under these
settings when its turn comes. No `begin` or `commit` is needed, and it works behind PgBouncer in
transaction mode. The simple protocol has no parameters: the driver quotes them into the text, so a
Postgres that logs statements logs them, too (docs/privacy.md). A pipeline would keep them separate,
but made recalls a third slower.

Statements are plain text with named placeholders, composed only of our own constants: the driver's
SQL objects are slower, and this is the hot path (docs/adr/rejected.md).

On a Citus cluster each statement is a message of its own, in a transaction: Citus passes `set
local` on to its nodes, but with the whole message, and does not pass on `set_config`
(docs/adr/0046). A pipeline sends all these messages at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, LiteralString

from psycopg import AsyncClientCursor, AsyncConnection, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import AsyncRowFactory, DictRow, dict_row, tuple_row

from recollect.adapters.postgres.access import (
    Roles,
    Who,
    access_statement,
    owner_setting,
)

_UNCHANGED: Final[Mapping[LiteralString, str]] = {}


class Reading:
    """A connection for statements that only read. Each call is its own transaction, in a single
    round trip: an explicit `begin` and `commit` would need two more.
    """

    __slots__ = ("_before", "_values", "_who", "connection")

    def __init__(self, connection: AsyncConnection[Any], who: Who, roles: Roles | None) -> None:
        self.connection = connection
        self._who = who
        self._before, self._values = access_statement(who, roles)

    async def execute(
        self, query: LiteralString, params: Mapping[str, object] | None = None
    ) -> AsyncClientCursor[DictRow]:
        cursor = AsyncClientCursor(self.connection, row_factory=dict_row)
        await cursor.execute(f"{self._before};{query}", {**(params or {}), **self._values})
        cursor.nextset()
        return cursor

    async def execute_many(
        self,
        params: Mapping[str, object],
        statements: tuple[LiteralString, ...],
        settings: Mapping[LiteralString, str],
    ) -> list[list[Any]]:
        values = {**params, **self._values}
        before, named = _set_config(settings)
        sent = (self._before, *before, *statements)
        results = await _execute(self.connection, {**values, **named}, sent)
        return results[1 + len(before) :]


class DistributedReading(Reading):
    """The same on a Citus cluster: a transaction of single statements, sent in a pipeline."""

    __slots__ = ()

    async def execute(
        self, query: LiteralString, params: Mapping[str, object] | None = None
    ) -> AsyncClientCursor[DictRow]:
        (cursor,) = await self._send(params or {}, (query,), {}, dict_row)
        return cursor

    async def execute_many(
        self,
        params: Mapping[str, object],
        statements: tuple[LiteralString, ...],
        settings: Mapping[LiteralString, str],
    ) -> list[list[Any]]:
        cursors = await self._send(params, statements, settings, tuple_row)
        return [await cursor.fetchall() for cursor in cursors]

    async def _send(
        self,
        params: Mapping[str, object],
        statements: tuple[LiteralString, ...],
        settings: Mapping[LiteralString, str],
        row_factory: AsyncRowFactory[Any],
    ) -> list[AsyncClientCursor[Any]]:
        cursors = [AsyncClientCursor(self.connection, row_factory=row_factory) for _ in statements]
        try:
            async with self.connection.pipeline():
                await self.connection.execute("begin")
                await set_local(self.connection, {**owner_setting(self._who), **settings})
                for cursor, statement in zip(cursors, statements, strict=True):
                    await cursor.execute(statement, params)
                await self.connection.execute("commit")
        except BaseException:
            if self.connection.pgconn.transaction_status == TransactionStatus.INERROR:
                await self.connection.execute("rollback")
            raise
        return cursors


Session = AsyncConnection[Any] | Reading
"""A connection in a transaction, or for reads."""


async def execute_many(
    connection: Session,
    params: Mapping[str, object],
    *statements: LiteralString,
    settings: Mapping[LiteralString, str] = _UNCHANGED,
) -> list[list[Any]]:
    """Return the rows of each statement, in order, run with these settings of Postgres."""
    if isinstance(connection, Reading):
        return await connection.execute_many(params, statements, settings)
    await set_local(connection, settings)
    return await _execute(connection, params, statements)


async def set_local(
    connection: AsyncConnection[Any], settings: Mapping[LiteralString, str]
) -> None:
    """Apply settings until the transaction ends, on every node of a cluster, one per message."""
    for name, value in settings.items():
        statement = sql.SQL("set local {} = {}").format(
            sql.SQL(".").join(map(sql.Identifier, name.split("."))), sql.Literal(value)
        )
        await connection.execute(statement)


def _set_config(
    settings: Mapping[LiteralString, str],
) -> tuple[tuple[LiteralString, ...], dict[str, object]]:
    if not settings:
        return (), {}
    calls = ", ".join(f"set_config('{name}', %({_param(name)})s, true)" for name in settings)
    return (f"select {calls}",), {_param(name): value for name, value in settings.items()}


def _param(setting: LiteralString) -> LiteralString:
    return f"setting_{setting.replace('.', '_')}"


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
