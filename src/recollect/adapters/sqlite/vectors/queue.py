"""The embedding queue of a space in the local store: the rows without a vector are the jobs.

Triggers add such a row in the transaction that stores the memory, so no acknowledged memory can be
missing. Memories that were stored before a space was opened are found by a sweep, when no job is
left. A claim is a lease that is committed before the model runs, so that processes share the work
and the jobs of a dead one are released when its lease expires. See docs/adr/0008.

A turn of a conversation is embedded with the turns before it (docs/adr/0029). A claim records which
turns these are; when one of them changes, the ticket becomes invalid.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from hashlib import sha256
from struct import pack
from typing import Final
from uuid import UUID

from recollect.adapters.sqlite.component import PARKED
from recollect.adapters.sqlite.thread import transaction
from recollect.adapters.sqlite.vectors.search import VectorSearch
from recollect.adapters.sqlite.vectors.spaces import SpaceStore
from recollect.core.jobs import (
    MAX_CRASHES,
    RELEASED,
    SOON,
    WORKER_DIED,
    select_batch,
    to_storable,
)
from recollect.core.memory.memory import EPISODE
from recollect.core.recall.space import (
    TURNS_BEFORE,
    EmbeddingJob,
    EmbeddingProgress,
    Space,
    StoredSpace,
    context_of,
    unit_vector,
)
from recollect.core.retry import JOB_BACKOFF, MAX_JOB_ATTEMPTS
from recollect.ports.embedding import NO_PASSAGES, NO_TOKENS, Passages, Tokens

SWEEP: Final = 1_000
"""Memories per step of a sweep: few, because it blocks other writers."""

_IS_DUE: Final = "e.space_id = :space AND e.vector IS NULL AND e.due_at <= :now"
_ANY_DUE: Final = f"SELECT 1 FROM embeddings e WHERE {_IS_DUE} LIMIT 1"  # noqa: S608  # constants
_UNSWEPT: Final = "SELECT 1 FROM spaces WHERE id = ? AND swept_to IS NOT NULL"
_DUE: Final = f"""
SELECT e.id, e.edition, e.owner, e.memory, e.attempts, m.id AS memory_id, m.content, m.category,
    m.project, m.session, m.created_at, e.attempts > 0 AND e.last_error IS NULL AS is_suspect
FROM embeddings e JOIN memories m ON m.number = e.memory
WHERE {_IS_DUE} AND NOT m.is_sensitive
    AND (:max_bytes IS NULL OR length(CAST(m.content AS BLOB)) <= :max_bytes)
ORDER BY e.due_at, e.id LIMIT :limit
"""  # noqa: S608  # composed of constants
# The last error is cleared for a retry, to distinguish a worker that died from a reported error.
_CLAIM: Final = """
UPDATE embeddings SET attempts = attempts + 1, due_at = :due_at, context_hash = :context,
    last_error = :error
WHERE id = :id
"""
_BEFORE: Final = """
SELECT number, content, is_sensitive FROM memories
WHERE owner = :owner AND session = :session AND project IS :project AND category = 'episode'
    AND deleted_at IS NULL AND (created_at, id) < (:created_at, :memory_id)
ORDER BY created_at DESC, id DESC LIMIT :turns
"""
_NO_CONTEXT: Final = "DELETE FROM embedding_context WHERE embedding = ?"
_CONTEXT: Final = "INSERT INTO embedding_context (owner, before, embedding) VALUES (?, ?, ?)"
_MINE: Final = """
id = :id AND edition = :edition AND context_hash IS :context AND vector IS NULL
"""
_ATTEMPTS: Final = f"SELECT attempts FROM embeddings WHERE {_MINE}"  # noqa: S608  # constants
_FINISH: Final = f"""
UPDATE embeddings SET vector = :vector, start_char = :start, end_char = :end, attempts = 0,
    due_at = 0, last_error = NULL, context_hash = NULL
WHERE {_MINE} AND space_id = :space
"""  # noqa: S608  # composed of constants
_ADD_PASSAGE: Final = """
INSERT INTO embeddings (owner, memory, space_id, passage, start_char, end_char, vector)
SELECT owner, memory, space_id, ?, ?, ?, ? FROM embeddings WHERE id = ?
ON CONFLICT (owner, memory, space_id, passage) DO UPDATE
SET start_char = excluded.start_char, end_char = excluded.end_char, vector = excluded.vector
"""
_ADD_TOKENS: Final = """
INSERT OR REPLACE INTO token_vectors (embedding, block)
SELECT p.id, :block FROM embeddings e
JOIN embeddings p ON p.owner = e.owner AND p.memory = e.memory AND p.space_id = e.space_id
WHERE e.id = :id AND p.passage = :passage
"""
_SIZE_OF_TOKENS: Final = """
SELECT coalesce(sum(length(t.block)), 0)
FROM token_vectors t JOIN embeddings e ON e.id = t.embedding
WHERE e.owner = ? AND e.space_id = ?
"""
_FAIL: Final = f"""
UPDATE embeddings SET last_error = :error, due_at = :due_at WHERE {_MINE}
"""  # noqa: S608  # composed of constants
_GIVE_BACK: Final = f"""
UPDATE embeddings SET attempts = max(attempts - 1, 0), due_at = 0,
    last_error = CASE WHEN attempts > 1 THEN '{RELEASED}' END
