"""Proposals and the journal of acceptances, in the local store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from recollect.adapters.sqlite.component import SqliteComponent
from recollect.adapters.sqlite.rows import REPLACE, from_row, microseconds, moment, to_row
from recollect.adapters.sqlite.thread import transaction
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

# An undecided proposal about memories that changed since is void; so is one about forgotten ones.
_STATE: Final = """
CASE WHEN p.state IN ('open', 'later') AND (n.version <> p.newer_version
        OR o.version <> p.older_version OR n.deleted_at IS NOT NULL OR o.deleted_at IS NOT NULL)
    THEN 'void' ELSE p.state END
"""
_PROPOSALS: Final = f"""
SELECT p.id, p.kind, n.id AS newer, o.id AS older, p.newer_version, p.older_version, p.newer_quote,
    p.older_quote, p.reason, p.confidence, p.decided_by, p.created_at, n.project, {_STATE} AS state
FROM proposals p
JOIN memories n ON n.owner = p.owner AND n.number = p.newer
JOIN memories o ON o.owner = p.owner AND o.number = p.older
WHERE p.owner = :owner
"""  # noqa: S608  # composed of constants
_LISTED: Final = f"""
{_PROPOSALS} AND {_STATE} IN (SELECT value FROM json_each(:states))
ORDER BY p.created_at, p.id LIMIT :limit
"""  # noqa: S608  # composed of constants
_ONE: Final = f"{_PROPOSALS} AND p.id = :id"
_KEEP: Final = """
INSERT INTO proposals (owner, id, kind, newer, older, newer_version, older_version, newer_quote,
    older_quote, reason, confidence, decided_by, created_at, state)
SELECT :owner, :id, :kind, n.number, o.number, :newer_version, :older_version, :newer_quote,
    :older_quote, :reason, :confidence, :decided_by, :created_at, 'open'
FROM memories n JOIN memories o ON o.owner = n.owner AND o.id = :older
WHERE n.owner = :owner AND n.id = :newer AND NOT n.is_sensitive AND NOT o.is_sensitive
ON CONFLICT (owner, newer, older) DO UPDATE SET id = excluded.id, kind = excluded.kind,
    newer_version = excluded.newer_version, older_version = excluded.older_version,
    newer_quote = excluded.newer_quote, older_quote = excluded.older_quote,
    reason = excluded.reason, confidence = excluded.confidence, decided_by = excluded.decided_by,
    created_at = excluded.created_at, state = 'open'
WHERE newer_version <> excluded.newer_version OR older_version <> excluded.older_version
"""
_DECIDE: Final = """
UPDATE proposals SET state = :verdict
WHERE owner = :owner AND id = :id
    AND (state IN ('open', 'later') OR (state = 'rejected' AND :verdict = 'later'))
"""
_SETTLE: Final = "UPDATE proposals SET state = :state WHERE owner = :owner AND id = :id"
# The change that a decision itself makes: the proposals about the memory stay what they are.
_CARRY: Final = """
UPDATE proposals SET {side}_version = :version
WHERE owner = :owner AND {side}_version = :based_on
    AND {side} = (SELECT number FROM memories WHERE owner = :owner AND id = :id)
"""
_LOG: Final = """
INSERT INTO curation_journal (owner, id, proposal, kind, survivor, superseded, addition,
    accepted_by, accepted_at)
VALUES (:owner, :id, :proposal, :kind, :survivor, :superseded, :addition, :by, :at)
"""
_JOURNAL: Final = """
SELECT j.*, m.project FROM curation_journal j
JOIN memories m ON m.owner = j.owner AND m.id = j.survivor WHERE j.owner = :owner
"""
_LATEST: Final = f"""
{_JOURNAL} AND (:undone OR j.undone_at IS NULL)
ORDER BY j.accepted_at DESC, j.id DESC LIMIT :limit
"""
_ENTRY: Final = f"{_JOURNAL} AND j.id = :id"
_UNDO: Final = """
UPDATE curation_journal SET undone_at = :at
WHERE owner = :owner AND id = :id AND undone_at IS NULL RETURNING proposal
"""
_COUNTS: Final = f"""
SELECT (SELECT count(*) FROM ({_PROPOSALS}) WHERE state IN ('open', 'later')) AS undecided,
    (SELECT count(*) FROM curation_journal WHERE owner = :owner AND accepted_by = :curator
        AND undone_at IS NULL) AS applied
