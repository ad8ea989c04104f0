"""Which memories were recalled, in the local store. No trigger of sync looks at it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Iterable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

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


# Writing which memories were recalled: after the answers, and without making them wait. A light
# module: a hook imports it before each prompt.

_BUSY_SECONDS: Final = 0.05
_WRITE: Final = """
INSERT INTO recalls (owner, id, recalled_at, times)
SELECT owner, id, ?3, 1 FROM memories WHERE owner = ?1 AND id = ?2
ON CONFLICT (owner, id) DO UPDATE SET recalled_at = excluded.recalled_at, times = times + 1
"""


def write_recalls(path: Path, owner: str, ids: Iterable[UUID], microseconds: int) -> None:
    """Without a sync of the disk, and not at all when another process is writing for long or the
    file cannot be written.
    """
    rows = [(owner, str(id), microseconds) for id in ids]
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as own, own:
            own.execute("PRAGMA synchronous = OFF")
            own.executemany(_WRITE, rows)
    except sqlite3.Error:
        pass  # busy, read-only, full or missing: not worth reporting
