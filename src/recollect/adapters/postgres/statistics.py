"""Keep the word frequencies of owners with many memories fresh.

Frequencies may be old, but not those of a much smaller store, so an owner's are refreshed whenever
the number of memories has grown by half: some fifteen times up to 300,000 memories. With few
memories that takes milliseconds and is part of the write; with many it takes seconds and runs in a
task. Owners with fewer memories than `Limits.live_words` have no frequencies: their words are
counted with each recall.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from recollect.adapters.postgres.access import ADMIN, WORKER
from recollect.adapters.postgres.lexical import statistics as lexeme_stats
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pool import Pool
from recollect.core.errors import StoreBusy, StoreError
from recollect.usecases.tasks import cancel_and_wait

_SET_LOCK_TIMEOUT: Final = f"set local lock_timeout = '{lexeme_stats.LOCK_TIMEOUT}'"
_SIZE: Final = f"""
select
    coalesce((select ndoc from lexeme_stats
        where owner = %(owner)s and lexeme = '{lexeme_stats.STORED_KEY}'), 0) as counted,
    (select count(*) from memories where owner = %(owner)s and deleted_at is null) as memories
"""  # noqa: S608  # composed of constants
_OWNERS: Final = f"""
select owner from memories where deleted_at is null group by owner having count(*) >= %(least)s
union select owner from lexeme_stats where lexeme = '{lexeme_stats.STORED_KEY}'
"""  # noqa: S608  # composed of constants
# Does not wait for an index that is being built, which may take an hour.
_ANALYZE: Final = "analyze (skip_locked) memories"
_MAX_OWNERS: Final = 100_000
"""Owners whose sizes are cached; beyond that they are read again."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Size:
    """How many memories an owner has, and had when the frequencies were computed."""

    counted: int
    memories: int


class Statistics:
    """Counts what this process adds for each owner, and refreshes the frequencies when due."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self._pool = pool
        self._limits = limits
        self._sizes: dict[str, _Size] = {}
        self._due: set[str] = set()
        self._refresh: asyncio.Task[None] | None = None

    async def close(self) -> None:
        if self._refresh is not None:
            await cancel_and_wait(self._refresh)

    async def count_added(self, owner: str, count: int) -> None:
        """Count memories after a write that Postgres has committed."""
        size = self._sizes.get(owner)
        if size is not None:
            size.memories += count
        if size is None or self._is_due(size):
            # Another process may have added memories, or refreshed the frequencies.
            size = await self._read_size(owner)
        if size is None or not self._is_due(size):
            return
        if size.memories <= self._limits.small_owner:
            await self.refresh(owner)
            return
        self._due.add(owner)
        if self._refresh is None or self._refresh.done():
            self._refresh = asyncio.create_task(self._refresh_due(), name="refresh frequencies")

    async def maintain(self) -> None:
        """Refresh the frequencies of all that is stored now; a refresh in progress may have begun
        earlier. Also refresh the planner's statistics: the lexical leg uses its estimate of a
        scope's size.
        """
        if self._refresh is not None:
            await asyncio.wait([self._refresh])
        owners: list[str] = []
        with _log_failure("read the owners whose word frequencies are due"):
            await self._analyze()
            async with self._pool.transaction(WORKER) as connection:
                await connection.execute(_SET_LOCK_TIMEOUT)
                cursor = await connection.execute(_OWNERS, {"least": self._limits.live_words})
                owners = [row["owner"] for row in await cursor.fetchall()]
        for owner in owners:
            await self.refresh(owner)

    async def refresh(self, owner: str) -> None:
        """Refresh now. Store errors are only logged: no memory is lost."""
        with _log_failure("refresh an owner's word frequencies"):
            async with self._pool.transaction(owner) as connection:
                is_refreshed = await lexeme_stats.refresh_statistics(connection, owner)
            if is_refreshed:
                await self._analyze()
        await self._read_size(owner)

    async def _analyze(self) -> None:
        """Run ANALYZE, which only the owner of a table may do."""
        async with self._pool.transaction(ADMIN) as connection:
            await connection.execute(_SET_LOCK_TIMEOUT)
            await connection.execute(_ANALYZE)

    async def _refresh_due(self) -> None:
        while self._due:
            await self.refresh(self._due.pop())

    def _is_due(self, size: _Size) -> bool:
        least = max(self._limits.live_words, lexeme_stats.GROWTH * size.counted)
        return size.memories >= least

    async def _read_size(self, owner: str) -> _Size | None:
        """Read the size of an owner; None if it cannot be read now."""
        with _log_failure("read how many memories an owner has"):
            async with self._pool.transaction(owner) as connection:
                await connection.execute(_SET_LOCK_TIMEOUT)
                cursor = await connection.execute(_SIZE, {"owner": owner})
                row = await cursor.fetchone() or {"counted": 0, "memories": 0}
            if len(self._sizes) >= _MAX_OWNERS:
                self._sizes.clear()
            self._sizes[owner] = _Size(row["counted"], row["memories"])
            return self._sizes[owner]
        return None


@contextmanager
def _log_failure(action: str) -> Iterator[None]:
    """Log a store error instead of raising it: the next write tries again. One that only says that
    a lock was taken is no news.
    """
    try:
        yield
    except StoreBusy:
        pass
    except StoreError as error:
        log.warning("could not %s: %s", action, error)
