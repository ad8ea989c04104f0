"""Erasures and revocations that a restored backup does not undo.

Each is written to the erasure log once it is committed, and the database records its position in
that log. A restored database is behind, and the rest of the log is applied to it: when the server
starts, or with the next request while it is running (`PostgresKeys.find_key`). The restored rows
are in the files of the database, too, so these are then cleaned. Only after that is the database up
to date: after an interruption everything is repeated.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Final, LiteralString
from uuid import UUID

from psycopg.rows import DictRow

from recollect.adapters.files.erasure_log import (
    Entry,
    Erasure,
    ErasureLog,
    ErasureLogs,
    Revocation,
)
from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.distribution import limit_to, split_by_owner
from recollect.adapters.postgres.history.erasure import ERASE, LEFT_IN_FILES, remove_traces
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.rows import utc
from recollect.adapters.postgres.settings import begin_epoch, read_identity
from recollect.core.errors import RecollectError, StoreUnavailable
from recollect.core.text.analysis import counted

log = logging.getLogger(__name__)

_LAST_APPLIED: Final = "select applied from erasure_logs where log = %(log)s"
# Locked: only one process at a time appends to the log or applies it.
_APPLIED: Final = f"{_LAST_APPLIED} for update"
_APPLY: Final = """
insert into erasure_logs (log, applied) values (%(log)s, %(applied)s)
on conflict (log) do update set applied = greatest(erasure_logs.applied, excluded.applied)
"""
_PRESENT: Final[LiteralString] = """
select m.owner, m.id from memories m
join unnest(%(owners)s::text[], %(ids)s::uuid[]) as e (owner, id)
    on m.owner = e.owner and m.id = e.id {m}
order by m.owner, m.id for update of m
"""
_DRAW: Final = "select recollect_draw(%(owner)s, 1) as position"
_TOMBSTONE: Final = """
insert into changes (owner, memory_id, position, erased_at)
values (%(owner)s, %(id)s, %(position)s, now())
on conflict (owner, memory_id) do nothing
"""
# The earliest time counts: a key in the grace period of a rotation may be revoked before its end.
_REVOKE: Final = """
update keys k set revoked_at = r.at
from (select id, min(at) as at
    from unnest(%(ids)s::uuid[], %(at)s::timestamptz[]) as revoked (id, at) group by id) r
where k.id = r.id and (k.revoked_at is null or k.revoked_at > r.at)
"""
_ERASED: Final = "select memory_id as id, owner from changes where erased_at is not null"
_REVOKED: Final = "select id, revoked_at from keys where revoked_at is not null"


@dataclass(frozen=True, slots=True)
class Place:
    """The last known position of a server's database in its log."""

    server: UUID
    applied: int

    def is_ahead_of(self, server: UUID | None, applied: int | None) -> bool:
        """Return whether a database with this position was restored since."""
        return server != self.server or (applied or 0) < self.applied


@dataclass(frozen=True, slots=True)
class Reapplied:
    """What was erased and revoked again in a restored database. `traces`: whether the text of the
    memories is still in the files; "" if none had been restored.
    """

    erased: int
    revoked: int
    traces: str

    def __str__(self) -> str:
        again = (
            f"{counted(number, noun)} {done} since the backup "
            f"{'was' if number == 1 else 'were'} {done} again"
            for number, noun, done in (
                (self.erased, "memory", "erased"),
                (self.revoked, "key", "revoked"),
            )
            if number
        )
        return "the database is a restored backup: " + "; ".join(
            filter(None, (*again, self.traces))
        )


