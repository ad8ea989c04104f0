"""Connections to one Postgres: pooled ones for transactions and reads, and dedicated ones.

The pool is our own because a recall acquires a connection several times, and because a caller that
gets none needs to know why (docs/adr/0032).
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import wraps
from time import monotonic
from types import TracebackType
from typing import Any, Final, ParamSpec, TypeVar

from psycopg import AsyncClientCursor, AsyncConnection, Error
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.rows import DictRow, dict_row

from recollect.adapters.postgres.access import Roles, Who, access_statement, owner_setting
from recollect.adapters.postgres.errors import (
    NotConnected,
    PoolExhausted,
    find_lost_node,
    is_disconnect,
    translate,
    translate_errors,
)
from recollect.adapters.postgres.pipeline import DistributedReading, Reading, set_local
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import StoreUnavailable
from recollect.core.retry import CONNECT_BACKOFF
from recollect.ports.tracing import NO_TRACER, Tracer

# One retry for reads whose connection broke. A Postgres that restarts, or ends a backend, breaks
# the connections in use and is usually back at once. A read can be repeated on another connection.
# A write cannot: it may have been committed, and only the response was lost.

Params = ParamSpec("Params")
Result = TypeVar("Result")


def retry_on_disconnect(
    read: Callable[Params, Coroutine[Any, Any, Result]],
) -> Callable[Params, Coroutine[Any, Any, Result]]:
    """Retry a method that only reads once after a disconnect. A second disconnect is raised, and so
    is the failure to connect: the caller has already waited for that.
    """

    @wraps(read)
    async def read_twice(*args: Params.args, **kwargs: Params.kwargs) -> Result:
        try:
            return await read(*args, **kwargs)
        except StoreUnavailable as error:
            if not is_disconnect(error):
                raise
        return await read(*args, **kwargs)

    return read_twice


Connection = AsyncConnection[DictRow]

NODE_RETRY_SECONDS: Final = 30.0
"""How long a lost node of a cluster is left alone."""
_CLOSED: Final = "the store is closed"
_NO_ANSWER: Final = "no answer"


class _Pooled:
    """A connection of the pool: when it was opened, and since when it has been idle."""

    __slots__ = ("_poll", "connection", "created_at", "idle_since")

    def __init__(self, connection: Connection, now: float) -> None:
        self.connection = connection
        self.created_at = self.idle_since = now
        self._poll = select.poll()
        self._poll.register(connection.fileno(), select.POLLIN)

    def is_alive(self) -> bool:
        """Return whether the connection is open, without a round trip: a server that stops closes
        its connections, and a closed connection has something to read.
        """
        return not self._poll.poll(0)

    def is_reusable(self) -> bool:
        """Return False if its user was cancelled in the middle of something."""
        status = self.connection.pgconn.transaction_status
        return status == TransactionStatus.IDLE and self.connection.autocommit


class Pool:
    """At most `size` connections. Driver errors are raised as Recollect's own.

    When none is idle, callers queue for one that is released or a new one. New ones are opened one
    at a time by a background task, so that a connection that arrives after its caller has given up
    serves the next caller.
    """

    def __init__(
        self,
        url: str,
        size: int,
        timeouts: Timeouts | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.timeouts = timeouts or Timeouts()
        self.last_error = _NO_ANSWER
        """Why the last attempt to connect failed."""
        self.url = with_keepalives(url, self.timeouts)
        self.roles: Roles | None = None
        """The roles that transactions take; None if the database has none."""
        self.is_distributed = False
        """Whether the tables are distributed by Citus (docs/adr/0046)."""
        self.tracer: Tracer = NO_TRACER
        self._lost_nodes: dict[str, float] = {}
        self._clock = clock
        self._size = self._free_slots = size
        # The last one released is acquired first: a backend that was just used is faster.
        self._idle: list[_Pooled] = []
        self._waiters: deque[asyncio.Future[_Pooled]] = deque()
        self._connecting: asyncio.Task[None] | None = None
        self._is_open = False

    @property
    def lost_nodes(self) -> list[str]:
        """The nodes of the cluster that did not answer lately, and need not be asked now."""
        since = self._clock() - NODE_RETRY_SECONDS
        return [node for node, lost_at in self._lost_nodes.items() if lost_at > since]

    def note_failure(self, error: Error) -> None:
        """Note which node of the cluster was lost, if the error says so."""
        if self.is_distributed and (node := find_lost_node(str(error))):
            self._lost_nodes[node] = self._clock()

    @property
    def idle(self) -> int:
        """How many connections are ready to be acquired."""
        return len(self._idle)

    @property
    def in_use(self) -> int:
        """How many connections are acquired or being opened."""
        return self._size - self._free_slots - len(self._idle)

    async def open(self, *, is_required: bool = True) -> None:
        """Open a first connection, so that a Postgres that refuses it is reported now. If it is not
        required, the connection is opened when needed.
        """
        self._is_open = True
        if not is_required:
            return
        try:
            with translate_errors():
                await self.release(await self._wait(self.timeouts.database_connect))
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the pool. Connections in use are closed when they are released."""
        self._is_open = False
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        while self._waiters:
            self._waiters.popleft().set_exception(NotConnected(_CLOSED))
        while self._idle:
            await self._discard(self._idle.pop())

    @asynccontextmanager
    async def transaction(
        self, who: Who, *, is_snapshot: bool = False
    ) -> AsyncIterator[Connection]:
        """Open a transaction. `who`: whose rows it may see (`access.py`). `is_snapshot`: all
        statements see the same snapshot.
        """
        with self.tracer.span("postgres transaction"):
            async with _Acquired(self) as connection:
                try:
                    await self._begin(connection, who, is_snapshot=is_snapshot)
                    yield connection
                except BaseException:
                    await _roll_back(connection)
                    raise
                await connection.commit()

    async def act_for(self, connection: Connection, who: Who) -> None:
        """Act for `who` from now to the end of the transaction."""
        if self.is_distributed:
            await set_local(connection, owner_setting(who))
            return
        statement, values = access_statement(who, self.roles)
        await AsyncClientCursor(connection).execute(statement, values)

    def reading(self, who: Who) -> _AcquiredReading:
        """Acquire a connection for single read statements of the rows that `who` may see."""
        return _AcquiredReading(self, who)

    @asynccontextmanager
    async def dedicated(self) -> AsyncIterator[Connection]:
        """Open a connection outside the pool, for work that takes minutes or needs its own session.
        It has the login role, like `ADMIN`.
        """
        with translate_errors():
            async with await self._connect() as connection:
                yield connection

    async def acquire(self) -> _Pooled:
        if not self._is_open:
            raise NotConnected(_CLOSED)
        while self._idle:
            pooled = self._idle.pop()
            if pooled.is_alive():
                return pooled
            await self._discard(pooled)
        return await self._wait(self.timeouts.acquire)

    async def release(self, pooled: _Pooled) -> None:
        now = self._clock()
        if self._idle and now - self._idle[0].idle_since > self.timeouts.max_idle:
            await self._discard(self._idle.pop(0))
        is_fresh = now - pooled.created_at < self.timeouts.max_lifetime
        if pooled.is_reusable() and self._is_open and is_fresh:
            pooled.idle_since = now
            self._hand_over(pooled)
        else:
            await self._discard(pooled)
            self._connect_if_needed()

    async def _begin(self, connection: Connection, who: Who, *, is_snapshot: bool) -> None:
        begin = "begin isolation level repeatable read" if is_snapshot else "begin"
        if self.is_distributed:
            await connection.execute(begin)
            await set_local(connection, owner_setting(who))
            return
        statement, values = access_statement(who, self.roles)
        await AsyncClientCursor(connection).execute(f"{begin};{statement}", values)

    async def _wait(self, seconds: float) -> _Pooled:
        waiter: asyncio.Future[_Pooled] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._connect_if_needed()
        try:
            await asyncio.wait([waiter], timeout=seconds)
        except asyncio.CancelledError:
            if waiter.done() and waiter.exception() is None:  # handed over at the same time
                await self.release(waiter.result())
            raise
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        if waiter.done():
            return waiter.result()
        if self._free_slots:
            raise NotConnected(self.last_error)
        raise PoolExhausted("no connection was released in time")

    def _hand_over(self, pooled: _Pooled) -> None:
        if self._waiters:
            self._waiters.popleft().set_result(pooled)
        else:
            self._idle.append(pooled)

    async def _discard(self, pooled: _Pooled) -> None:
        self._free_slots += 1
        await pooled.connection.close()

    def _connect_if_needed(self) -> None:
        is_connecting = self._connecting is not None and not self._connecting.done()
        if self._is_open and not is_connecting and self._waiters and self._free_slots:
            self._connecting = asyncio.create_task(
                self._connect_for_waiters(), name="connect to Postgres"
            )

    async def _connect_for_waiters(self) -> None:
        """Connect while callers wait, with backoff: a starting Postgres refuses at first."""
        failures = 0
        while self._waiters and self._free_slots:
            try:
                pooled = _Pooled(await self._connect(), self._clock())
            except Error as error:
                self.last_error = str(error)
                failures += 1
                await asyncio.sleep(CONNECT_BACKOFF.wait(failures))
            else:
                self.last_error, failures = _NO_ANSWER, 0
                self._free_slots -= 1
                self._hand_over(pooled)

    async def _connect(self) -> Connection:
        return await AsyncConnection.connect(
            self.url,
            autocommit=True,
            row_factory=dict_row,
            prepare_threshold=None,
            application_name="recollect",
            connect_timeout=self.timeouts.database_connect,
        )


