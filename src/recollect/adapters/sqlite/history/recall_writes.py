"""Record which memories were recalled, after the answer was given. Without asyncio, because a hook
imports this before each prompt.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Final
from uuid import UUID

_BUSY_SECONDS: Final = 0.05
_WRITE: Final = """
INSERT INTO recalls (owner, id, recalled_at, times)
SELECT owner, id, ?3, 1 FROM memories WHERE owner = ?1 AND id = ?2
ON CONFLICT (owner, id) DO UPDATE SET recalled_at = excluded.recalled_at, times = times + 1
"""


def write_recalls(path: Path, owner: str, ids: Iterable[UUID], microseconds: int) -> None:
    """Write recalls without syncing the disk. They are dropped if another process is writing for
    long or the file cannot be written.
    """
    rows = [(owner, str(id), microseconds) for id in ids]
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as own, own:
            own.execute("PRAGMA synchronous = OFF")
            own.executemany(_WRITE, rows)
    except sqlite3.Error:
        pass  # busy, read-only, full or missing: not worth reporting