class ErasureLedger:
    """Records and reapplies erasures. Without logs it does nothing."""

    def __init__(self, logs: ErasureLogs | None, pool: Pool, files: Path | None = None) -> None:
        """`files`: those of the cluster, if it is our own."""
        self._logs = logs
        self._pool = pool
        self._files = files
        self._lock = asyncio.Lock()
        self._replay: asyncio.Task[None] | None = None
        self.log_id: UUID | None = None
        self.place: Place | None = None
        self.reapplied: Reapplied | None = None

    async def open(self) -> None:
        """Bring the database and the log up to date with each other. `reapplied` then contains what
        the database lacked. A cluster that lost a node cannot be brought up to date: raises
        StoreUnavailable if it lacks something.
        """
        if self._logs is None:
            return
        try:
            self.reapplied = await self._catch_up(self._logs)
            await self._complete()
        except OSError as error:
            log.warning(
                "erasures are not logged, so a restore cannot reapply them: %s", error.strerror
            )
            self._logs = None
        except StoreUnavailable as error:
            if not self._pool.lost_nodes or not await self._take_if_complete(self._logs):
                raise
            log.warning("the erasure log is not checked, because %s", error)

    async def note(self, entries: Sequence[Entry]) -> None:
        """Log committed entries. If they cannot be written now, the next start logs them."""
        if self._logs is None or not entries:
            return
        try:
            _report(await self._catch_up(self._logs, entries))
        except (OSError, StoreUnavailable) as error:
            log.warning("an erasure is not in the erasure log yet: %s", error)

    async def replay(self) -> None:
        """Apply the log to the database up to its end. This continues when the caller is cancelled,
        since rewriting a large database takes longer than a request may wait.
        """
        if self._logs is None:
            return
        if self._replay is None or self._replay.done():
            self._replay = asyncio.create_task(self._replay_all(self._logs))
        await asyncio.shield(self._replay)

    async def _replay_all(self, logs: ErasureLogs) -> None:
        _report(await self._catch_up(logs))

    async def close(self) -> None:
        if self._replay is not None:
            self._replay.cancel()
            await asyncio.wait([self._replay])

    async def _catch_up(self, logs: ErasureLogs, new: Sequence[Entry] = ()) -> Reapplied | None:
        """Append new entries, and apply everything that the database lacks. A restored database may
        be another server's, so its log is looked up each time.
        """
        async with self._lock:
            missing: Sequence[Entry] = ()
            erased = revoked = 0
            async with self._pool.transaction(WORKER) as connection:
                server, file, known = await self._open_log(logs, connection, _APPLIED)
                applied = known or 0
                start, end = await asyncio.to_thread(file.append, new) if new else (None, 0)
                if start != applied:
                    entries, end = await asyncio.to_thread(file.read, applied)
                    missing = entries[: len(entries) - len(new)]
                    erased, revoked = await self._apply(connection, entries)
                    if known is not None and missing:
                        await begin_epoch(connection)
                # Nothing erased, of a known log: an earlier attempt was interrupted before
                # cleaning.
                has_traces = (erased > 0 or known is not None) and any(
                    isinstance(entry, Erasure) for entry in missing
                )
                reached = applied if has_traces else end
                await connection.execute(_APPLY, {"log": file.id, "applied": reached})
            traces = ""
            if has_traces:
                is_clean, traces = await self._clean()
                if is_clean:
                    async with self._pool.transaction(WORKER) as connection:
                        await connection.execute(_APPLY, {"log": file.id, "applied": end})
                    reached = end
            self.log_id, self.place = file.id, Place(server, reached)
        return Reapplied(erased, revoked, traces) if erased or revoked or has_traces else None

    async def _take_if_complete(self, logs: ErasureLogs) -> bool:
        """Take the log as it is, without a lock. Returns False if the database lacks entries."""
        async with self._pool.transaction(WORKER) as connection:
            server, file, known = await self._open_log(logs, connection, _LAST_APPLIED)
        applied = known or 0
        entries, _ = await asyncio.to_thread(file.read, applied)
        if not entries:
            self.log_id, self.place = file.id, Place(server, applied)
        return not entries

    async def _open_log(
        self, logs: ErasureLogs, connection: Connection, query: LiteralString
    ) -> tuple[UUID, ErasureLog, int | None]:
        """Return the server, its log, and up to where the database has it, if it knows the log."""
        server, _ = await read_identity(connection)
        file = await asyncio.to_thread(logs.open, server)
        cursor = await connection.execute(query, {"log": file.id})
        row = await cursor.fetchone()
        return server, file, row["applied"] if row else None

    async def _clean(self) -> tuple[bool, str]:
        """Clean the files. Returns whether all was done that can be, and a description."""
        try:
            await remove_traces(self._pool, self._files)
        except RecollectError as error:
            return False, (
                f"the text of these memories could not be removed from the database's files "
                f"({error}); the next start retries"
            )
        if self._files is None:
            return True, f"the text of these memories is not in the tables, but {LEFT_IN_FILES}"
        return True, "the text of these memories was removed from the database's files"

    async def _complete(self) -> None:
        """Log what a server committed before it was killed."""
        if self._logs is None:
            return
        async with self._pool.transaction(WORKER) as connection:
            server, _ = await read_identity(connection)
            noted = await asyncio.to_thread(_all_entries, self._logs, server)
            cursor = await connection.execute(_ERASED)
            known: list[Entry] = [
                Erasure(row["id"], row["owner"]) for row in await cursor.fetchall()
            ]
            cursor = await connection.execute(_REVOKED)
            known += [
                Revocation(row["id"], utc(row["revoked_at"])) for row in await cursor.fetchall()
            ]
        await self.note([entry for entry in known if entry not in noted])

    async def _apply(self, connection: Connection, entries: Sequence[Entry]) -> tuple[int, int]:
        """Apply entries. Returns how many memories and keys had been restored."""
        erasures = {entry for entry in entries if isinstance(entry, Erasure)}
        ordered = sorted(erasures, key=lambda erasure: (erasure.owner, erasure.id))
        present: list[DictRow] = []
        is_distributed = self._pool.is_distributed
        for whose, part in split_by_owner(
            ordered, attrgetter("owner"), is_distributed=is_distributed
        ):
            params = {
                "owner": whose,
                "owners": [erasure.owner for erasure in part],
                "ids": [erasure.id for erasure in part],
            }
            cursor = await connection.execute(limit_to(whose, _PRESENT), params)
            present += await cursor.fetchall()
        for owner, theirs in groupby(present, itemgetter("owner")):
            await self._pool.act_for(connection, owner)
            for row in theirs:
                await connection.execute(ERASE, row)
        for owner, missing in groupby(ordered, attrgetter("owner")):
            await self._pool.act_for(connection, owner)
            for erasure in missing:
                await leave_tombstone(connection, owner, erasure.id)
        await self._pool.act_for(connection, WORKER)
        revoked = [entry for entry in entries if isinstance(entry, Revocation)]
        values = {"ids": [entry.id for entry in revoked], "at": [entry.at for entry in revoked]}
        cursor = await connection.execute(_REVOKE, values)
        return len(present), cursor.rowcount


def _report(reapplied: Reapplied | None) -> None:
    if reapplied is not None:
        log.warning("%s", reapplied)


def _all_entries(logs: ErasureLogs, server: UUID) -> frozenset[Entry]:
    entries, _ = logs.open(server).read(0)
    return frozenset(entries)


async def leave_tombstone(connection: Connection, owner: str, id: UUID) -> None:
    """Store a tombstone for a memory that never arrived, or is not in the backup: if a client still
    sends it later, it is erased.
    """
    cursor = await connection.execute(_DRAW, {"owner": owner})
    drawn = await cursor.fetchone() or {}
    await connection.execute(_TOMBSTONE, {"owner": owner, "id": id, **drawn})
