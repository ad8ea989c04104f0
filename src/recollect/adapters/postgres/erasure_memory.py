"""Erasures and revocations that a restored backup does not undo.

Each is noted in the erasure log once it is committed, and the database keeps how far into that log
it is. A database that was restored is behind, and is told the rest: when the server starts, and
with the next request when it was running (`PostgresStore.find_key`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from recollect.adapters.erasure_log import Entry, Erasure, ErasureLog, Revocation
from recollect.adapters.postgres.erasure import ERASE
from recollect.adapters.postgres.identity import NEW_EPOCH, identity
from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.statistics import Transaction

log = logging.getLogger(__name__)

_APPLIED: Final = "select applied from erasure_logs where log = %s"
_APPLY: Final = """
insert into erasure_logs (log, applied) values (%(log)s, %(applied)s)
on conflict (log) do update set applied = greatest(erasure_logs.applied, excluded.applied)
"""
_PRESENT: Final = """
select id, owner from memories where id = any(%s) order by id for update
"""
# For a write that never arrived, or is not in the backup: should it arrive late, from a client that
# still has it, it finds itself erased.
TOMBSTONE: Final = """
insert into changes (memory_id, owner, position, erased_at)
select %(id)s, %(owner)s, nextval('change_positions'), now() from recollect_order(%(owner)s)
on conflict (memory_id) do nothing
"""
_REVOKE: Final = """
update keys set revoked_at = now() where id = any(%s) and revoked_at is null
"""
_KNOWN: Final = """
select memory_id as id, owner from changes where erased_at is not null
union all select id, null from keys where revoked_at is not null
"""


class ErasureMemory:
    """Without a log nothing is remembered."""

    def __init__(self, log: ErasureLog | None, transaction: Transaction) -> None:
        self._log = log
        self._transaction = transaction
        self._replaying = asyncio.Lock()
        self.id: UUID | None = None
        self.applied = 0

    async def open(self) -> None:
        """Tell the database what it does not know, and the log what it does not."""
        if self._log is None:
            return
        try:
            async with self._transaction() as connection:
                server, _ = await identity(connection)
            self.id = await asyncio.to_thread(self._log.open, server)
        except OSError as error:
            log.warning("erasures are not kept for a restore: %s", error.strerror)
            self._log = None
            return
        await self.replay()
        await self._complete(self._log)

    async def note(self, entries: Sequence[Entry]) -> None:
        """Remember what was committed; what cannot be written now is found at the next start."""
        if self._log is None or not entries:
            return
        try:
            end = await asyncio.to_thread(self._log.append, entries)
        except OSError as error:
            log.warning("an erasure is not in the erasure log yet: %s", error.strerror)
            return
        async with self._transaction() as connection:
            await connection.execute(_APPLY, {"log": self.id, "applied": end})
        self.applied = max(self.applied, end)

    async def replay(self) -> None:
        """Bring the database to the end of the log."""
        if self._log is None:
            return
        async with self._replaying, self._transaction() as connection:
            cursor = await connection.execute(_APPLIED, (self.id,))
            row = await cursor.fetchone()
            entries, end = await asyncio.to_thread(self._log.read, row["applied"] if row else 0)
            erased, revoked = await _repeat(connection, entries)
            await connection.execute(_APPLY, {"log": self.id, "applied": end})
            if row is not None and entries:
                await connection.execute(NEW_EPOCH)
            self.applied = end
        if erased or revoked:
            log.warning(
                "the database is a restored backup: %d memories erased since were erased again, "
                "%d keys revoked again",
                erased,
                revoked,
            )

    async def _complete(self, log: ErasureLog) -> None:
        """A server that was killed after it committed has not noted it."""
        entries, _ = await asyncio.to_thread(log.read, 0)
        noted = {entry.id for entry in entries}
        async with self._transaction() as connection:
            cursor = await connection.execute(_KNOWN)
            known = [row for row in await cursor.fetchall() if row["id"] not in noted]
        await self.note(
            [
                Revocation(row["id"]) if row["owner"] is None else Erasure(row["id"], row["owner"])
                for row in known
            ]
        )


async def _repeat(connection: Connection, entries: Sequence[Entry]) -> tuple[int, int]:
    """How many memories and keys had come back."""
    erasures = {one.id: one for one in entries if isinstance(one, Erasure)}
    cursor = await connection.execute(_PRESENT, ([*erasures],))
    present = await cursor.fetchall()
    for row in present:
        await connection.execute(ERASE, row)
    for id, one in sorted(erasures.items(), key=lambda pair: pair[1].owner):
        await connection.execute(TOMBSTONE, {"id": id, "owner": one.owner})
    revoked = [one.id for one in entries if isinstance(one, Revocation)]
    cursor = await connection.execute(_REVOKE, (revoked,))
    return len(present), cursor.rowcount
