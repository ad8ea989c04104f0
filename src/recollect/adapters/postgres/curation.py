"""Proposals and the journal of acceptances, in Postgres.

Which memories to examine follows from the positions of `changes`, which sync keeps: an owner has
work when its last position is past the examined one. Storing a memory costs nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.memories import REPLACE
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.retry import retry_on_disconnect
from recollect.adapters.postgres.rows import MEMORY_COLUMNS, from_memory, to_memory, utc
from recollect.core.admin.stats import CurationCounts
from recollect.core.curation.proposals import (
    CURATOR,
    UNDECIDED,
    Addition,
    JournalEntry,
    Proposal,
    State,
    Verdict,
)
from recollect.core.memory.memory import Memory
from recollect.ports.curation import ChangedMemories

_BEHIND: Final = """
select o.owner, o.position, coalesce(c.position, 0) as examined
from owners o left join curation_progress c on c.owner = o.owner
where o.position > coalesce(c.position, 0) order by o.owner limit 1
"""
_UNEXAMINED: Final = """
select coalesce(sum(o.position - coalesce(c.position, 0)), 0)::bigint as waiting
from owners o left join curation_progress c on c.owner = o.owner
where o.position > coalesce(c.position, 0)
"""
_NEXT: Final = """
select memory_id, position from changes
where owner = %(owner)s and position > %(examined)s and position <= %(last)s
order by position limit %(limit)s
"""
_TO_EXAMINE: Final[LiteralString] = f"""
select {MEMORY_COLUMNS} from memories m
where m.owner = %(owner)s and m.id = any(%(ids)s) and not m.is_sensitive and m.deleted_at is null
"""  # noqa: S608  # composed of constants
_EXAMINED: Final = """
insert into curation_progress as c (owner, position) values (%(owner)s, %(position)s)
on conflict (owner) do update set position = greatest(c.position, excluded.position)
"""

# An undecided proposal about memories that changed since is void; so is one about forgotten ones.
_STATE: Final[LiteralString] = """
case when p.state in ('open', 'later') and (n.version <> p.newer_version
        or o.version <> p.older_version or n.deleted_at is not null or o.deleted_at is not null)
    then 'void' else p.state end
"""
_PROPOSALS: Final[LiteralString] = f"""
select p.id, p.kind, p.newer, p.older, p.newer_version, p.older_version, p.newer_quote,
    p.older_quote, p.reason, p.confidence, p.decided_by, p.created_at, n.project, {_STATE} as state
from proposals p
join memories n on n.owner = p.owner and n.id = p.newer
join memories o on o.owner = p.owner and o.id = p.older
where p.owner = %(owner)s
"""  # noqa: S608  # composed of constants
_LISTED: Final[LiteralString] = f"""
{_PROPOSALS} and {_STATE} = any(%(states)s) order by p.created_at, p.id limit %(limit)s
"""
_ONE: Final[LiteralString] = f"{_PROPOSALS} and p.id = %(id)s"
# Both memories are locked, by id as everywhere, so that neither becomes sensitive or is erased
# before its quotes are stored.
_HOLD: Final = """
select m.id from memories m
where m.owner = %(owner)s and m.id = any(%(ids)s) and not m.is_sensitive order by m.id for share
"""
_KEEP: Final = """
insert into proposals as p (owner, id, kind, newer, older, newer_version, older_version,
    newer_quote, older_quote, reason, confidence, decided_by, created_at, state)
values (%(owner)s, %(id)s, %(kind)s, %(newer)s, %(older)s, %(newer_version)s, %(older_version)s,
    %(newer_quote)s, %(older_quote)s, %(reason)s, %(confidence)s, %(decided_by)s, %(created_at)s,
    'open')
on conflict (owner, newer, older) do update set id = excluded.id, kind = excluded.kind,
    newer_version = excluded.newer_version, older_version = excluded.older_version,
    newer_quote = excluded.newer_quote, older_quote = excluded.older_quote,
    reason = excluded.reason, confidence = excluded.confidence, decided_by = excluded.decided_by,
    created_at = excluded.created_at, state = 'open'
where p.newer_version <> excluded.newer_version or p.older_version <> excluded.older_version
"""
_DECIDE: Final = """
update proposals set state = %(verdict)s
where owner = %(owner)s and id = %(id)s
    and (state in ('open', 'later') or (state = 'rejected' and %(verdict)s = 'later'))
