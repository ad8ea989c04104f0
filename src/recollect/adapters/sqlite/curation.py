"""Which memories to examine for proposals, in the local store."""

from __future__ import annotations

import sqlite3
from typing import Final

from recollect.adapters.sql.curation import SqlCuration
from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.rows import REPLACE, from_row, to_row
from recollect.adapters.sqlite.thread import transaction
from recollect.ports.curation import ChangedMemories

_CHANGED: Final = """
FROM memories m WHERE NOT m.is_sensitive AND m.deleted_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM examined e WHERE e.owner = m.owner AND e.id = m.id AND e.version = m.version)
"""
_FIRST_OWNER: Final = f"SELECT m.owner {_CHANGED} LIMIT 1"
_TO_EXAMINE: Final = f"""
SELECT m.* {_CHANGED} AND m.owner = ? ORDER BY m.created_at, m.id LIMIT ?
"""
_UNEXAMINED: Final = f"SELECT count(*) {_CHANGED}"
_MARK: Final = """
INSERT INTO examined (owner, id, version) SELECT owner, id, :version FROM memories
WHERE owner = :owner AND id = :id
ON CONFLICT (owner, id) DO UPDATE SET version = excluded.version
"""
# A call is counted before it is made, so that a call that crashes counts, too.
_SPEND: Final = """
INSERT INTO curation_budget (day, calls) SELECT date('now'), 1 WHERE :most > 0
ON CONFLICT (day) DO UPDATE SET calls = calls + 1 WHERE calls < :most
"""


class SqliteCuration(SqlCuration, SqliteComponent):
    """Implements the `CurationStore` port."""

    _replace = REPLACE
    _to_row = staticmethod(to_row)

    async def find_changed(self, limit: int) -> ChangedMemories | None:
        def work(reader: sqlite3.Connection) -> ChangedMemories | None:
            first = reader.execute(_FIRST_OWNER).fetchone()
            if first is None:
                return None
            rows = reader.execute(_TO_EXAMINE, (first["owner"], limit))
            return ChangedMemories(first["owner"], tuple(map(from_row, rows)))

        return await self._background.run_until_cancelled(work)

    async def mark_examined(self, changed: ChangedMemories) -> None:
        rows = [
            {"owner": changed.owner, "id": str(memory.id), "version": memory.version}
            for memory in changed.memories
        ]

        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                writer.executemany(_MARK, rows)

        await self._writer.run(work)

    async def count_unexamined(self) -> int:
        return await self._background.run_until_cancelled(
            lambda reader: int(reader.execute(_UNEXAMINED).fetchone()[0])
        )

    async def spend(self, most: int) -> bool:
        values = {"most": most}
        return await self._writer.run(lambda writer: writer.execute(_SPEND, values).rowcount > 0)
