"""Wakes workers when Postgres notifies them of work.

LISTEN needs its own connection for as long as a worker waits. A pooler that assigns backends per
transaction would run it on another client's backend, and on a Citus cluster the triggers notify on
other nodes, so there the worker polls instead. A notification is only a hint: losing one costs
seconds.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final, LiteralString

from psycopg import sql

from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pool import Pool, has_own_session
from recollect.core.jobs import to_storable
from recollect.core.retry import JOB_BACKOFF, MAX_JOB_ATTEMPTS
from recollect.usecases.tasks import cancel_and_wait

# When a failed job is retried. Computed by a query and not within an update, in which Citus only
# accepts expressions that are the same for all rows.
NEXT_DUE: Final[LiteralString] = """
case when attempts >= %(most)s then 'infinity'::timestamptz
    else now() + interval '1 second'
        * least(%(first)s * %(growth)s ^ greatest(attempts - 1, 0), %(longest)s) end
"""


def failure_params(error: str) -> dict[str, object]:
    """Return the parameters of `NEXT_DUE`, and the error."""
    return {
        "error": to_storable(error),
        "most": MAX_JOB_ATTEMPTS,
        "first": JOB_BACKOFF.first,
        "growth": JOB_BACKOFF.growth,
        "longest": JOB_BACKOFF.longest,
    }


class Listener:
    """Listens from the first wait until it is closed."""

    def __init__(self, pool: Pool, channel: str) -> None:
        self._pool = pool
        self._channel = channel
        self._notified = asyncio.Event()
        self._is_polling = False
        self._listening: asyncio.Task[None] | None = None

    async def wait(self, seconds: float) -> None:
        """Return when notified, or after `seconds`. Also returns when listening begins and when its
        connection breaks: a notification may have been missed.
        """
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(), name="listen for work")
            self._listening.add_done_callback(self._handle_end)
        if self._is_polling:
            seconds = min(seconds, self._pool.timeouts.poll)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._notified.wait()
        self._notified.clear()

    async def close(self) -> None:
        if self._listening is not None:
            await cancel_and_wait(self._listening)
            self._listening = None

    async def _listen(self) -> None:
        async with self._pool.dedicated() as connection:
            if self._pool.is_distributed or not await has_own_session(connection):
                self._is_polling = True
                return
            await connection.execute(sql.SQL("listen {}").format(sql.Identifier(self._channel)))
            self._notified.set()
            async for _ in connection.notifies():
                self._notified.set()

    def _handle_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._listening = None  # its connection broke: the next wait tries again
        self._notified.set()


class ListeningQueue(PostgresComponent):
    """A queue whose workers are woken by notifications on a channel."""

    def __init__(self, pool: Pool, limits: Limits, channel: str) -> None:
        super().__init__(pool, limits)
        self._listener = Listener(pool, channel)

    async def close(self) -> None:
        await self._listener.close()

    async def wait_for_work(self, seconds: float) -> None:
        await self._listener.wait(seconds)