"""
_LOCK: Final[LiteralString] = f"{_ONE} for update of p"
_LOCK_MEMORY: Final = """
select m.id from memories m
where m.owner = %(owner)s and m.id = %(id)s and m.version = %(based_on)s for update
"""
_SETTLE: Final = "update proposals set state = %(state)s where owner = %(owner)s and id = %(id)s"
# The change that a decision itself makes: the proposals about the memory stay what they are.
_CARRY_NEWER: Final = """
update proposals set newer_version = %(version)s
where owner = %(owner)s and newer = %(memory)s and newer_version = %(based_on)s
"""
_CARRY_OLDER: Final = """
update proposals set older_version = %(version)s
where owner = %(owner)s and older = %(memory)s and older_version = %(based_on)s
"""
_LOG: Final = """
insert into curation_journal (owner, id, proposal, kind, survivor, superseded, addition,
    accepted_by, accepted_at)
values (%(owner)s, %(id)s, %(proposal)s, %(kind)s, %(survivor)s, %(superseded)s, %(addition)s,
    %(by)s, %(at)s)
"""
_JOURNAL: Final[LiteralString] = """
select j.*, m.project from curation_journal j
join memories m on m.owner = j.owner and m.id = j.survivor
where j.owner = %(owner)s
"""
_LATEST: Final[LiteralString] = f"""
{_JOURNAL} and (%(undone)s or j.undone_at is null)
order by j.accepted_at desc, j.id desc limit %(limit)s
"""
_ENTRY: Final[LiteralString] = f"{_JOURNAL} and j.id = %(id)s"
_UNDO: Final = """
update curation_journal set undone_at = %(at)s
where owner = %(owner)s and id = %(id)s and undone_at is null returning proposal
"""
_COUNTS: Final[LiteralString] = f"""
select (select count(*) from ({_PROPOSALS}) p where p.state in ('open', 'later')) as undecided,
    (select count(*) from curation_journal j where j.owner = %(owner)s
        and j.accepted_by = %(curator)s and j.undone_at is null) as applied
