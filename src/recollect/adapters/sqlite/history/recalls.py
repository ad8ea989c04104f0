"""Which memories were recalled, in the local store. It is not synced."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.adapters.sqlite.history.recall_writes import write_recalls
from recollect.adapters.sqlite.rows import microseconds, moment
from recollect.adapters.sqlite.thread import Threads

_RECALLED: Final = "SELECT id FROM recalls WHERE owner = ? AND id <> ''"


class SqliteRecalls:
    """Implements the `RecallRecord` port."""

    def __init__(self, threads: Threads) -> None:
        self._reader = threads.reader
        self._path = threads.path

    async def note_recalls(self, owner: str, ids: Collection[UUID], at: datetime) -> None:
        await asyncio.to_thread(write_recalls, self._path, owner, [*ids], microseconds(at))

    async def recalled(self, owner: str) -> tuple[set[UUID], datetime]:
        def work(reader: sqlite3.Connection) -> tuple[set[UUID], datetime]:
            shown = {UUID(id) for (id,) in reader.execute(_RECALLED, (owner,))}
            query = "SELECT recalled_at FROM recalls WHERE owner = '' AND id = ''"
            (since,) = reader.execute(query).fetchone()
            return shown, moment(since)

        return await self._reader.run_until_cancelled(work)
