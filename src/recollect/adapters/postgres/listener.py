"""Wakes workers when Postgres says that there is work.

LISTEN needs a connection of its own for as long as somebody waits. Behind a pooler that lends a
connection for one transaction it would listen on somebody else's, so there a worker looks again
every few seconds instead. A notification is only ever a reason to look: losing one costs seconds.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from psycopg import AsyncConnection, sql

from recollect.adapters.postgres import timeouts as patience
from recollect.usecases.workers.tasks import end

POLL: Final = 2.0
"""Seconds between two looks where nobody rings."""


class Listener:
    """Listens from the first wait on, until it is closed."""

    def __init__(self, url: str, channel: str) -> None:
        self._url = url
        self._channel = channel
        self._rung = asyncio.Event()
        self._is_deaf = False
        self._listening: asyncio.Task[None] | None = None

    async def wait(self, seconds: float) -> None:
        """Return when it rings, or after this long. Also when it begins to listen, and when its
        connection breaks: nobody knows what was missed.
        """
        if self._listening is None:
            self._listening = asyncio.create_task(self._listen(), name="listen for work")
            self._listening.add_done_callback(self._ended)
        with suppress(TimeoutError):
            async with asyncio.timeout(min(seconds, POLL) if self._is_deaf else seconds):
                await self._rung.wait()
        self._rung.clear()

    async def close(self) -> None:
        if self._listening is not None:
            await end(self._listening)
            self._listening = None

    async def _listen(self) -> None:
        connection = await AsyncConnection.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=patience.CONNECT_SECONDS,
        )
        async with connection:
            cursor = await connection.execute("select pg_backend_pid()")
            (process,) = await cursor.fetchone() or (0,)
            if process != connection.info.backend_pid:
                self._is_deaf = True  # a pooler answers with a number of its own
                return
            await connection.execute(sql.SQL("listen {}").format(sql.Identifier(self._channel)))
            self._rung.set()
            async for _ in connection.notifies():
                self._rung.set()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._listening = None  # its connection broke: the next wait tries again
        self._rung.set()