"""  # noqa: S608  # composed of constants

# A call is counted before it is made, so that no crash makes one free.
_SPEND: Final = """
insert into curation_budget as b (day, calls)
values ((now() at time zone 'utc')::date, 1)
on conflict (day) do update set calls = b.calls + 1 where b.calls < %(most)s
"""


class PostgresCuration:
    """Implements the `CurationStore` port."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @retry_on_disconnect
    async def find_changed(self, limit: int) -> ChangedMemories | None:
        async with self._pool.reading(WORKER) as connection:
            cursor = await connection.execute(_BEHIND)
            behind = await cursor.fetchone()
        if behind is None:
            return None
        return await self.read_changed(
            behind["owner"], behind["examined"], behind["position"], limit
        )

    async def read_changed(
        self, owner: str, examined: int, last: int, limit: int
    ) -> ChangedMemories:
        """An owner's memories that changed after one position, up to the last."""
        params = {"owner": owner, "examined": examined, "last": last, "limit": limit}
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_NEXT, params)
            changed = {row["memory_id"]: row["position"] for row in await cursor.fetchall()}
            cursor = await connection.execute(_TO_EXAMINE, {"owner": owner, "ids": [*changed]})
            memories = [to_memory(row) for row in await cursor.fetchall()]
        memories.sort(key=lambda memory: changed[memory.id])
        position = max(changed.values()) if len(changed) == limit else last
        return ChangedMemories(owner, tuple(memories), position)

    async def mark_examined(self, changed: ChangedMemories) -> None:
        async with self._pool.transaction(changed.owner) as connection:
            params = {"owner": changed.owner, "position": changed.position}
            await connection.execute(_EXAMINED, params)

    @retry_on_disconnect
    async def count_unexamined(self) -> int:
        async with self._pool.reading(WORKER) as connection:
            cursor = await connection.execute(_UNEXAMINED)
            return int((await cursor.fetchone() or {"waiting": 0})["waiting"])

    async def keep_proposals(self, owner: str, proposals: Sequence[Proposal]) -> list[Proposal]:
        kept: list[Proposal] = []
        if not proposals:
            return kept
        ids = sorted({id for proposal in proposals for id in (proposal.newer, proposal.older)})
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(_HOLD, {"owner": owner, "ids": ids})
            there = {row["id"] for row in await cursor.fetchall()}
            for proposal in proposals:
                if {proposal.newer, proposal.older} <= there:
                    cursor = await connection.execute(_KEEP, _from_proposal(owner, proposal))
                    kept += [proposal] * cursor.rowcount
        return kept

    async def spend(self, most: int) -> bool:
        if most < 1:
            return False
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_SPEND, {"most": most})
            return cursor.rowcount == 1

    @retry_on_disconnect
    async def proposals(self, owner: str, states: Collection[State], limit: int) -> list[Proposal]:
        params = {"owner": owner, "states": [*states], "limit": limit}
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_LISTED, params)
            return [_to_proposal(row) for row in await cursor.fetchall()]

    @retry_on_disconnect
    async def proposal(self, owner: str, id: UUID) -> Proposal | None:
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_ONE, {"owner": owner, "id": id})
            row = await cursor.fetchone()
        return None if row is None else _to_proposal(row)

    async def decide(self, owner: str, id: UUID, verdict: Verdict) -> bool:
        async with self._pool.transaction(owner) as connection:
            params = {"owner": owner, "id": id, "verdict": verdict}
            cursor = await connection.execute(_DECIDE, params)
            return cursor.rowcount == 1

    async def accept(
        self, owner: str, entry: JournalEntry, survivor: Memory, *, based_on: int
    ) -> bool:
        row = await asyncio.to_thread(from_memory, survivor)
        async with self._pool.transaction(owner) as connection:
            # The memory first, as every writer locks it.
            if not await _lock(connection, row, based_on):
                return False
            cursor = await connection.execute(_LOCK, {"owner": owner, "id": entry.proposal})
            found = await cursor.fetchone()
            if found is None or _to_proposal(found).state not in UNDECIDED:
                return False
            await _replace(connection, row, based_on)
            settled = {"owner": owner, "id": entry.proposal, "state": "accepted"}
            await connection.execute(_SETTLE, settled)
            await connection.execute(_LOG, _from_entry(owner, entry))
            return True

    @retry_on_disconnect
    async def journal(self, owner: str, limit: int, *, undone: bool = False) -> list[JournalEntry]:
        params = {"owner": owner, "limit": limit, "undone": undone}
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_LATEST, params)
            return [_to_entry(row) for row in await cursor.fetchall()]

    @retry_on_disconnect
    async def journal_entry(self, owner: str, id: UUID) -> JournalEntry | None:
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_ENTRY, {"owner": owner, "id": id})
            row = await cursor.fetchone()
        return None if row is None else _to_entry(row)

    async def undo(
        self, owner: str, entry: UUID, survivor: Memory, *, based_on: int, at: datetime
    ) -> bool:
        row = await asyncio.to_thread(from_memory, survivor)
        async with self._pool.transaction(owner) as connection:
            if not await _lock(connection, row, based_on):
                return False
            cursor = await connection.execute(_UNDO, {"owner": owner, "id": entry, "at": at})
            undone = await cursor.fetchone()
            if undone is None:
                return False
            await _replace(connection, row, based_on)
            settled = {"owner": owner, "id": undone["proposal"], "state": "rejected"}
            await connection.execute(_SETTLE, settled)
            return True

    @retry_on_disconnect
    async def counts(self, owner: str) -> CurationCounts:
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_COUNTS, {"owner": owner, "curator": CURATOR})
            row = await cursor.fetchone() or {}
        return CurationCounts(**row)

    async def wait_for_work(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _lock(connection: Connection, row: Mapping[str, Any], based_on: int) -> bool:
    """Whether the memory is still the one that the change is based on; until the end it stays."""
    params = {"owner": row["owner"], "id": row["id"], "based_on": based_on}
    cursor = await connection.execute(_LOCK_MEMORY, params)
    return await cursor.fetchone() is not None


async def _replace(connection: Connection, row: Mapping[str, Any], based_on: int) -> None:
    """The next version of a memory; the proposals about it go with it."""
    await connection.execute(REPLACE, {**row, "based_on": based_on})
    params = {
        "owner": row["owner"],
        "memory": row["id"],
        "version": row["version"],
        "based_on": based_on,
    }
    await connection.execute(_CARRY_NEWER, params)
    await connection.execute(_CARRY_OLDER, params)


def _from_proposal(owner: str, proposal: Proposal) -> dict[str, object]:
    names = (
        "id",
        "kind",
        "newer",
        "older",
        "newer_version",
        "older_version",
        "newer_quote",
        "older_quote",
        "reason",
        "confidence",
        "decided_by",
        "created_at",
    )
    return {"owner": owner, **{name: getattr(proposal, name) for name in names}}


def _to_proposal(row: Mapping[str, Any]) -> Proposal:
    return Proposal(**{**row, "created_at": utc(row["created_at"])})


def _from_entry(owner: str, entry: JournalEntry) -> dict[str, object]:
    return {
        "owner": owner,
        "id": entry.id,
        "proposal": entry.proposal,
        "kind": entry.kind,
        "survivor": entry.survivor,
        "superseded": entry.superseded,
        "addition": Jsonb(entry.addition.as_values()),
        "by": entry.by,
        "at": entry.at,
    }


def _to_entry(row: Mapping[str, Any]) -> JournalEntry:
    return JournalEntry(
        row["id"],
        row["proposal"],
        row["kind"],
        row["survivor"],
        row["superseded"],
        Addition.from_values(row["addition"]),
        row["accepted_by"],
        utc(row["accepted_at"]),
        None if row["undone_at"] is None else utc(row["undone_at"]),
        row["project"],
    )
