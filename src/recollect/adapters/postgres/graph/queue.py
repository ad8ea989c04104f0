"""The queue of memories to read for the concept graph: the jobs are the rows that no reader, or
only one of a lower level, has read. Triggers add and remove them with the memory itself; claims are
leases, as for vectors (docs/adr/0008).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, LiteralString
from uuid import UUID

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.distribution import limit_to
from recollect.adapters.postgres.graph.write import write_extractions
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.listener import NEXT_DUE, ListeningQueue, failure_params
from recollect.adapters.postgres.pool import Pool
from recollect.core.graph.extraction import Extraction, ExtractionJob
from recollect.core.graph.model import ExtractionProgress
from recollect.core.jobs import (
    RELEASED,
    WORKER_DIED,
)
from recollect.core.retry import MAX_JOB_ATTEMPTS

CHANNEL: Final = "recollect_graph"
"""Where Postgres notifies workers of memories to read; the triggers use the same name."""

# A text that is due again after the maximum of attempts has crashed its workers: it is parked. One
# that was claimed before without a result is claimed alone, as for vectors.
_CLAIM: Final[LiteralString] = """
with due as materialized (
    select d.owner, d.memory_id, d.extracted_by, d.due_at,
        d.attempts > 0 and d.last_error is null as is_suspect
    from extractions d
    where d.extracted_by < %(below)s and d.due_at <= now() {d}
    order by d.extracted_by, d.due_at
    limit %(limit)s
    for update skip locked
), first as (
    select owner, memory_id, is_suspect from due
    order by extracted_by, due_at, owner, memory_id limit 1
), taken as (
    select due.owner, due.memory_id from due cross join first
    where case when first.is_suspect
        then due.owner = first.owner and due.memory_id = first.memory_id
        else not due.is_suspect end
), claimed as (
    update extractions x set
        attempts = x.attempts + 1,
        due_at = case when x.attempts >= %(most)s then 'infinity' else lease.until end,
        last_error = case when x.attempts >= %(most)s then %(worker_died)s end
    from taken, (select now() + %(lease)s * interval '1 second' as until) lease
    where x.owner = taken.owner and x.memory_id = taken.memory_id {x}
    returning x.owner, x.memory_id, x.content_hash, x.due_at = 'infinity' as is_parked
)
select c.memory_id, encode(c.content_hash, 'hex') as ticket, c.is_parked,
    m.owner, m.content, m.tags, m.expanded_keywords
from claimed c
join memories m on m.owner = c.owner and m.id = c.memory_id and not m.is_sensitive {m}
order by c.owner, c.memory_id
"""
# For a cluster: the owners whose memories have waited longest.
_DUE_OWNERS: Final = """
select d.owner from extractions d
where d.extracted_by < %(below)s and d.due_at <= now()
group by d.owner order by min(d.extracted_by), min(d.due_at) limit %(owners)s
"""
_MAX_OWNERS: Final = 100
"""Owners that one claim considers on a cluster; another worker may have locked some jobs."""

_PRESENT: Final = """
select x.memory_id, encode(x.content_hash, 'hex') as ticket, m.owner, m.content, m.tags,
    m.expanded_keywords
from extractions x join memories m on m.owner = x.owner and m.id = x.memory_id
where x.owner = %(owner)s and x.memory_id = any(%(ids)s)
"""

_MINE: Final[LiteralString] = """
with mine as (
    select x.owner, x.memory_id, x.attempts
    from extractions x
    join unnest(%(owners)s::text[], %(ids)s::uuid[], %(tickets)s::text[])
        as d(owner, memory_id, ticket) using (owner, memory_id)
    where x.content_hash = decode(d.ticket, 'hex') {x}
    for update of x skip locked
)
"""
# Materialized: inlined by Citus, `later` loses a column.
_FAIL: Final[LiteralString] = f"""
{_MINE}, later as materialized (
    select owner, memory_id, {NEXT_DUE} as due_at from mine
)
update extractions x set last_error = %(error)s, due_at = later.due_at
from later where x.owner = later.owner and x.memory_id = later.memory_id {{x}}
"""  # noqa: S608  # composed of constants
_GIVE_BACK: Final[LiteralString] = f"""
{_MINE}
update extractions x set attempts = greatest(x.attempts - 1, 0), due_at = now(),
    last_error = case when x.attempts > 1 then '{RELEASED}' end
from mine where x.owner = mine.owner and x.memory_id = mine.memory_id {{x}}
"""  # noqa: S608  # composed of constants
_RETRY: Final = """
update extractions set attempts = 0, due_at = now()
where due_at > now() and last_error is not null
"""
_AGAIN: Final = """
update extractions set extracted_by = 0, attempts = 0, due_at = now()
where extracted_by between 1 and %(most)s or due_at = 'infinity'
"""

_PROGRESS: Final[LiteralString] = """
select
    count(*) filter (where x.extracted_by >= %(below)s) as extracted,
    count(*) filter (where x.extracted_by < %(below)s and x.due_at < 'infinity') as waiting,
    count(*) filter (where x.extracted_by < %(below)s and x.due_at = 'infinity') as parked,
    count(*) filter (where x.extracted_by < %(below)s and x.due_at > now()
        and x.due_at < 'infinity' and x.last_error is not null) as failing
