"""The server's side of sync: changes by position, and writes that name the version they are based
on.

Triggers assign the positions (docs/adr/0018). A push is one transaction that locks its rows by id
before it writes any, as every writer locks rows before positions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from recollect.adapters.files.erasure_log import Erasure
from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.history.erasure import ERASE
from recollect.adapters.postgres.history.erasure_ledger import ErasureLedger, leave_tombstone
from recollect.adapters.postgres.pool import Pool
from recollect.adapters.postgres.rows import (
    INSERT_NEW,
    MEMORY_COLUMNS,
    UPDATE_MEMORY,
    from_memory,
    to_json,
    to_memory,
    utc,
)
from recollect.adapters.postgres.settings import read_identity
from recollect.adapters.postgres.statistics import Statistics
from recollect.core.errors import NotFound, StoreBusy
from recollect.core.sync.model import (
    Answer,
    ChangePage,
    Decision,
    Erase,
    Outgoing,
    Peer,
    Refusal,
    Remote,
    RemoteRevision,
    Revision,
    State,
)
from recollect.ports.sync import Decide
from recollect.usecases.tasks import analyze_text

Connection = AsyncConnection[DictRow]
# The most bytes of text in a page, besides its first memory: bounds the work on both sides.
_PAGE_BYTES: Final = 2_000_000

_LOCK = "select id from memories where owner = %s and id = any(%s) order by id for update"

_ROWS = f"""
select {MEMORY_COLUMNS}, c.memory_id, c.position, c.erased_at, c.extra, c.edits
from changes c left join memories m on m.owner = c.owner and m.id = c.memory_id
where c.owner = %(owner)s and c.memory_id = any(%(ids)s)
"""  # noqa: S608  # composed of constants

_NOTE_EDITS = """
update changes c set extra = note.extra, edits = c.edits || note.edit
from json_to_recordset(%(notes)s::json) as note (id uuid, extra jsonb, edit jsonb)
where c.owner = %(owner)s and c.memory_id = note.id
"""

# As many of the rows after the cursor as fit: at least one, then limited by count and bytes.
_PAGE = f"""
with waiting as (
    select c.memory_id, c.position, c.erased_at, c.extra, c.edits
    from changes c where c.owner = %(owner)s and c.position > %(after)s
        and (c.erased_at is null or %(project)s::text is null or c.project_mark = (
            select recollect_fingerprint(o.salt, %(project)s, '') from owners o
            where o.owner = %(owner)s))
    order by c.position limit %(limit)s
)
select {MEMORY_COLUMNS}, c.*,
    sum(coalesce(octet_length(m.content), 0)) over (order by c.position) as bytes
from waiting c left join memories m on m.owner = %(owner)s and m.id = c.memory_id
order by c.position
"""  # noqa: S608  # composed of constants

# A revision is sent again whenever its memory is, so that it never arrives before it. One memory
# may have several, which then share a position: a page must not end between them.
_REVISION_PAGE = """
select r.id, r.memory_id, r.kind, r.fields, r.made_at, r.resolved_at,
    greatest(r.position, c.position) as position
from revisions r
join changes c on c.owner = r.owner and c.memory_id = r.memory_id
join memories m on m.owner = r.owner and m.id = r.memory_id
where r.owner = %(owner)s and (r.position > %(after)s or c.position > %(after)s)
    and (%(sensitive)s or not m.is_sensitive)
order by 7 fetch first %(limit)s rows with ties
"""

_LAST_POSITION = "select position from owners where owner = %s"

_REMAINING = """
select (select count(*) from changes where owner = %(owner)s and position > %(after)s)
    + (select count(*) from revisions where owner = %(owner)s and position > %(after)s) as rows
