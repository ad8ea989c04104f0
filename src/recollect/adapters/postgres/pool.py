"""Connections to one Postgres, lent for a transaction or for reading without one.

Of our own making, because every recall borrows one six times: what a pool for every purpose does
around each loan took up to a twelfth of a recall (docs/adr/0032).
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from types import TracebackType
from typing import Final

from psycopg import AsyncConnection, Error
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from recollect.adapters.postgres import timeouts as patience
from recollect.adapters.postgres.errors import NotConnected, PoolExhausted, from_driver, translated

Connection = AsyncConnection[DictRow]

_LIFE_SECONDS: Final = 3600.0
"""A backend keeps what it once looked up: it is replaced before that becomes much."""

_REST_SECONDS: Final = 600.0
"""Unused for so long, it was made for a rush that is over."""

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.4
_CLOSED: Final = "the store is closed"


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

    def is_sound(self) -> bool:
        """Whoever was stopped in the middle leaves it in no state to be used again."""
        status = self.connection.pgconn.transaction_status
        return status == TransactionStatus.IDLE and self.connection.autocommit


class Pool:
    """At most so many connections; what goes wrong on one is told in Recollect's own errors.

    Where none rests, whoever asks waits in line, for one that comes back or a new one. New ones are
    made one after another by a task of their own, so that one which takes longer than anybody
    waits is there for whoever asks next.
    """

    def __init__(self, url: str, connections: int) -> None:
        self._url = url
        self._room = connections
        # The one that came back last is lent first: a backend that has just worked is quicker.
        self._resting: list[_Line] = []
        self._waiting: deque[asyncio.Future[_Line]] = deque()
        self._making: asyncio.Task[None] | None = None
        self._refusal = "no answer"
        self._is_open = False

    async def open(self) -> None:
        """With a first connection, so that a Postgres that gives none is told of now."""
        self._is_open = True
        try:
            with translated():
                await self.bring_back(await self._next(patience.CONNECT_SECONDS))
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Those that are still lent are closed when they come back."""
        self._is_open = False
        if self._making is not None:
            self._making.cancel()
            await asyncio.wait([self._making])
        while self._waiting:
            self._waiting.popleft().set_exception(NotConnected(_CLOSED))
        while self._resting:
            await self._drop(self._resting.pop())

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
            raise NotConnected(_CLOSED)
        while self._resting:
            line = self._resting.pop()
            if line.is_quiet():
                return line
            await self._drop(line)
        return await self._next(patience.POOL_SECONDS)

    async def bring_back(self, line: _Line) -> None:
        now = monotonic()
        if self._resting and now - self._resting[0].rests > _REST_SECONDS:
            await self._drop(self._resting.pop(0))
        if line.is_sound() and self._is_open and now - line.made < _LIFE_SECONDS:
            line.rests = now
            self._pass_on(line)
        else:
            await self._drop(line)
            self._make_if_wanted()

    async def _next(self, seconds: float) -> _Line:
        waiter: asyncio.Future[_Line] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._make_if_wanted()
        try:
            await asyncio.wait([waiter], timeout=seconds)
        except asyncio.CancelledError:
            if waiter.done() and waiter.exception() is None:  # it came in the same moment
                await self.bring_back(waiter.result())
            raise
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
        if waiter.done():
            return waiter.result()
        if self._room:
            raise NotConnected(self._refusal)
        raise PoolExhausted("no connection came back in time")

    def _pass_on(self, line: _Line) -> None:
        if self._waiting:
            self._waiting.popleft().set_result(line)
        else:
            self._resting.append(line)

    async def _drop(self, line: _Line) -> None:
        self._room += 1
        await line.connection.close()

    def _make_if_wanted(self) -> None:
        is_busy = self._making is not None and not self._making.done()
        if self._is_open and not is_busy and self._waiting and self._room:
            self._making = asyncio.create_task(self._make(), name="connecting to Postgres")

    async def _make(self) -> None:
        """For as long as somebody waits: a Postgres that is just starting refuses at first."""
        pause = _FIRST_PAUSE
        while self._waiting and self._room:
            try:
                line = _Line(await self._connect())
            except Error as error:
                self._refusal = str(error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._refusal, pause = "no answer", _FIRST_PAUSE
                self._room -= 1
                self._pass_on(line)

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