from extractions x where true {x}
"""
_LAST_ERROR: Final[LiteralString] = """
select x.last_error from extractions x
where x.extracted_by < %(below)s and x.last_error is not null {x}
order by x.due_at desc limit 1
"""
_TO_COMPARE: Final[LiteralString] = """
select count(*) as to_compare from concepts c where c.compared_in is null {c}
"""
_BUDGET: Final = """
select calls as calls_today, tokens as tokens_today from extraction_budget
where day = current_date
"""

# A call is counted before it is made, so that a call that crashes counts, too.
_SPEND: Final = """
insert into extraction_budget as b (day, calls) values (current_date, 1)
on conflict (day) do update set calls = b.calls + 1 where b.calls < %(most)s
returning calls
"""
_SPENT: Final = """
update extraction_budget set tokens = tokens + %(tokens)s where day = current_date
"""

_ANSWERS: Final = """
select distinct on (x.content_hash) encode(x.content_hash, 'hex') as ticket, x.answer
from extractions x
where x.owner = %(owner)s and x.answer is not null and x.answered_by = %(by)s
    and x.content_hash = any(select decode(t, 'hex') from unnest(%(tickets)s::text[]) t)
"""
_KEEP_ANSWER: Final[LiteralString] = f"""
{_MINE}
update extractions x set answer = %(answer)s, answered_by = %(by)s
from mine where x.owner = mine.owner and x.memory_id = mine.memory_id {{x}}
"""  # noqa: S608  # composed of constants


class ExtractionQueue(ListeningQueue):
    """Implements the `ExtractionQueue` port."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        super().__init__(pool, limits, CHANNEL)

    async def claim(self, below: int, limit: int) -> list[ExtractionJob]:
        params = {
            "below": below,
            "limit": limit,
            "lease": self._pool.timeouts.lease,
            "most": MAX_JOB_ATTEMPTS,
            "worker_died": WORKER_DIED,
        }
        wanted = {"below": below, "owners": _MAX_OWNERS}
        async with self._pool.transaction(WORKER) as connection:
            for owner in await self._owners(connection, _DUE_OWNERS, wanted):
                while True:
                    claim = limit_to(owner, _CLAIM)
                    cursor = await connection.execute(claim, {**params, "owner": owner})
                    rows = await cursor.fetchall()
                    jobs = [_to_job(row) for row in rows if not row["is_parked"]]
                    if jobs:
                        return jobs
                    if not rows:
                        break
        return []

    async def present(self, owner: str, ids: Collection[UUID]) -> list[ExtractionJob]:
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(_PRESENT, {"owner": owner, "ids": list(ids)})
            return [_to_job(row) for row in await cursor.fetchall()]

    async def finish(self, done: Sequence[tuple[ExtractionJob, Extraction]], by: int) -> int:
        written = 0
        for owner in sorted({job.owner for job, _ in done}):
            theirs = [(job, found) for job, found in done if job.owner == owner]
            async with self._pool.transaction(owner) as connection:
                written += await write_extractions(connection, owner, theirs, by)
        return written

    async def fail(self, jobs: Sequence[ExtractionJob], error: str) -> None:
        async with self._pool.transaction(WORKER) as connection:
            for owner, part in self._split(jobs, _owner_of):
                params = {**_to_params(part, owner), **failure_params(error)}
                await connection.execute(limit_to(owner, _FAIL), params)

    async def give_back(self, jobs: Sequence[ExtractionJob]) -> None:
        async with self._pool.transaction(WORKER) as connection:
            for owner, part in self._split(jobs, _owner_of):
                await connection.execute(limit_to(owner, _GIVE_BACK), _to_params(part, owner))

    async def retry_parked(self) -> int:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_RETRY)
            return cursor.rowcount

    async def read_again(self, most: int) -> int:
        """Queue again everything that was read by a reader of level `most` or lower."""
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_AGAIN, {"most": most})
            return cursor.rowcount

    async def progress(self, below: int, owner: str | None = None) -> ExtractionProgress:
        row: dict[str, Any] = {}
        who = WORKER if owner is None else owner
        async with self._pool.transaction(who, is_snapshot=True) as connection:
            for statement in (_PROGRESS, _LAST_ERROR, _TO_COMPARE, _BUDGET):
                params = {"below": below, "owner": owner}
                cursor = await connection.execute(limit_to(owner, statement), params)
                row |= await cursor.fetchone() or {}
        return ExtractionProgress(**row)

    async def spend(self, most: int) -> bool:
        if most <= 0:
            return False
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_SPEND, {"most": most})
            return await cursor.fetchone() is not None

    async def spent(self, tokens: int) -> None:
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_SPENT, {"tokens": tokens})

    async def answers(self, owner: str, by: str, tickets: Sequence[str]) -> dict[str, object]:
        params = {"owner": owner, "by": by, "tickets": list(tickets)}
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(_ANSWERS, params)
            return {row["ticket"]: row["answer"] for row in await cursor.fetchall()}

    async def keep_answer(self, job: ExtractionJob, by: str, answer: object) -> None:
        params = {**_to_params([job], job.owner), "by": by, "answer": Jsonb(answer)}
        async with self._pool.transaction(job.owner) as connection:
            await connection.execute(limit_to(job.owner, _KEEP_ANSWER), params)


def _owner_of(job: ExtractionJob) -> str:
    return job.owner


def _to_params(jobs: Sequence[ExtractionJob], owner: str | None) -> dict[str, object]:
    return {
        "owner": owner,
        "owners": [job.owner for job in jobs],
        "ids": [job.memory_id for job in jobs],
        "tickets": [job.ticket for job in jobs],
    }


def _to_job(row: DictRow) -> ExtractionJob:
    return ExtractionJob(
        row["memory_id"],
        row["owner"],
        row["ticket"],
        row["content"],
        tuple(row["tags"]),
        tuple(row["expanded_keywords"]),
    )
