"""Connections to one Postgres, lent for a transaction or for reading without one.

Of our own making, because every recall borrows one five times and more: what a pool for every
purpose does around each loan took a fifteenth of a recall (docs/adr/0032). Nothing runs beside it;
connections are made, looked at and closed by whoever asks for one or brings one back.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from types import TracebackType
from typing import Final

from psycopg import AsyncConnection, Error, OperationalError
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from recollect.adapters.postgres import patience
from recollect.adapters.postgres.errors import AllLent, NotConnected, from_driver, translated

Connection = AsyncConnection[DictRow]

_LIFE_SECONDS: Final = 3600.0
"""A backend keeps what it once looked up: it is replaced before that becomes much."""

_REST_SECONDS: Final = 600.0
"""Unused for so long, it was made for a rush that is over."""

_FIRST_PAUSE: Final = 0.05


class _Line:
    """A connection, and since when it is there and unused."""

    __slots__ = ("_poll", "connection", "made", "rests")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.made = self.rests = monotonic()
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)

    def is_quiet(self) -> bool:
        """A server that goes away closes its connections, and what is closed can be read from.
        Nothing to read: nothing has happened, and a trip to ask is saved.
        """
        return not self._poll.poll(0)


class Pool:
    """At most so many connections; what goes wrong on one is told in Recollect's own errors."""

    def __init__(self, url: str, connections: int) -> None:
        self._url = url
        self._turns = asyncio.Semaphore(connections)
        # The one that came back last is lent first: a backend that has just worked is quicker.
        self._resting: list[_Line] = []
        self._lent = 0
        self._is_open = False

    async def open(self) -> None:
        """With a first connection, so that a Postgres that gives none is told of now."""
        with translated():
            self._resting.append(await self._connected(patience.CONNECT_SECONDS))
        self._is_open = True

    async def close(self) -> None:
        """Those that are still lent are closed when they come back."""
        self._is_open = False
        while self._resting:
            await self._resting.pop().connection.close()

    def reading(self) -> Loan:
        """For statements that change nothing, each by itself: beginning and ending a transaction
        around them would be two trips more, and before every prompt that counts.
        """
        return Loan(self)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with Loan(self) as connection, connection.transaction():
            yield connection

    async def take(self) -> _Line:
        if not self._is_open:
            raise NotConnected("the store is closed")
        await self._await_turn()
        try:
            line = await self._rested() or await self._connected(patience.POOL_SECONDS)
        except BaseException:
            self._turns.release()
            raise
        self._lent += 1
        return line

    async def bring_back(self, line: _Line) -> None:
        self._lent -= 1
        try:
            now = monotonic()
            if self._resting and now - self._resting[0].rests > _REST_SECONDS:
                await self._resting.pop(0).connection.close()
            # Whoever was stopped in the middle leaves it in no state to be used again.
            is_idle = line.connection.pgconn.transaction_status == TransactionStatus.IDLE
            if is_idle and self._is_open and now - line.made < _LIFE_SECONDS:
                line.rests = now
                self._resting.append(line)
            else:
                await line.connection.close()
        finally:
            self._turns.release()

    async def _await_turn(self) -> None:
        if not self._turns.locked():
            await self._turns.acquire()
            return
        try:
            async with asyncio.timeout(patience.POOL_SECONDS):
                await self._turns.acquire()
        except TimeoutError as error:
            # Nobody has one: all the turns are with those who try to make one.
            raise (AllLent if self._lent else NotConnected)("no turn in time") from error

    async def _rested(self) -> _Line | None:
        while self._resting:
            line = self._resting.pop()
            if line.is_quiet():
                return line
            await line.connection.close()
        return None

    async def _connected(self, seconds: float) -> _Line:
        """A new connection. A Postgres that is just starting refuses one at first."""
        pause, last = _FIRST_PAUSE, "no answer"
        try:
            async with asyncio.timeout(seconds):
                while True:
                    try:
                        return _Line(await self._connect())
                    except OperationalError as error:
                        last = str(error)
                    await asyncio.sleep(pause)
                    pause *= 2
        except TimeoutError as error:
            raise NotConnected(last) from error

    async def _connect(self) -> Connection:
        return await AsyncConnection.connect(
            self._url,
            autocommit=True,
            row_factory=dict_row,
            prepare_threshold=None,
            application_name="recollect",
            connect_timeout=patience.CONNECT_SECONDS,
        )


class Loan:
    """A connection, while entered."""

    __slots__ = ("_line", "_pool")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def __aenter__(self) -> Connection:
        try:
            self._line = await self._pool.take()
        except Error as error:
            raise from_driver(error) from error
        return self._line.connection

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._pool.bring_back(self._line)
        if isinstance(error, Error):
            raise from_driver(error) from error
