"""Erasures and revocations that a restored backup does not undo.

Each is written to the erasure log once it is committed, and the database records how far into that
log it is. A restored database is behind, and the rest of the log is applied to it: when the server
starts, or with the next request while it is running (`PostgresKeys.find_key`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, Final
from uuid import UUID

from recollect.adapters.files.erasure_log import Entry, Erasure, ErasureLogs, Revocation
from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.history.erasure import ERASE
from recollect.adapters.postgres.identity import NEW_EPOCH, read_identity
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.rows import utc

log = logging.getLogger(__name__)

# Locked: of all processes that write to the log, one at a time appends and applies.
_APPLIED: Final = "select applied from erasure_logs where log = %s for update"
_APPLY: Final = """
insert into erasure_logs (log, applied) values (%(log)s, %(applied)s)
on conflict (log) do update set applied = greatest(erasure_logs.applied, excluded.applied)
"""
_PRESENT: Final = """
select m.owner, m.id from memories m
join unnest(%(owners)s::text[], %(ids)s::uuid[]) as e (owner, id)
    on m.owner = e.owner and m.id = e.id
order by m.owner, m.id for update of m
"""
# For a write that never arrived, or is not in the backup: should it arrive late, from a client that
# still has it, it finds itself erased.
TOMBSTONE: Final = """
insert into changes (owner, memory_id, position, erased_at)
values (%(owner)s, %(id)s, recollect_draw(%(owner)s, 1), now())
on conflict (owner, memory_id) do nothing
"""
# The earliest moment counts: a key in the grace period of a rotation may be revoked before its end.
_REVOKE: Final = """
update keys k set revoked_at = r.at
from (select id, min(at) as at
    from unnest(%(ids)s::uuid[], %(at)s::timestamptz[]) as revoked (id, at) group by id) r
where k.id = r.id and (k.revoked_at is null or k.revoked_at > r.at)
"""
_KNOWN: Final = """
select memory_id as id, owner, null as at from changes where erased_at is not null
union all select id, null, revoked_at from keys where revoked_at is not null
"""


@dataclass(frozen=True, slots=True)
class Place:
    """How far a server's database is known to have come in its log."""

    server: UUID
    applied: int

    def is_ahead_of(self, server: UUID | None, applied: int | None) -> bool:
        """Whether a database that says this of itself was restored since."""
        return server != self.server or (applied or 0) < self.applied


class ErasureLedger:
    """Without logs nothing is recorded."""

    def __init__(self, logs: ErasureLogs | None, pool: Pool) -> None:
        self._logs = logs
        self._pool = pool
        self._lock = asyncio.Lock()
        self.log_id: UUID | None = None
        self.place: Place | None = None

    async def open(self) -> None:
        """Apply to the database what it lacks, and append to the log what it lacks."""
        try:
            await self.replay()
        except OSError as error:
            log.warning("erasures are not kept for a restore: %s", error.strerror)
            self._logs = None
            return
        await self._complete()

    async def note(self, entries: Sequence[Entry]) -> None:
        """Log what was committed. What cannot be written now is found at the next start."""
        if self._logs is None or not entries:
            return
        try:
            await self._catch_up(self._logs, entries)
        except OSError as error:
            log.warning("an erasure is not in the erasure log yet: %s", error.strerror)

    async def replay(self) -> None:
        """Bring the database to the end of its log."""
        if self._logs is not None:
            await self._catch_up(self._logs)

    async def _catch_up(self, logs: ErasureLogs, new: Sequence[Entry] = ()) -> None:
        """Append new entries, and apply all that the database lacks. A restored database may be
        another server's, so its log is looked up each time.
        """
        erased = revoked = 0
        async with self._lock:
            async with self._pool.transaction(WORKER) as connection:
                server, _ = await read_identity(connection)
                file = await asyncio.to_thread(logs.open, server)
                cursor = await connection.execute(_APPLIED, (file.id,))
                row = await cursor.fetchone()
                applied = row["applied"] if row else 0
                start, end = await asyncio.to_thread(file.append, new) if new else (None, 0)
                if start != applied:
                    entries, end = await asyncio.to_thread(file.read, applied)
                    erased, revoked = await self._apply(connection, entries)
                    if row is not None and len(entries) > len(new):
                        await connection.execute(NEW_EPOCH)
                await connection.execute(_APPLY, {"log": file.id, "applied": end})
            self.log_id, self.place = file.id, Place(server, end)
        if erased or revoked:
            log.warning(
                "the database is a restored backup: %d memories erased since were erased again, "
                "%d keys revoked again",
                erased,
                revoked,
            )

    async def _complete(self) -> None:
        """Log what a server committed and was killed before logging."""
        if self._logs is None:
            return
        async with self._pool.transaction(WORKER) as connection:
            server, _ = await read_identity(connection)
            noted = await asyncio.to_thread(_all_entries, self._logs, server)
            cursor = await connection.execute(_KNOWN)
            known = [_to_entry(row) for row in await cursor.fetchall()]
        await self.note([entry for entry in known if entry not in noted])

    async def _apply(self, connection: Connection, entries: Sequence[Entry]) -> tuple[int, int]:
        """How many memories and keys had come back."""
        erasures = {entry for entry in entries if isinstance(entry, Erasure)}
        ordered = sorted(erasures, key=lambda erasure: (erasure.owner, erasure.id))
        params = {
            "owners": [erasure.owner for erasure in ordered],
            "ids": [erasure.id for erasure in ordered],
        }
        cursor = await connection.execute(_PRESENT, params)
        present = await cursor.fetchall()
        for owner, theirs in groupby(present, itemgetter("owner")):
            await self._pool.act_for(connection, owner)
            for row in theirs:
                await connection.execute(ERASE, row)
        for owner, missing in groupby(ordered, attrgetter("owner")):
            await self._pool.act_for(connection, owner)
            for erasure in missing:
                await connection.execute(TOMBSTONE, {"id": erasure.id, "owner": owner})
        await self._pool.act_for(connection, WORKER)
        revoked = [entry for entry in entries if isinstance(entry, Revocation)]
        values = {"ids": [entry.id for entry in revoked], "at": [entry.at for entry in revoked]}
        cursor = await connection.execute(_REVOKE, values)
        return len(present), cursor.rowcount


def _all_entries(logs: ErasureLogs, server: UUID) -> frozenset[Entry]:
    entries, _ = logs.open(server).read(0)
    return frozenset(entries)


def _to_entry(row: Mapping[str, Any]) -> Entry:
    if row["owner"] is None:
        return Revocation(row["id"], utc(row["at"]))
    return Erasure(row["id"], row["owner"])