"""

# An erasure takes its position before it removes revisions. A writer of revisions locks their
# memories first, so that the two wait for each other there and cannot deadlock.
_HOLD = """
select m.id from memories m where m.owner = %s and m.id = any(%s) order by m.id for key share
"""

_LOCK_REVISIONS = """
select id from revisions where owner = %s and id = any(%s) order by id for update
"""

# A revision of a missing memory is not stored.
_KEEP_REVISION = """
insert into revisions (id, owner, memory_id, kind, fields, made_at, resolved_at, position)
select %(id)s, %(owner)s, %(memory_id)s, %(kind)s, %(fields)s, %(made_at)s, %(resolved_at)s, 0
from memories m where m.owner = %(owner)s and m.id = %(memory_id)s
on conflict (owner, id) do update set resolved_at = excluded.resolved_at
where revisions.resolved_at is null and excluded.resolved_at is not null
"""


# If the same push arrives twice at once, as after a lost connection, the retry finds the rows.
_ATTEMPTS: Final = 3


class _ConcurrentlyStored(StoreBusy):
    """Another writer stored a memory after we checked that it did not exist."""


class PostgresChanges:
    """Implements the `ChangeStore` port on the store's own pool."""

    def __init__(self, pool: Pool, statistics: Statistics, remembered: ErasureLedger) -> None:
        self._pool = pool
        self._statistics = statistics
        self._remembered = remembered

    async def peer(self, owner: str) -> Peer:
        async with self._pool.transaction(WORKER) as connection:
            server, epoch = await read_identity(connection)
        return Peer(server, owner, epoch)

    async def apply(
        self, owner: str, store: UUID, items: Sequence[Outgoing], decide: Decide
    ) -> list[Answer]:
        for _ in range(_ATTEMPTS - 1):
            with suppress(_ConcurrentlyStored):
                return await self._apply(owner, store, items, decide)
        return await self._apply(owner, store, items, decide)

    async def _apply(
        self, owner: str, store: UUID, items: Sequence[Outgoing], decide: Decide
    ) -> list[Answer]:
        ids = sorted({item.id for item in items})
        written: dict[UUID, Decision] = {}
        async with self._pool.transaction(owner) as connection:
            await connection.execute(_LOCK, (owner, ids))
            rows = await _rows(connection, owner, store, ids)
            for item in items:
                if item.id in written:
                    continue  # a second write of the same memory is answered, not applied
                chars = len(str(item.fields))
                meets = await analyze_text(chars, decide, item, rows.get(item.id))
                if meets is not None:
                    written[item.id] = meets
            added = await _write(connection, owner, store, items, written, rows)
            for id, decision in written.items():
                if isinstance(decision, Erase):
                    await _erase(connection, owner, id)
            current = await _rows(connection, owner, store, ids)
        if added:
            await self._statistics.count_added(owner, added)
        gone = [id for id, decision in written.items() if isinstance(decision, Erase)]
        await self._remembered.note([Erasure(id, owner) for id in gone])
        refused = {
            id: decision for id, decision in written.items() if isinstance(decision, Refusal)
        }
        return [Answer(item.id, current.get(item.id), refused.get(item.id)) for item in items]

    async def keep_revisions(
        self, owner: str, revisions: Sequence[Revision]
    ) -> list[RemoteRevision]:
        if not revisions:
            return []
        ids = sorted(revision.id for revision in revisions)
        async with self._pool.transaction(owner) as connection, connection.cursor() as cursor:
            await cursor.execute(_HOLD, (owner, [revision.memory_id for revision in revisions]))
            await cursor.execute(_LOCK_REVISIONS, (owner, ids))
            await cursor.executemany(_KEEP_REVISION, [_revision_row(owner, r) for r in revisions])
            found = "select * from revisions where owner = %s and id = any(%s)"
            await cursor.execute(found, (owner, ids))
            return [_remote_revision(row) for row in await cursor.fetchall()]

    async def page(
        self,
        owner: str,
        store: UUID,
        after: int,
        limit: int,
        *,
        sensitive: bool,
        count: bool,
        project: str | None = None,
    ) -> ChangePage:
        peer = await self.peer(owner)
        params = {
            "owner": owner,
            "after": after,
            "limit": limit,
            "sensitive": sensitive,
            "project": project,
        }
        # One snapshot for everything: a revision must not arrive before its memory.
        async with self._pool.transaction(owner, is_snapshot=True) as connection:
            cursor = await connection.execute(_LAST_POSITION, (owner,))
            last = await cursor.fetchone() or {"position": 0}
            if after > last["position"]:
                return ChangePage(peer, is_reset=True)
            cursor = await connection.execute(_PAGE, params)
            found = await cursor.fetchall()
            cursor = await connection.execute(_REVISION_PAGE, params)
            revised = [_remote_revision(row) for row in await cursor.fetchall()]
            remaining = None
            if count:
                cursor = await connection.execute(_REMAINING, params)
                remaining = (await cursor.fetchone() or {"rows": 0})["rows"]
        memories = [
            _remote(row, store)
            for place, row in enumerate(found)
            if place == 0 or row["bytes"] <= _PAGE_BYTES
        ]
        is_cut = len(memories) < len(found) or len(found) == limit
        # If one of the two lists is cut, the other must not go beyond its last position.
        ends = [memories[-1].change] if is_cut else []
        ends += [revised[-1].change] if len(revised) >= limit else []
        end = min(ends, default=None)
        if end is not None:
            memories = [memory for memory in memories if memory.change <= end]
            revised = [revision for revision in revised if revision.change <= end]
        read = [memory.change for memory in memories]
        read += [revision.change for revision in revised]
        return ChangePage(
            peer,
            tuple(memories),
            tuple(revised),
            cursor=max(read, default=after),
            has_more=end is not None,
            remaining=remaining,
        )

    async def revisions(self, owner: str) -> list[Revision]:
        query = "select * from revisions where owner = %s and resolved_at is null order by id"
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(query, (owner,))
            return [_to_revision(row) for row in await cursor.fetchall()]

    async def resolve(self, owner: str, revision: Revision) -> None:
        query = """
            update revisions set resolved_at = %s
            where owner = %s and id = %s and resolved_at is null
        """
        async with self._pool.transaction(owner) as connection:
            await connection.execute(_HOLD, (owner, [revision.memory_id]))
            cursor = await connection.execute(query, (revision.resolved_at, owner, revision.id))
            if cursor.rowcount == 0:
                raise NotFound("there is no such conflict", remedy="See `recollect conflicts`.")