class _Acquiring:
    """Holds a connection of the pool while entered. A class, which is faster than a generator: a
    recall enters several.
    """

    __slots__ = ("_pool", "_pooled")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def _acquire(self) -> Connection:
        try:
            self._pooled = await self._pool.acquire()
        except Error as error:
            raise translate(error) from error
        return self._pooled.connection

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._pool.release(self._pooled)
        if isinstance(error, Error):
            self._pool.note_failure(error)
            raise translate(error) from error


class _Acquired(_Acquiring):
    __slots__ = ()

    async def __aenter__(self) -> Connection:
        return await self._acquire()


class _AcquiredReading(_Acquiring):
    __slots__ = ("_who",)

    def __init__(self, pool: Pool, who: Who) -> None:
        super().__init__(pool)
        self._who = who

    async def __aenter__(self) -> Reading:
        connection = await self._acquire()
        kind = DistributedReading if self._pool.is_distributed else Reading
        return kind(connection, self._who, self._pool.roles)


async def _roll_back(connection: Connection) -> None:
    """Roll back, unless the connection is lost or busy: it is then discarded when released."""
    if connection.pgconn.transaction_status in (
        TransactionStatus.INTRANS,
        TransactionStatus.INERROR,
    ):
        with suppress(Error):
            await connection.rollback()


async def has_own_session(connection: AsyncConnection[Any]) -> bool:
    """Return whether the connection always has the same backend. A pooler reports a process number
    of its own, and may run each transaction on another backend.
    """
    cursor = await connection.execute("select pg_backend_pid() as pid")
    row = await cursor.fetchone() or {}
    return bool(row["pid"] == connection.info.backend_pid)


def with_keepalives(url: str, timeouts: Timeouts) -> str:
    """Add TCP keepalive options to the URL, so that connections notice when the other end is gone.

    A firewall forgets a connection that was idle for some minutes and then silently drops its
    packets. The kernel's own timeouts are two hours when idle and 15 minutes for a request.
    Keepalive options in the URL take precedence.
    """
    given = conninfo_to_dict(url)
    options = {
        "keepalives_idle": timeouts.keepalive_idle,
        "keepalives_interval": timeouts.keepalive_interval,
        "keepalives_count": timeouts.keepalive_count,
        "tcp_user_timeout": timeouts.database_connect * 1000,
    }
    return make_conninfo(
        url, **{name: value for name, value in options.items() if name not in given}
    )
