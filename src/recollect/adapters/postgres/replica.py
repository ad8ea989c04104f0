"""Recall on a streaming replica, as long as that makes no difference to the client.

A replica serves an owner when it is at most so many seconds behind, and has replayed the owner's
last write through this server. Both are decided by positions in the write-ahead log: the primary's
is read every so often, and a replica that has replayed one is as current as the moment it was
read. The replica's own idea of its lag would not do: one that has lost its primary thinks it has
none. Otherwise, or when the replica fails, the primary is read.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from time import monotonic
from typing import Final

from psycopg import Error

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.core.errors import RecollectError

log = logging.getLogger(__name__)

_WRITTEN: Final = "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as position"
_CURRENT: Final = "select pg_current_wal_lsn() - '0/0'::pg_lsn as position"
_REPLAYED: Final = "select pg_last_wal_replay_lsn() - '0/0'::pg_lsn as position"
# How often the positions are read while the replica may be so far behind.
_CHECKS: Final = 4

_may_lag: ContextVar[bool] = ContextVar("may_lag", default=False)


@contextmanager
def replica_allowed() -> Iterator[None]:
    """What is read inside may come from a replica."""
    token = _may_lag.set(True)
    try:
        yield
    finally:
        _may_lag.reset(token)


class StreamingReplica:
    """Implements what the pool of the primary asks of its replica."""

    def __init__(
        self, primary: Pool, pool: Pool, max_lag: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self.pool = pool
        self._primary = primary
        self._max_lag = max_lag
        self._clock = clock
        self._positions: deque[tuple[float, float]] = deque()
        self._replayed = 0.0
        self._current_at = -inf
        self._written: dict[str, float] = {}
        self._watching: asyncio.Task[None] | None = None
        self._is_serving: bool | None = None

    async def open(self) -> None:
        self.pool.roles = self._primary.roles
        self.pool.is_distributed = self._primary.is_distributed
        await self.pool.open(is_required=False)
        await self.check()
        self._watching = asyncio.create_task(self._watch(), name="watch the replica")

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        await self.pool.close()

    def serves(self, owner: str) -> bool:
        return (
            _may_lag.get() and self._is_current and self._written.get(owner, 0.0) <= self._replayed
        )

    @property
    def _is_current(self) -> bool:
        return self._clock() - self._current_at <= self._max_lag

    def fail(self) -> None:
        """It did not answer: the primary is read until a check succeeds."""
        self._current_at = -inf

    async def note_write(self, connection: Connection, owner: str) -> None:
        """After a commit: up to here the replica must come to serve this owner."""
        try:
            self._written[owner] = await _read(connection, _WRITTEN)
        except Error:  # the write itself has succeeded
            self._written[owner] = inf

    async def check(self) -> None:
        """Read where both are."""
        try:
            now = self._clock()
            async with self._primary.transaction(WORKER) as connection:
                self._positions.append((now, await _read(connection, _CURRENT)))
            async with self.pool.transaction(WORKER) as connection:
                self._replayed = await _read(connection, _REPLAYED)
        except RecollectError:
            self.fail()
        else:
            while self._positions and self._positions[0][1] <= self._replayed:
                self._current_at, _ = self._positions.popleft()
            self._written = {
                owner: position
                for owner, position in self._written.items()
                if position > self._replayed
            }
        while self._positions and self._positions[0][0] < self._clock() - self._max_lag:
            self._positions.popleft()
        self._log_change()

    def _log_change(self) -> None:
        if self._is_serving is not self._is_current:
            self._is_serving = self._is_current
            if self._is_serving:
                log.info("recall reads from the replica")
            else:
                log.warning("recall reads from the primary: the replica is behind or unreachable")

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._max_lag / _CHECKS)
            await self.check()


async def _read(connection: Connection, statement: str) -> float:
    """A position; of a server that is no replica, one that is never reached."""
    cursor = await connection.execute(statement.encode())
    row = await cursor.fetchone() or {"position": None}
    return -1.0 if row["position"] is None else float(row["position"])