WHERE {_MINE}
"""  # noqa: S608  # composed of constants
_SET_ERROR: Final = "UPDATE spaces SET last_error = ? WHERE id = ?"
_CLEAR_ERROR: Final = "UPDATE spaces SET last_error = NULL WHERE id = ? AND last_error IS NOT NULL"
# A claimed job does not clear the error: only a vector proves that a hosted model works.
_HAS_RECOVERED: Final = """
SELECT 1 FROM spaces s WHERE s.id = ? AND s.last_error IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM embeddings e
    WHERE e.space_id = s.id AND e.vector IS NULL AND e.last_error IS NULL)
"""
_RETRY: Final = """
UPDATE embeddings SET attempts = 0, due_at = 0
WHERE space_id = ? AND vector IS NULL AND due_at > ? AND last_error IS NOT NULL
"""
_PROGRESS: Final = """
SELECT count(*) AS rows,
    coalesce(sum(vector IS NULL), 0) AS pending,
    coalesce(sum(vector IS NULL AND due_at = :parked), 0) AS parked,
    coalesce(sum(is_failing), 0) AS failing,
    coalesce(sum(is_failing AND attempts < :often AND due_at <= :soon), 0) AS soon
FROM (
    SELECT *, vector IS NULL AND due_at > :now AND due_at < :parked AND last_error IS NOT NULL
        AS is_failing
    FROM embeddings
    WHERE space_id = :space AND passage = 0 AND (:owner IS NULL OR owner = :owner)
)
"""
_UNSEEN: Final = """
SELECT count(*) FROM spaces s JOIN memories m ON m.number > s.swept_to
WHERE s.id = :space AND NOT m.is_sensitive AND m.deleted_at IS NULL
    AND (:owner IS NULL OR m.owner = :owner)
    AND NOT EXISTS (SELECT 1 FROM embeddings e
        WHERE e.owner = m.owner AND e.memory = m.number AND e.space_id = s.id)
"""
_LAST_ERROR: Final = """
SELECT coalesce((SELECT last_error FROM spaces WHERE id = :space), (
    SELECT last_error FROM embeddings
    WHERE space_id = :space AND (:owner IS NULL OR owner = :owner) AND vector IS NULL
        AND last_error IS NOT NULL
    ORDER BY due_at DESC LIMIT 1))