async def _write(
    connection: Connection,
    owner: str,
    store: UUID,
    items: Sequence[Outgoing],
    written: Mapping[UUID, Decision],
    rows: Mapping[UUID, Remote],
) -> int:
    """Write all items with a fixed number of statements. Returns how many are new."""
    states = {id: state for id, state in written.items() if isinstance(state, State)}
    new = [state.memory for id, state in states.items() if id not in rows]
    changed = [state.memory for id, state in states.items() if id in rows]
    notes = [
        {
            "id": str(item.id),
            "extra": dict(states[item.id].extra),
            "edit": {str(store): [str(item.edit), states[item.id].memory.version]},
        }
        for item in {item.id: item for item in reversed(items)}.values()
        if item.id in states
    ]
    async with connection.cursor() as cursor:
        if new:
            rows_as_json = await asyncio.to_thread(to_json, new)
            await cursor.execute(INSERT_NEW, {"owner": owner, "memories": rows_as_json})
            _check_all_written(cursor.rowcount, new)
        if changed:
            values = await asyncio.to_thread(lambda: [*map(from_memory, changed)])
            await cursor.executemany(UPDATE_MEMORY, values)
            _check_all_written(cursor.rowcount, changed)
        if notes:
            await cursor.execute(_NOTE_EDITS, {"owner": owner, "notes": json.dumps(notes)})
            _check_all_written(cursor.rowcount, notes)
    return len(new)


def _check_all_written(rows: int, sent: Sequence[object]) -> None:
    if rows != len(sent):
        raise _ConcurrentlyStored(
            "a memory was stored at the same moment", remedy="Try again in a moment."
        )


async def _erase(connection: Connection, owner: str, id: UUID) -> None:
    cursor = await connection.execute(ERASE, {"owner": owner, "id": id})
    if await cursor.fetchone() is None:
        await leave_tombstone(connection, owner, id)


async def _rows(
    connection: Connection, owner: str, store: UUID, ids: list[UUID]
) -> dict[UUID, Remote]:
    cursor = await connection.execute(_ROWS, {"owner": owner, "ids": ids})
    return {row["memory_id"]: _remote(row, store) for row in await cursor.fetchall()}


def _remote(row: DictRow, store: UUID) -> Remote:
    remote = Remote(row["memory_id"], row["position"], is_erased=row["erased_at"] is not None)
    if row["id"] is None:
        return remote
    memory = to_memory(row)
    edit, edit_version = row["edits"].get(str(store), (None, 0))
    return replace(
        remote,
        version=memory.version,
        deleted_at=memory.deleted_at,
        state=State(memory, row["extra"]),
        edit=None if edit is None else UUID(edit),
        edit_version=edit_version,
    )


def _remote_revision(row: DictRow) -> RemoteRevision:
    return RemoteRevision(row["position"], _to_revision(row))


def _to_revision(row: DictRow) -> Revision:
    resolved = row["resolved_at"]
    return Revision(
        row["id"],
        row["memory_id"],
        row["kind"],
        row["fields"],
        utc(row["made_at"]),
        None if resolved is None else utc(resolved),
    )


def _revision_row(owner: str, revision: Revision) -> dict[str, Any]:
    return {
        "id": revision.id,
        "owner": owner,
        "memory_id": revision.memory_id,
        "kind": revision.kind,
        "fields": Jsonb(dict(revision.fields)),
        "made_at": revision.made_at,
        "resolved_at": revision.resolved_at,
    }