"""  # noqa: S608  # composed of constants

# A call is counted before it is made, so that no crash makes one free.
_SPEND: Final = """
INSERT INTO curation_budget (day, calls) SELECT date('now'), 1 WHERE :most > 0
ON CONFLICT (day) DO UPDATE SET calls = calls + 1 WHERE calls < :most
"""


class SqliteCuration(SqliteComponent):
    """Implements the `CurationStore` port."""

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

    async def keep_proposals(self, owner: str, proposals: Sequence[Proposal]) -> list[Proposal]:
        if not proposals:
            return []
        rows = [(proposal, _from_proposal(owner, proposal)) for proposal in proposals]

        def work(writer: sqlite3.Connection) -> list[Proposal]:
            with transaction(writer):
                return [kept for kept, row in rows if writer.execute(_KEEP, row).rowcount == 1]

        return await self._writer.run(work)

    async def spend(self, most: int) -> bool:
        values = {"most": most}
        return await self._writer.run(lambda writer: writer.execute(_SPEND, values).rowcount > 0)

    async def proposals(self, owner: str, states: Collection[State], limit: int) -> list[Proposal]:
        values = {"owner": owner, "states": json.dumps([*states]), "limit": limit}
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_LISTED, values).fetchall()
        )
        return [_to_proposal(row) for row in rows]

    async def proposal(self, owner: str, id: UUID) -> Proposal | None:
        return await self._reader.run_until_cancelled(lambda reader: _read(reader, owner, id))

    async def decide(self, owner: str, id: UUID, verdict: Verdict) -> bool:
        values = {"owner": owner, "id": str(id), "verdict": verdict}

        def work(writer: sqlite3.Connection) -> bool:
            with transaction(writer):
                return writer.execute(_DECIDE, values).rowcount == 1

        return await self._writer.run(work)

    async def accept(
        self, owner: str, entry: JournalEntry, survivor: Memory, *, based_on: int
    ) -> bool:
        row = to_row(survivor)

        def work(writer: sqlite3.Connection) -> bool:
            with transaction(writer):
                found = _read(writer, owner, entry.proposal)
                if found is None or found.state not in UNDECIDED:
                    return False
                if not _replace(writer, row, based_on):
                    return False
                settled = {"owner": owner, "id": str(entry.proposal), "state": "accepted"}
                writer.execute(_SETTLE, settled)
                writer.execute(_LOG, _from_entry(owner, entry))
                return True

        return await self._writer.run(work)

    async def journal(self, owner: str, limit: int, *, undone: bool = False) -> list[JournalEntry]:
        values = {"owner": owner, "limit": limit, "undone": undone}
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_LATEST, values).fetchall()
        )
        return [_to_entry(row) for row in rows]

    async def journal_entry(self, owner: str, id: UUID) -> JournalEntry | None:
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_ENTRY, {"owner": owner, "id": str(id)}).fetchone()
        )
        return None if row is None else _to_entry(row)

    async def undo(
        self, owner: str, entry: UUID, survivor: Memory, *, based_on: int, at: datetime
    ) -> bool:
        row = to_row(survivor)
        values = {"owner": owner, "id": str(entry), "at": microseconds(at)}

        def work(writer: sqlite3.Connection) -> bool:
            with transaction(writer):
                is_open = writer.execute(f"{_ENTRY} AND j.undone_at IS NULL", values).fetchone()
                if is_open is None or not _replace(writer, row, based_on):
                    return False
                (proposal,) = writer.execute(_UNDO, values).fetchone()
                settled = {"owner": owner, "id": proposal, "state": "rejected"}
                writer.execute(_SETTLE, settled)
                return True

        return await self._writer.run(work)

    async def counts(self, owner: str) -> CurationCounts:
        values = {"owner": owner, "curator": CURATOR}
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_COUNTS, values).fetchone()
        )
        return CurationCounts(row["undecided"], row["applied"])


def _read(connection: sqlite3.Connection, owner: str, id: UUID) -> Proposal | None:
    row = connection.execute(_ONE, {"owner": owner, "id": str(id)}).fetchone()
    return None if row is None else _to_proposal(row)


def _replace(writer: sqlite3.Connection, row: Mapping[str, Any], based_on: int) -> bool:
    """The next version of a memory; the proposals about it go with it."""
    values = {**row, "based_on": based_on}
    if writer.execute(REPLACE, values).rowcount != 1:
        return False
    for side in ("newer", "older"):
        writer.execute(_CARRY.format(side=side), values)
    return True


def _from_proposal(owner: str, proposal: Proposal) -> dict[str, object]:
    return {
        "owner": owner,
        "id": str(proposal.id),
        "kind": proposal.kind,
        "newer": str(proposal.newer),
        "older": str(proposal.older),
        "newer_version": proposal.newer_version,
        "older_version": proposal.older_version,
        "newer_quote": proposal.newer_quote,
        "older_quote": proposal.older_quote,
        "reason": proposal.reason,
        "confidence": float(proposal.confidence),
        "decided_by": proposal.decided_by,
        "created_at": microseconds(proposal.created_at),
    }


def _to_proposal(row: sqlite3.Row) -> Proposal:
    return Proposal(
        **{
            **dict(row),
            "id": UUID(row["id"]),
            "newer": UUID(row["newer"]),
            "older": UUID(row["older"]),
            "created_at": moment(row["created_at"]),
        }
    )


def _from_entry(owner: str, entry: JournalEntry) -> dict[str, object]:
    return {
        "owner": owner,
        "id": str(entry.id),
        "proposal": str(entry.proposal),
        "kind": entry.kind,
        "survivor": str(entry.survivor),
        "superseded": str(entry.superseded),
        "addition": json.dumps(entry.addition.as_values(), ensure_ascii=False),
        "by": entry.by,
        "at": microseconds(entry.at),
    }


def _to_entry(row: sqlite3.Row) -> JournalEntry:
    return JournalEntry(
        UUID(row["id"]),
        UUID(row["proposal"]),
        row["kind"],
        UUID(row["survivor"]),
        UUID(row["superseded"]),
        Addition.from_values(json.loads(row["addition"])),
        row["accepted_by"],
        moment(row["accepted_at"]),
        None if row["undone_at"] is None else moment(row["undone_at"]),
        row["project"],
    )