"""
_SWEPT: Final = "SELECT swept_to FROM spaces WHERE id = ? AND state <> 'retired'"
_SWEEP_SOME: Final = """
INSERT OR IGNORE INTO embeddings (owner, memory, space_id)
SELECT owner, number, :space FROM memories
WHERE number > :after AND number <= :upto AND NOT is_sensitive AND deleted_at IS NULL
"""
_SWEPT_TO: Final = "UPDATE spaces SET swept_to = ? WHERE id = ?"
_NUMBERS: Final = """
SELECT max(number) FROM (SELECT number FROM memories WHERE number > ? ORDER BY number LIMIT ?)
"""
_PARKED_ERROR: Final = """
SELECT coalesce(e.last_error, '') FROM embeddings e
JOIN spaces s ON s.id = e.space_id AND s.state = 'active'
JOIN memories m ON m.number = e.memory
WHERE m.owner = ? AND m.id = ? AND e.vector IS NULL AND e.due_at = ?
"""


_HAS_VECTOR: Final = """
SELECT 1 FROM embeddings e
JOIN spaces s ON s.id = e.space_id AND s.state = 'active'
JOIN memories m ON m.number = e.memory
WHERE m.owner = ? AND m.id = ? AND e.vector IS NOT NULL
"""


class SqliteVectors(SpaceStore, VectorSearch):
    """Implements the ports `EmbeddingQueue` and, with what it inherits, `VectorIndex`; opened and
    closed by its store.
    """

    async def claim(
        self, space: StoredSpace, limit: int, max_bytes: int | None = None
    ) -> list[EmbeddingJob]:
        while True:
            if await self._reader.run_until_cancelled(
                lambda reader: self._is_any_due(reader, space)
            ):
                jobs = await self._writer.run(
                    lambda writer: self._claim(writer, space, limit, max_bytes)
                )
                if jobs:
                    return jobs
            if not await self.sweep(space):
                return []

    async def finish(
        self,
        space: StoredSpace,
        done: Sequence[tuple[EmbeddingJob, Sequence[float]]],
        passages: Passages = NO_PASSAGES,
        tokens: Tokens = NO_TOKENS,
    ) -> int:
        rows: list[tuple[dict[str, object], list[tuple[object, ...]], list[dict[str, object]]]] = []
        for job, vector in done:
            parts = passages.get(job, ())
            mine = _to_params(job)
            start, end = parts[0].span if parts else (None, None)
            first = {"vector": to_bytes(space.space, vector), "start": start, "end": end}
            others: list[tuple[object, ...]] = [
                (number, *part.span, to_bytes(space.space, part.vector), mine["id"])
                for number, part in enumerate(parts)
                if number
            ]
            blocks = [
                {"id": mine["id"], "passage": number, "block": block}
                for number, block in enumerate(tokens.get(job, ()))
            ]
            rows.append(({**mine, **first, "space": space.id}, others, blocks))

        def work(writer: sqlite3.Connection) -> int:
            with transaction(writer):
                kept = 0
                for first, others, blocks in rows:
                    if writer.execute(_FINISH, first).rowcount:
                        kept += 1
                        writer.executemany(_ADD_PASSAGE, others)
                        writer.executemany(_ADD_TOKENS, blocks)
                if kept:
                    writer.execute(_CLEAR_ERROR, (space.id,))
                return kept

        return await self._writer.run(work)

    async def select_unchanged(
        self,
        space: StoredSpace,  # noqa: ARG002  # a ticket is of one space
        jobs: Sequence[EmbeddingJob],
    ) -> list[EmbeddingJob]:
        def work(reader: sqlite3.Connection) -> list[EmbeddingJob]:
            return [job for job in jobs if reader.execute(_ATTEMPTS, _to_params(job)).fetchone()]

        return await self._reader.run_until_cancelled(work)

    async def fail(
        self,
        space: StoredSpace,  # noqa: ARG002  # a ticket is of one space
        jobs: Sequence[EmbeddingJob],
        error: str,
    ) -> None:
        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                for job in jobs:
                    mine = _to_params(job)
                    found = writer.execute(_ATTEMPTS, mine).fetchone()
                    if found is not None:
                        due_at = due_after_failure(found["attempts"], self._now())
                        values = {**mine, "error": to_storable(error), "due_at": due_at}
                        writer.execute(_FAIL, values)

        await self._writer.run(work)

    async def give_back(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str | None = None
    ) -> None:
        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                writer.executemany(_GIVE_BACK, map(_to_params, jobs))
                if error is not None:
                    writer.execute(_SET_ERROR, (to_storable(error), space.id))

        await self._writer.run(work)

    async def clear_error(self, space: StoredSpace) -> None:
        has_recovered = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_HAS_RECOVERED, (space.id,)).fetchone()
        )
        if has_recovered:
            await self._writer.run(lambda writer: writer.execute(_CLEAR_ERROR, (space.id,)))

    async def retry_parked(self, space: StoredSpace) -> int:
        values = (space.id, self._now())
        return await self._writer.run(lambda writer: writer.execute(_RETRY, values).rowcount)

    async def parked(self, owner: str, id: UUID) -> str | None:
        """Return the last error of a memory that failed too often to be embedded, or None."""
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_PARKED_ERROR, (owner, str(id), PARKED)).fetchone()
        )
        return None if row is None else str(row[0])

    async def has_vector(self, owner: str, id: UUID) -> bool:
        """Return whether a memory has a vector in the active space."""
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_HAS_VECTOR, (owner, str(id))).fetchone()
        )
        return row is not None

    async def progress(self, space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
        now = self._now()
        values = {
            "space": space.id,
            "owner": owner,
            "now": now,
            "parked": PARKED,
            "often": MAX_CRASHES,
            "soon": now + int(SOON * 1_000_000),
        }

        def work(reader: sqlite3.Connection) -> EmbeddingProgress:
            row = reader.execute(_PROGRESS, values).fetchone()
            (unseen,) = reader.execute(_UNSEEN, values).fetchone()
            (last_error,) = reader.execute(_LAST_ERROR, values).fetchone()
            return EmbeddingProgress(
                embedded=row["rows"] - row["pending"],
                waiting=row["pending"] - row["parked"] + unseen,
                parked=row["parked"],
                last_error=last_error,
                failing=row["failing"],
                soon=row["soon"],
            )

        return await self._reader.run_until_cancelled(work)

    async def token_bytes(self, space: StoredSpace, owner: str) -> int:
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_SIZE_OF_TOKENS, (owner, space.id)).fetchone()
        )
        return int(row[0])

    async def sweep(self, space: StoredSpace) -> bool:
        """Add missing rows for a batch of memories. Returns False if all were checked."""
        unswept = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_UNSWEPT, (space.id,)).fetchone()
        )
        return bool(unswept) and await self._writer.run(lambda writer: _sweep(writer, space))

    def _is_any_due(self, reader: sqlite3.Connection, space: StoredSpace) -> bool:
        values = {"space": space.id, "now": self._now()}
        return reader.execute(_ANY_DUE, values).fetchone() is not None

    def _claim(
        self, writer: sqlite3.Connection, space: StoredSpace, limit: int, max_bytes: int | None
    ) -> list[EmbeddingJob]:
        with transaction(writer):
            while True:
                values: dict[str, int | None] = {"space": space.id, "now": self._now()}
                values |= {"limit": limit, "max_bytes": max_bytes}
                due = writer.execute(_DUE, values).fetchall()
                if not due:
                    return []
                jobs = [
                    job
                    for row in select_batch(due, lambda row: bool(row["is_suspect"]))
                    if (job := self._claim_one(writer, row)) is not None
                ]
                if jobs:
                    return jobs

    def _claim_one(self, writer: sqlite3.Connection, row: sqlite3.Row) -> EmbeddingJob | None:
        """Claim a job. Returns None if it was tried too often, and is now parked."""
        context = _record_context(writer, row) if row["category"] == EPISODE else None
        is_parked = row["attempts"] >= MAX_JOB_ATTEMPTS
        values = {
            "id": row["id"],
            "context": _hash(context),
            "due_at": PARKED if is_parked else self._lease_end(),
            "error": WORKER_DIED if is_parked else None,
        }
        writer.execute(_CLAIM, values)
        return None if is_parked else _to_job(row, context)


def due_after_failure(attempts: int, now: int) -> int:
    """Return when a job with this number of attempts is due again, in microseconds."""
    return (
        PARKED
        if attempts >= MAX_JOB_ATTEMPTS
        else now + int(JOB_BACKOFF.wait(attempts) * 1_000_000)
    )


def to_bytes(space: Space, vector: Sequence[float]) -> bytes:
    """Encode a unit vector as 16-bit numbers; raise ModelUnavailable if it is of another space."""
    return pack(f"<{space.dimension}e", *unit_vector(space, vector))


def _sweep(writer: sqlite3.Connection, space: StoredSpace) -> bool:
    with transaction(writer):
        found = writer.execute(_SWEPT, (space.id,)).fetchone()
        if found is None or found["swept_to"] is None:
            return False
        after = found["swept_to"]
        (upto,) = writer.execute(_NUMBERS, (after, SWEEP)).fetchone()
        if upto is not None:
            writer.execute(_SWEEP_SOME, {"space": space.id, "after": after, "upto": upto})
        writer.execute(_SWEPT_TO, (upto, space.id))
        return upto is not None


def _record_context(writer: sqlite3.Connection, turn: sqlite3.Row) -> str | None:
    """Record which turns are embedded with a turn, and return their text."""
    writer.execute(_NO_CONTEXT, (turn["id"],))
    values = {name: turn[name] for name in ("owner", "session", "project", "created_at")}
    values |= {"memory_id": turn["memory_id"], "turns": TURNS_BEFORE}
    said = [row for row in writer.execute(_BEFORE, values) if not row["is_sensitive"]][::-1]
    kept = context_of(turn["content"], [row["content"] for row in said])
    if not kept:
        return None
    recorded = ((turn["owner"], row["number"], turn["id"]) for row in said[-len(kept) :])
    writer.executemany(_CONTEXT, recorded)
    return "\n".join(kept)


def _to_job(row: sqlite3.Row, context: str | None) -> EmbeddingJob:
    """Put a turn's own text first: a model truncates long texts at the end."""
    text = row["content"] if context is None else f"{row['content']}\n{context}"
    ticket = f"{row['id']}.{row['edition']}.{(_hash(context) or b'').hex()}"
    context_at = None if context is None else len(row["content"])
    return EmbeddingJob(UUID(row["memory_id"]), row["owner"], ticket, text, context_at)


def _hash(context: str | None) -> bytes | None:
    return None if context is None else sha256(context.encode()).digest()


def _to_params(job: EmbeddingJob) -> dict[str, object]:
    """Return the parameters of `_MINE`: what a row must match for a job to be valid."""
    id, edition, context = job.ticket.split(".")
    return {"id": int(id), "edition": int(edition), "context": bytes.fromhex(context) or None}
