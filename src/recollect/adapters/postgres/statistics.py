"""Keeps the word frequencies fresh in the background.

Frequencies may be old, but not those of a much smaller store, so they are refreshed when it has
grown by half: some thirty times on the way to 300,000 memories. While the store is small that takes
a few milliseconds and is part of the write, so that a new user's third memory is already ranked by
what is rare among the first two. Later it takes seconds and runs in a task.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from recollect.adapters.postgres.lexical import statistics as lexeme_stats
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.core.errors import StoreError
from recollect.usecases.tasks import cancel_and_wait

_SET_LOCK_TIMEOUT: Final = f"set local lock_timeout = '{lexeme_stats.LOCK_TIMEOUT}'"
_KNOWN_ROWS: Final = f"select ndoc from lexeme_stats where lexeme = '{lexeme_stats.STORED_KEY}'"  # noqa: S608  # a constant
# Without waiting for an index that is being built, which may take an hour.
_ANALYZE: Final = "analyze (skip_locked) memories"


class Statistics:
    """Counts what this process adds, and refreshes the frequencies when due."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._small_store = limits.small_store
        self._rows = 0
        self._added = 0
        self._refresh: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Read how large the store was at the last refresh."""
        due = False
        with suppress(StoreError):
            async with self._pool.transaction() as connection:
                await self._read_rows(connection)
                due = await lexeme_stats.statistics_due(connection)
        if due:
            await self._refresh_after_growth()

    async def close(self) -> None:
        if self._refresh is not None:
            await cancel_and_wait(self._refresh)

    async def added(self, count: int) -> None:
        """Called after a write that Postgres has committed."""
        self._added += count
        if self._has_grown():
            # Another process may have refreshed them; a store that it made large is not small.
            with suppress(StoreError):
                async with self._pool.transaction() as connection:
                    await self._read_rows(connection)
        if self._has_grown():
            await self._refresh_after_growth()

    async def maintain(self) -> None:
        """Refresh for all that is stored now; a refresh in progress may have begun before."""
        if self._refresh is not None:
            await asyncio.wait([self._refresh])
        await self.refresh()

    async def refresh(self) -> None:
        """Refresh now, and the planner's own statistics with them: the lexical leg relies on its
        estimate of a scope's size. An error here costs no one a memory.
        """
        self._added = 0
        with suppress(StoreError):
            async with self._pool.transaction() as connection:
                if await lexeme_stats.refresh_statistics(connection):
                    await connection.execute(_ANALYZE)
                await self._read_rows(connection)

    def _has_grown(self) -> bool:
        return self._rows + self._added >= lexeme_stats.GROWTH * self._rows

    async def _refresh_after_growth(self) -> None:
        if self._rows + self._added <= self._small_store:
            await self.refresh()
        elif self._refresh is None or self._refresh.done():
            self._refresh = asyncio.create_task(self.refresh(), name="refresh word frequencies")

    async def _read_rows(self, connection: Connection) -> None:
        await connection.execute(_SET_LOCK_TIMEOUT)
        cursor = await connection.execute(_KNOWN_ROWS)
        row = await cursor.fetchone()
        self._rows = row["ndoc"] if row else 0
