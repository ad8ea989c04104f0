"""Proposals and the journal of acceptances."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Final, LiteralString
from uuid import UUID

from recollect.adapters.sql.session import Row, Session, SqlComponent
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

# An undecided proposal is void if one of its memories has changed or was forgotten.
_STATE: Final = """
case when p.state in ('open', 'later') and (n.version <> p.newer_version
        or o.version <> p.older_version or n.deleted_at is not null or o.deleted_at is not null)
    then 'void' else p.state end
"""
_PROPOSALS: Final[LiteralString] = f"""
select p.id, p.kind, n.id as newer, o.id as older, p.newer_version, p.older_version, p.newer_quote,
    p.older_quote, p.reason, p.confidence, p.decided_by, p.created_at, n.project, {_STATE} as state
from proposals p
join memories n on n.owner = p.owner and n.$number = p.newer
join memories o on o.owner = p.owner and o.$number = p.older
where p.owner = :owner
"""  # noqa: S608  # composed of constants
_LISTED: Final[LiteralString] = f"""
{_PROPOSALS} and {_STATE} = any(:states) order by p.created_at, p.id limit :limit
"""
_ONE: Final[LiteralString] = f"{_PROPOSALS} and p.id = :id"
# Both memories are locked, in the order of ids as everywhere, so that neither becomes sensitive or
# is erased before its quotes are stored.
_HOLD: Final = """
select m.id from memories m where m.owner = :owner and m.id = any(:ids) order by m.id $for_share
"""
# Citus counts the rows that it selected, not those that it wrote: so they are returned.
_KEEP: Final = """
insert into proposals as made (owner, id, kind, newer, older, newer_version, older_version,
    newer_quote, older_quote, reason, confidence, decided_by, created_at, state)
select :owner, :id, :kind, n.$number, o.$number, :newer_version, :older_version, :newer_quote,
    :older_quote, :reason, :confidence, :decided_by, :created_at, 'open'
from memories n join memories o on o.owner = n.owner and o.id = :older
where n.owner = :owner and n.id = :newer and not n.is_sensitive and not o.is_sensitive
on conflict (owner, newer, older) do update set id = excluded.id, kind = excluded.kind,
    newer_version = excluded.newer_version, older_version = excluded.older_version,
    newer_quote = excluded.newer_quote, older_quote = excluded.older_quote,
    reason = excluded.reason, confidence = excluded.confidence, decided_by = excluded.decided_by,
    created_at = excluded.created_at, state = 'open'
where made.newer_version <> excluded.newer_version
    or made.older_version <> excluded.older_version
returning id
"""
_DECIDE: Final = """
update proposals set state = :verdict
where owner = :owner and id = :id
    and (state in ('open', 'later') or (state = 'rejected' and :verdict = 'later'))
"""
_LOCK_MEMORY: Final = """
select m.id from memories m
where m.owner = :owner and m.id = :id and m.version = :based_on $for_update
"""
_LOCK: Final = """
select p.id from proposals p where p.owner = :owner and p.id = :id $for_update
"""
_SETTLE: Final = "update proposals set state = :state where owner = :owner and id = :id"
# After the change that a decision itself makes, the other proposals about the memory stay valid.
_CARRY_NEWER: Final = """
update proposals set newer_version = :version
where owner = :owner and newer_version = :based_on
    and newer = (select $number from memories where owner = :owner and id = :id)
"""
_CARRY_OLDER: Final = """
update proposals set older_version = :version
where owner = :owner and older_version = :based_on
    and older = (select $number from memories where owner = :owner and id = :id)
"""
_LOG: Final = """
insert into curation_journal (owner, id, proposal, kind, survivor, superseded, addition,
    accepted_by, accepted_at)
values (:owner, :id, :proposal, :kind, :survivor, :superseded, :addition, :by, :at)
"""
_JOURNAL: Final[LiteralString] = """
select j.*, m.project from curation_journal j
join memories m on m.owner = j.owner and m.id = j.survivor
where j.owner = :owner
"""
_LATEST: Final[LiteralString] = f"""
{_JOURNAL} and (:undone or j.undone_at is null)
order by j.accepted_at desc, j.id desc limit :limit
"""
_ENTRY: Final[LiteralString] = f"{_JOURNAL} and j.id = :id"
_UNDO: Final = """
update curation_journal set undone_at = :at
where owner = :owner and id = :id and undone_at is null returning proposal
"""
_COUNTS: Final[LiteralString] = f"""
select (select count(*) from ({_PROPOSALS}) p where p.state in ('open', 'later')) as undecided,
    (select count(*) from curation_journal j where j.owner = :owner
        and j.accepted_by = :curator and j.undone_at is null) as applied
