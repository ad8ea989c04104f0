"""The queue of memories to read for the local graph: the jobs are the rows that no reader, or only
one of a lower level, has read. Triggers add and remove them with the memory itself; claims are
leases, as for vectors (docs/adr/0008).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from recollect.adapters.sqlite.component import PARKED, SqliteComponent
from recollect.adapters.sqlite.graph.write import ticket_of, write_extractions
from recollect.adapters.sqlite.rows import id_list
from recollect.adapters.sqlite.thread import transaction
from recollect.adapters.sqlite.vectors.queue import due_after_failure
from recollect.core.graph.extraction import Extraction, ExtractionJob
from recollect.core.graph.model import ExtractionProgress
from recollect.core.jobs import RELEASED, WORKER_DIED, select_batch, to_storable
from recollect.core.retry import MAX_JOB_ATTEMPTS

_ANY_DUE: Final = "SELECT 1 FROM extractions WHERE extracted_by < :below AND due_at <= :now LIMIT 1"
_TEXT: Final = """
    m.number, m.id, m.owner, m.content, m.tags, m.expanded_keywords
FROM extractions x JOIN memories m ON m.owner = x.owner AND m.number = x.memory
"""
_DUE: Final = f"""
SELECT x.attempts, x.attempts > 0 AND x.last_error IS NULL AS is_suspect, {_TEXT}
WHERE x.extracted_by < :below AND x.due_at <= :now AND NOT m.is_sensitive
ORDER BY x.extracted_by, x.due_at, x.owner, x.memory LIMIT :limit
"""  # composed of constants
_CLAIM: Final = """
UPDATE extractions SET attempts = attempts + 1, due_at = :due_at, last_error = :error
WHERE owner = :owner AND memory = :memory
"""
_PRESENT: Final = f"""
SELECT {_TEXT} WHERE m.owner = ? AND m.id IN (SELECT value FROM json_each(?))
"""  # noqa: S608  # composed of constants
_MINE: Final = f"SELECT x.attempts, {_TEXT} WHERE m.owner = ? AND m.id = ?"  # constants
_FAIL: Final = """
UPDATE extractions SET last_error = ?, due_at = ? WHERE owner = ? AND memory = ?
"""
_GIVE_BACK: Final = f"""
UPDATE extractions SET attempts = max(attempts - 1, 0), due_at = 0,
    last_error = CASE WHEN attempts > 1 THEN '{RELEASED}' END
WHERE owner = ? AND memory = ?
"""  # noqa: S608  # composed of constants
_RETRY: Final = """
UPDATE extractions SET attempts = 0, due_at = 0 WHERE due_at > ? AND last_error IS NOT NULL
"""
_AGAIN: Final = """
UPDATE extractions SET extracted_by = 0, attempts = 0, due_at = 0
WHERE extracted_by BETWEEN 1 AND ? OR due_at = ?
"""
_PROGRESS: Final = """
SELECT
    coalesce(sum(extracted_by >= :below), 0) AS extracted,
    coalesce(sum(extracted_by < :below AND due_at < :parked), 0) AS waiting,
    coalesce(sum(extracted_by < :below AND due_at = :parked), 0) AS parked,
    coalesce(sum(extracted_by < :below AND due_at > :now AND due_at < :parked
        AND last_error IS NOT NULL), 0) AS failing,
    (SELECT last_error FROM extractions
        WHERE extracted_by < :below AND last_error IS NOT NULL
            AND (:owner IS NULL OR owner = :owner)
        ORDER BY due_at DESC LIMIT 1) AS last_error,
    (SELECT count(*) FROM concepts
        WHERE compared_in IS NULL AND (:owner IS NULL OR owner = :owner)) AS to_compare,
    coalesce((SELECT calls FROM extraction_budget WHERE day = :day), 0) AS calls_today,
    coalesce((SELECT tokens FROM extraction_budget WHERE day = :day), 0) AS tokens_today
FROM extractions WHERE :owner IS NULL OR owner = :owner
"""
# A call is counted before it is made, so that a call that crashes counts, too.
_SPEND: Final = """
INSERT INTO extraction_budget (day, calls) SELECT :day, 1 WHERE :most > 0
ON CONFLICT (day) DO UPDATE SET calls = calls + 1 WHERE calls < :most
"""
_SPENT: Final = "UPDATE extraction_budget SET tokens = tokens + ? WHERE day = ?"
_ANSWERS: Final = """
SELECT ticket, answer FROM extractions
WHERE owner = ? AND answer IS NOT NULL AND answered_by = ?
    AND ticket IN (SELECT value FROM json_each(?))
