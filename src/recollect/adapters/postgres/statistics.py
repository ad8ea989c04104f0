"""Keeps the word frequencies fresh enough without anybody noticing.

Frequencies may be old, but not of a much smaller store, so they are taken again when it has grown
by half: some thirty times on the way to 300,000 memories. While the store is small that takes a few
milliseconds and is done with the write, so that a newcomer's third memory is already ranked by what
is rare among the first two. Later it takes seconds and runs beside the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

from psycopg import AsyncConnection

from recollect.adapters.postgres.lexical import statistics as lexeme_stats
from recollect.core.errors import StoreError
from recollect.usecases.workers.tasks import end

_SMALL = 2_000
_BE_QUICK = f"set local lock_timeout = '{lexeme_stats.PATIENCE}'"
_KNOWN_ROWS = f"select ndoc from lexeme_stats where lexeme = '{lexeme_stats.STORED_KEY}'"  # noqa: S608  # a constant
# Without waiting for an index that is being built, which may take an hour.
_ANALYZE = "analyze (skip_locked) memories"

Transaction = Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]


class Statistics:
    """Counts what this process adds, and takes the frequencies anew when that is due."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction
        self._rows = 0
        self._added = 0
        self._refresh: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Learn how large the store was when its frequencies were taken."""
        due = False
        with suppress(StoreError):
            async with self._transaction() as connection:
                await self._read_rows(connection)
                due = await lexeme_stats.statistics_due(connection)
        if due:
            await self._after_growth()

    async def close(self) -> None:
        if self._refresh is not None:
            await end(self._refresh)

    async def added(self, count: int) -> None:
        """Called after a write that is already acknowledged by Postgres."""
        self._added += count
        if self._has_grown():
            # Another process may have taken them since; a store it made large is not small.
            with suppress(StoreError):
                async with self._transaction() as connection:
                    await self._read_rows(connection)
        if self._has_grown():
            await self._after_growth()

    async def maintain(self) -> None:
        """Take the frequencies of what is stored now; a refresh under way may have begun before."""
        if self._refresh is not None:
            await asyncio.wait([self._refresh])
        await self.refresh()

    async def refresh(self) -> None:
        """Take the frequencies now, and the planner's own statistics with them: the lexical leg
        trusts its estimate of a scope's size. What goes wrong here costs nobody a memory.
        """
        self._added = 0
        with suppress(StoreError):
            async with self._transaction() as connection:
                if await lexeme_stats.refresh_statistics(connection):
                    await connection.execute(_ANALYZE)
                await self._read_rows(connection)

    def _has_grown(self) -> bool:
        return self._rows + self._added >= lexeme_stats.GROWTH * self._rows

    async def _after_growth(self) -> None:
        if self._rows + self._added <= _SMALL:
            await self.refresh()
        elif self._refresh is None or self._refresh.done():
            self._refresh = asyncio.create_task(self.refresh(), name="refresh word frequencies")

    async def _read_rows(self, connection: AsyncConnection[Any]) -> None:
        await connection.execute(_BE_QUICK)
        cursor = await connection.execute(_KNOWN_ROWS)
        row = await cursor.fetchone()
        self._rows = row["ndoc"] if row else 0
