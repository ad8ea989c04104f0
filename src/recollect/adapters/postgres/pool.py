"""Connections to one Postgres, lent for a transaction or for reading without one."""

from __future__ import annotations

import select
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from psycopg import AsyncConnection, OperationalError
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout, TooManyRequests

from recollect.adapters.postgres import patience
from recollect.adapters.postgres.errors import translated

Connection = AsyncConnection[DictRow]


class Pool:
    """At most so many connections; what goes wrong on one is told in Recollect's own errors."""

    def __init__(self, url: str, connections: int) -> None:
        self._pool: AsyncConnectionPool[Connection] = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=connections,
            open=False,
            timeout=patience.POOL_SECONDS,
            # It waits ever longer between attempts, and requests wait with it. So it soon gives
            # up, and the next request tries at once: Postgres may be back.
            reconnect_timeout=patience.POOL_SECONDS - 1,
            # A connection that died with its server is replaced before it can fail a request.
            check=self._check_alive,
            kwargs={
                "row_factory": dict_row,
                "prepare_threshold": None,
                "application_name": "recollect",
                "connect_timeout": patience.CONNECT_SECONDS,
            },
        )
        self._in_use = 0

    async def open(self) -> None:
        with translated():
            await self._pool.open(wait=True, timeout=patience.CONNECT_SECONDS)

    async def close(self) -> None:
        await self._pool.close()

    def transaction(self) -> AbstractAsyncContextManager[Connection]:
        return self._connection(autocommit=False)

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """For statements that change nothing, each by itself: beginning and ending a transaction
        around them would be two trips more, and before every prompt that counts.
        """
        return self._connection(autocommit=True)

    @asynccontextmanager
    async def _connection(self, *, autocommit: bool) -> AsyncIterator[Connection]:
        with translated():
            try:
                async with self._pool.connection() as connection:
                    self._in_use += 1
                    try:
                        # However its last user left it.
                        if connection.autocommit != autocommit:
                            await connection.set_autocommit(autocommit)
                        yield connection
                    finally:
                        self._in_use -= 1
            except PoolTimeout as error:
                if self._in_use == 0:
                    raise  # nobody had one: none can be made
                raise TooManyRequests from error

    async def _check_alive(self, connection: Connection) -> None:
        """A server that goes away closes its connections, and what is closed can be read from.
        Nothing to read: nothing has happened, and a trip to ask is saved.
        """
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        if not poll.poll(0):
            return
        try:
            await self._pool.check_connection(connection)
        except OperationalError:
            # Its neighbours will have died with it. Left to find them one by one, the pool would
            # pause before each, for one second, two, four and so on. They are not asked: one that
            # does not answer would be waited for.
            await self._pool.drain()
            raise