"""
_KEEP_ANSWER: Final = """
UPDATE extractions SET answer = ?, answered_by = ?, ticket = ? WHERE owner = ? AND memory = ?
"""


class ExtractionQueue(SqliteComponent):
    """Implements the `ExtractionQueue` port."""

    async def claim(self, below: int, limit: int) -> list[ExtractionJob]:
        values = {"below": below, "now": self._now(), "limit": limit}
        any_due = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_ANY_DUE, values).fetchone()
        )
        if any_due is None:
            return []
        return await self._writer.run(lambda writer: self._claim(writer, values))

    async def present(self, owner: str, ids: Collection[UUID]) -> list[ExtractionJob]:
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_PRESENT, (owner, id_list(ids))).fetchall()
        )
        return [_to_job(row) for row in rows]

    async def finish(self, done: Sequence[tuple[ExtractionJob, Extraction]], by: int) -> int:
        written = 0
        for owner in sorted({job.owner for job, _ in done}):
            written += await self._finish(owner, done, by)
        return written

    async def _finish(
        self, owner: str, done: Sequence[tuple[ExtractionJob, Extraction]], by: int
    ) -> int:
        theirs = [(job, found) for job, found in done if job.owner == owner]

        def work(writer: sqlite3.Connection) -> int:
            with transaction(writer):
                return write_extractions(writer, owner, theirs, by, self._now())

        return await self._writer.run(work)

    async def fail(self, jobs: Sequence[ExtractionJob], error: str) -> None:
        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                for row in _find_unchanged(writer, jobs):
                    due_at = due_after_failure(row["attempts"], self._now())
                    values = (to_storable(error), due_at, row["owner"], row["number"])
                    writer.execute(_FAIL, values)

        await self._writer.run(work)

    async def give_back(self, jobs: Sequence[ExtractionJob]) -> None:
        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                for row in _find_unchanged(writer, jobs):
                    writer.execute(_GIVE_BACK, (row["owner"], row["number"]))

        await self._writer.run(work)

    async def retry_parked(self) -> int:
        values = (self._now(),)
        return await self._writer.run(lambda writer: writer.execute(_RETRY, values).rowcount)

    async def read_again(self, most: int) -> int:
        """Queue again everything that was read by a reader of level `most` or lower."""
        values = (most, PARKED)
        return await self._writer.run(lambda writer: writer.execute(_AGAIN, values).rowcount)

    async def progress(self, below: int, owner: str | None = None) -> ExtractionProgress:
        values = {
            "below": below,
            "owner": owner,
            "now": self._now(),
            "parked": PARKED,
            "day": _today(),
        }
        row = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_PROGRESS, values).fetchone()
        )
        return ExtractionProgress(**dict(row))

    async def spend(self, most: int) -> bool:
        values = {"day": _today(), "most": most}
        return await self._writer.run(lambda writer: writer.execute(_SPEND, values).rowcount > 0)

    async def spent(self, tokens: int) -> None:
        await self._writer.run(lambda writer: writer.execute(_SPENT, (tokens, _today())))

    async def answers(self, owner: str, by: str, tickets: Sequence[str]) -> dict[str, object]:
        values = (owner, by, json.dumps(list(tickets)))
        rows = await self._reader.run_until_cancelled(
            lambda reader: reader.execute(_ANSWERS, values).fetchall()
        )
        return {row["ticket"]: json.loads(row["answer"]) for row in rows}

    async def keep_answer(self, job: ExtractionJob, by: str, answer: object) -> None:
        def work(writer: sqlite3.Connection) -> None:
            with transaction(writer):
                for row in _find_unchanged(writer, [job]):
                    values = (json.dumps(answer), by, job.ticket, row["owner"], row["number"])
                    writer.execute(_KEEP_ANSWER, values)

        await self._writer.run(work)

    def _claim(self, writer: sqlite3.Connection, values: dict[str, int]) -> list[ExtractionJob]:
        with transaction(writer):
            while True:
                due = writer.execute(_DUE, values).fetchall()
                if not due:
                    return []
                taken = select_batch(due, lambda row: bool(row["is_suspect"]))
                jobs = [_to_job(row) for row in taken if self._claim_one(writer, row)]
                if jobs:
                    return jobs

    def _claim_one(self, writer: sqlite3.Connection, row: sqlite3.Row) -> bool:
        """Claim a job. Returns False if it was tried too often, and is now parked."""
        is_parked = row["attempts"] >= MAX_JOB_ATTEMPTS
        values = {
            "owner": row["owner"],
            "memory": row["number"],
            "due_at": PARKED if is_parked else self._lease_end(),
            "error": WORKER_DIED if is_parked else None,
        }
        writer.execute(_CLAIM, values)
        return not is_parked


def _find_unchanged(
    writer: sqlite3.Connection, jobs: Iterable[ExtractionJob]
) -> Iterable[sqlite3.Row]:
    """Find the rows of jobs whose texts are unchanged."""
    for job in jobs:
        row = writer.execute(_MINE, (job.owner, str(job.memory_id))).fetchone()
        if row is not None and _to_job(row).ticket == job.ticket:
            yield row


def _to_job(row: sqlite3.Row) -> ExtractionJob:
    tags, keywords = json.loads(row["tags"]), json.loads(row["expanded_keywords"])
    return ExtractionJob(
        UUID(row["id"]),
        row["owner"],
        ticket_of(row["content"], tags, keywords),
        row["content"],
        tuple(tags),
        tuple(keywords),
    )


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