"""  # noqa: S608  # composed of constants


class SqlCuration(SqlComponent):
    """Implements the proposals and the journal of the `CurationStore` port."""

    _replace: ClassVar[LiteralString]
    """The store's statement that replaces the version `based_on` of a memory."""

    @staticmethod
    @abstractmethod
    def _to_row(memory: Memory) -> Mapping[str, Any]:
        """Return the values of `_replace`."""

    async def keep_proposals(self, owner: str, proposals: Sequence[Proposal]) -> list[Proposal]:
        if not proposals:
            return []
        ids = sorted({id for proposal in proposals for id in (proposal.newer, proposal.older)})

        async def work(session: Session) -> list[Proposal]:
            await session.fetch(_HOLD, {"owner": owner, "ids": ids})
            return [
                proposal
                for proposal in proposals
                if await session.fetch(_KEEP, _from_proposal(owner, proposal))
            ]

        return await self._write(owner, work)

    async def proposals(self, owner: str, states: Collection[State], limit: int) -> list[Proposal]:
        values = {"owner": owner, "states": [*states], "limit": limit}
        rows = await self._read(owner, lambda session: session.fetch(_LISTED, values))
        return [Proposal(**row) for row in rows]

    async def proposal(self, owner: str, id: UUID) -> Proposal | None:
        return await self._read(owner, lambda session: _read(session, owner, id))

    async def decide(self, owner: str, id: UUID, verdict: Verdict) -> bool:
        values = {"owner": owner, "id": id, "verdict": verdict}
        return await self._write(owner, lambda session: session.execute(_DECIDE, values)) == 1

    async def accept(
        self, owner: str, entry: JournalEntry, survivor: Memory, *, based_on: int
    ) -> bool:
        row = await self._analyze(survivor, based_on)

        async def work(session: Session) -> bool:
            # The memory is locked first, as by every writer.
            if not await session.fetch(_LOCK_MEMORY, row):
                return False
            proposal = {"owner": owner, "id": entry.proposal}
            await session.fetch(_LOCK, proposal)
            found = await _read(session, owner, entry.proposal)
            if found is None or found.state not in UNDECIDED:
                return False
            await self._replace_memory(session, row)
            await session.execute(_SETTLE, {**proposal, "state": "accepted"})
            await session.execute(_LOG, _from_entry(owner, entry))
            return True

        return await self._write(owner, work)

    async def journal(self, owner: str, limit: int, *, undone: bool = False) -> list[JournalEntry]:
        values = {"owner": owner, "limit": limit, "undone": undone}
        rows = await self._read(owner, lambda session: session.fetch(_LATEST, values))
        return [_to_entry(row) for row in rows]

    async def journal_entry(self, owner: str, id: UUID) -> JournalEntry | None:
        values = {"owner": owner, "id": id}
        rows = await self._read(owner, lambda session: session.fetch(_ENTRY, values))
        return _to_entry(rows[0]) if rows else None

    async def undo(
        self, owner: str, entry: UUID, survivor: Memory, *, based_on: int, at: datetime
    ) -> bool:
        row = await self._analyze(survivor, based_on)

        async def work(session: Session) -> bool:
            if not await session.fetch(_LOCK_MEMORY, row):
                return False
            undone = await session.fetch(_UNDO, {"owner": owner, "id": entry, "at": at})
            if not undone:
                return False
            await self._replace_memory(session, row)
            settled = {"owner": owner, "id": undone[0]["proposal"], "state": "rejected"}
            await session.execute(_SETTLE, settled)
            return True

        return await self._write(owner, work)

    async def counts(self, owner: str) -> CurationCounts:
        values = {"owner": owner, "curator": CURATOR}
        rows = await self._read(owner, lambda session: session.fetch(_COUNTS, values))
        return CurationCounts(**rows[0])

    async def _analyze(self, memory: Memory, based_on: int) -> dict[str, Any]:
        return {**await asyncio.to_thread(self._to_row, memory), "based_on": based_on}

    async def _replace_memory(self, session: Session, row: Row) -> None:
        """Store the next version of a memory, and update the proposals about it."""
        await session.execute(self._replace, row)
        await session.execute(_CARRY_NEWER, row)
        await session.execute(_CARRY_OLDER, row)


async def _read(session: Session, owner: str, id: UUID) -> Proposal | None:
    rows = await session.fetch(_ONE, {"owner": owner, "id": id})
    return Proposal(**rows[0]) if rows else None


def _from_proposal(owner: str, proposal: Proposal) -> Row:
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


def _from_entry(owner: str, entry: JournalEntry) -> Row:
    return {
        "owner": owner,
        "id": entry.id,
        "proposal": entry.proposal,
        "kind": entry.kind,
        "survivor": entry.survivor,
        "superseded": entry.superseded,
        "addition": entry.addition.as_values(),
        "by": entry.by,
        "at": entry.at,
    }


def _to_entry(row: Row) -> JournalEntry:
    return JournalEntry(
        row["id"],
        row["proposal"],
        row["kind"],
        row["survivor"],
        row["superseded"],
        Addition.from_values(row["addition"]),
        row["accepted_by"],
        row["accepted_at"],
        row["undone_at"],
        row["project"],
    )
