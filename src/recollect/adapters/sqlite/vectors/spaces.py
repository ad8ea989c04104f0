"""Embedding spaces in the local store. There is only one writer at a time, so a transaction needs
no row locks.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from recollect.adapters.sql.session import T, Work
from recollect.adapters.sql.spaces import ACTIVE_SPACE, SqlSpaces, lock_space, to_space
from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.read_only import read_only_address
from recollect.adapters.sqlite.session import SqliteSession
from recollect.adapters.sqlite.thread import transaction
from recollect.core.recall.space import Gap, StoredSpace
from recollect.usecases.coroutines import run_directly

ROW_BYTES: Final = 110
"""Size of a stored vector besides its 16-bit numbers: its row, its share of the page, and its index
entries."""

DROP_BATCH: Final = 5_000
"""Vectors per transaction when a space is dropped: few, because it blocks other writers."""

_WAKE: Final = """
UPDATE spaces SET state = 'filling', swept_to = 0 WHERE id = :id AND state = 'retired'
"""
_DROP_SOME: Final = """
DELETE FROM embeddings WHERE id IN (SELECT id FROM embeddings WHERE space_id = ? LIMIT ?)
"""
_BYTES: Final = """
SELECT coalesce(sum(
    (2 * s.dimension + ?) * (SELECT count(*) FROM embeddings e WHERE e.space_id = s.id)), 0)
FROM spaces s
"""
_GAP: Final = """
SELECT count(*), coalesce(sum(e.last_error IS NOT NULL), 0)
FROM spaces s
JOIN embeddings known
    ON known.space_id = s.id AND known.passage = 0 AND known.vector IS NOT NULL
LEFT JOIN embeddings e
    ON e.owner = known.owner AND e.memory = known.memory AND e.space_id = :space
        AND e.passage = 0
WHERE s.state = 'active' AND e.vector IS NULL
"""


class SpaceStore(SqlSpaces, SqliteComponent):
    """Implements the `Spaces` port."""

    _wake = _WAKE

    async def _change_spaces(self, work: Work[T]) -> T:
        return await self._write(None, work)

    async def build_indexes(self, space: StoredSpace) -> None:
        """Do nothing: there are no indexes, every vector of a scope is compared."""

    async def pending_indexes(self, space: StoredSpace) -> int:  # noqa: ARG002  # always none
        return 0

    async def bytes(self) -> int:
        """Estimate the size of the vectors of all spaces in the file."""
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_BYTES, (ROW_BYTES,)).fetchone()
        )
        return int(row[0])

    async def gap(self, space: StoredSpace) -> Gap:
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_GAP, {"space": space.id}).fetchone()
        )
        return Gap(*row)

    async def drop_space(self, space: StoredSpace) -> None:
        await self.give_up(space)
        while await self._writer.run(lambda writer: _drop_some(writer, space)):
            pass


def read_active(connection: sqlite3.Connection) -> StoredSpace | None:
    """Return the space that recall uses."""
    rows = run_directly(SqliteSession(connection).fetch(ACTIVE_SPACE, {}))
    return to_space(rows[0]) if rows else None


def read_active_embedder(path: Path) -> str | None:
    """Return the model name of the space that recall uses, without opening the store. None if there
    is no such space, or the file cannot be read: opening the store then reports why.
    """
    try:
        with closing(sqlite3.connect(read_only_address(os.fspath(path)), uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            active = read_active(connection)
    except sqlite3.Error:
        return None
    return None if active is None else active.embedder


def _drop_some(writer: sqlite3.Connection, space: StoredSpace) -> bool:
    """Remove a batch of vectors of an abandoned space. Returns False if nothing is left of it, or
    if it was opened again meanwhile.
    """
    with transaction(writer):
        current = run_directly(lock_space(SqliteSession(writer), space))
        if current is None or not current.is_given_up:
            return False
        if writer.execute(_DROP_SOME, (space.id, DROP_BATCH)).rowcount:
            return True
        writer.execute("DELETE FROM spaces WHERE id = ?", (space.id,))
        return False
