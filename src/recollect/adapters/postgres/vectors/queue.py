"""The embedding queue of a space: the rows without a vector are the jobs.

Triggers add such a row in the transaction that stores the memory, so no acknowledged memory can be
missing. Memories that were stored before a space was opened are found by a sweep, when no job is
left. A claim is a lease that is committed before the model runs: no edit waits for a model, and the
jobs of a dead worker are released when its lease expires. See docs/adr/0008.

A turn of a conversation is embedded with the turns before it (docs/adr/0029): those of the same
owner, project and session. A claim records which turns these are, and locks them while it does so;
afterwards a change of one invalidates the ticket, and with it any vector computed from the old
text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any, Final, LiteralString
from uuid import UUID

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.distribution import limit_to, split_by_owner
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.listener import NEXT_DUE, ListeningQueue, failure_params
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.vectors.search import VectorSearch, vector_text
from recollect.adapters.postgres.vectors.spaces import CHANNEL, SpaceStore, notify
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
    StoredSpace,
    context_of,
)
from recollect.core.retry import MAX_JOB_ATTEMPTS
from recollect.ports.embedding import NO_PASSAGES, NO_TOKENS, Passages, Tokens

_DUE: Final[LiteralString] = """
select e.owner, e.memory_id, encode(e.content_hash, 'hex') as ticket, m.content, m.category,
    e.attempts > 0 and e.last_error is null as is_suspect
from embeddings e
join memories m on m.owner = e.owner and m.id = e.memory_id and not m.is_sensitive
where e.space_id = %(space)s and e.vector is null and e.due_at <= now() {e}
    and (%(max_bytes)s::integer is null or octet_length(m.content) <= %(max_bytes)s)
order by e.due_at
limit %(limit)s
for update of e skip locked
"""
_DUE_OWNERS: Final = """
select e.owner from embeddings e
where e.space_id = %(space)s and e.vector is null and e.due_at <= now()
group by e.owner order by min(e.due_at) limit %(owners)s
"""
_MAX_OWNERS: Final = 100
"""Owners that one claim considers on a cluster; another worker may have locked some jobs."""
# A text that is due again after the maximum of attempts has crashed its workers: it is parked. Its
# last error is cleared when it is retried, to distinguish a worker that died from one that reported
# an error. Each row is written only once: for a second write Postgres would check its memory again,
# and wait for a transaction that edits it and waits for the row.
_CLAIM: Final[LiteralString] = """
update embeddings e set
    attempts = e.attempts + 1,
    due_at = case when e.attempts >= %(most)s then 'infinity' else lease.until end,
    context_hash = d.hash,
    last_error = case when e.attempts >= %(most)s then %(worker_died)s end
from unnest(%(owners)s::text[], %(ids)s::uuid[], %(hashes)s::bytea[]) d(owner, memory_id, hash),
    (select now() + %(lease)s * interval '1 second' as until) lease
where e.owner = d.owner and e.memory_id = d.memory_id and e.space_id = %(space)s
    and e.passage = 0 {e}
returning e.owner, e.memory_id, e.due_at = 'infinity' as is_parked
"""
# Turns that are being changed are skipped: the vector is also good without their text. Two projects
# may have sessions with the same name. `coalesce` lets the index be used: no project has an empty
# name.
_BEFORE: Final[LiteralString] = """
select m.owner, m.id as memory_id, b.id, b.content
from unnest(%(owners)s::text[], %(ids)s::uuid[]) w(owner, id)
join memories m on m.owner = w.owner and m.id = w.id {m}
cross join lateral (
    select p.id from memories p
    where p.owner = m.owner and p.session = m.session {p}
        and coalesce(p.project, '') = coalesce(m.project, '') and p.category = 'episode'
        and p.deleted_at is null and (p.created_at, p.id) < (m.created_at, m.id)
    order by p.created_at desc, p.id desc
    limit %(turns)s
) p
join memories b
    on b.owner = m.owner and b.id = p.id and not b.is_sensitive and b.deleted_at is null {b}
order by b.created_at, b.id
for share of b skip locked
"""
_NO_CONTEXT: Final[LiteralString] = """
delete from embedding_context c
using unnest(%(owners)s::text[], %(ids)s::uuid[]) w(owner, id)
where c.owner = w.owner and c.memory_id = w.id and c.space_id = %(space)s {c}
"""
_CONTEXT: Final = """
insert into embedding_context (space_id, owner, memory_id, before_id)
select %(space)s, * from unnest(%(owners)s::text[], %(ids)s::uuid[], %(before)s::uuid[])
returning before_id
"""

# A transaction that edits the memory locks its row, and invalidates this vector: never wait.
_FINISH: Final[LiteralString] = """
with done as (
    select *
    from unnest(%(owners)s::text[], %(ids)s::uuid[], %(tickets)s::text[], %(vectors)s::text[],
        %(starts)s::integer[], %(ends)s::integer[])
        as d(owner, memory_id, ticket, vector, start_char, end_char)
), mine as (
    select e.owner, e.memory_id, d.vector::halfvec as vector, d.start_char, d.end_char
    from embeddings e join done d using (owner, memory_id)
    where e.space_id = %(space)s and e.vector is null {e}
        and e.content_hash || coalesce(e.context_hash, '') = decode(d.ticket, 'hex')
    for update of e skip locked
)
update embeddings e
set vector = mine.vector, start_char = mine.start_char, end_char = mine.end_char, attempts = 0,
    due_at = now(), last_error = null
from mine
where e.owner = mine.owner and e.memory_id = mine.memory_id and e.space_id = %(space)s
    and e.passage = 0 {e}
returning e.owner, e.memory_id
"""
# A change of a memory invalidates its passages. The memory is locked before its row, in the order
# of a change: to add a passage Postgres checks the memory, and must not wait for a transaction that
# waits for the row.
_HOLD_LONG: Final[LiteralString] = """
select m.owner, m.id as memory_id
from unnest(%(owners)s::text[], %(ids)s::uuid[]) d(owner, id)
join memories m on m.owner = d.owner and m.id = d.id {m}
for key share of m skip locked
"""
_ADD_PASSAGES: Final = """
insert into embeddings
    (space_id, owner, memory_id, passage, start_char, end_char, vector)
select %(space)s, d.owner, d.memory_id, d.passage, d.start_char, d.end_char, d.vector::halfvec
from unnest(%(owners)s::text[], %(ids)s::uuid[], %(numbers)s::smallint[], %(starts)s::integer[],
    %(ends)s::integer[], %(vectors)s::text[])
    as d(owner, memory_id, passage, start_char, end_char, vector)
on conflict (owner, memory_id, space_id, passage) do update
set start_char = excluded.start_char, end_char = excluded.end_char, vector = excluded.vector
"""

_ADD_TOKENS: Final = """
insert into token_vectors (space_id, owner, memory_id, passage, block)
select %(space)s, d.owner, d.memory_id, d.passage, d.block
from unnest(%(owners)s::text[], %(ids)s::uuid[], %(numbers)s::smallint[], %(blocks)s::bytea[])
    as d(owner, memory_id, passage, block)
on conflict (owner, memory_id, space_id, passage) do update set block = excluded.block
"""
_SIZE_OF_TOKENS: Final = """
select coalesce(sum(octet_length(t.block)), 0) as bytes from token_vectors t
where t.owner = %(owner)s and t.space_id = %(space)s
"""

# Those of the given jobs that were not changed, erased or finished since.
_MINE: Final[LiteralString] = """
with named as (
    select * from unnest(%(owners)s::text[], %(ids)s::uuid[], %(tickets)s::text[])
        as d(owner, memory_id, ticket)
), mine as (
    select e.owner, e.memory_id, e.attempts
    from embeddings e join named d using (owner, memory_id)
    where e.space_id = %(space)s and e.vector is null {e}
        and e.content_hash || coalesce(e.context_hash, '') = decode(d.ticket, 'hex')
    for update of e skip locked
)
"""

_UNCHANGED: Final[LiteralString] = f"{_MINE} select owner, memory_id from mine"  # noqa: S608  # composed of constants

# Materialized: inlined by Citus, `later` loses a column.
_FAIL: Final[LiteralString] = f"""
{_MINE}, later as materialized (
    select owner, memory_id, {NEXT_DUE} as due_at from mine
)
update embeddings e set last_error = %(error)s, due_at = later.due_at
from later
where e.owner = later.owner and e.memory_id = later.memory_id and e.space_id = %(space)s
    and e.passage = 0 {{e}}
"""  # noqa: S608  # composed of constants

_GIVE_BACK: Final[LiteralString] = f"""
{_MINE}
update embeddings e set attempts = greatest(e.attempts - 1, 0), due_at = now(),
    last_error = case when e.attempts > 1 then '{RELEASED}' end
from mine
where e.owner = mine.owner and e.memory_id = mine.memory_id and e.space_id = %(space)s
    and e.passage = 0 {{e}}
"""  # noqa: S608  # composed of constants
_SET_ERROR: Final = "update spaces set last_error = %(error)s where id = %(space)s"
# A cluster that lost a node cannot write this table.
_HAS_ERROR: Final = "select from spaces where id = %(space)s and last_error is not null"
_CLEAR_ERROR: Final = "update spaces set last_error = null where id = %(space)s"
# A claimed job does not clear the error: only a vector proves that a hosted model works.
_IS_WAITING: Final = """
select from embeddings e
where e.space_id = %(space)s and e.vector is null and e.last_error is null limit 1
"""

# Locked rows are skipped: a transaction that changes one makes it a new job anyway.
_RETRY: Final[LiteralString] = """
with failed as (
    select e.owner, e.memory_id from embeddings e
    where e.space_id = %(space)s and e.vector is null and e.due_at > now()
        and e.last_error is not null {e}
    for update skip locked
)
update embeddings e set attempts = 0, due_at = now()
from failed
where e.owner = failed.owner and e.memory_id = failed.memory_id and e.space_id = %(space)s
    and e.passage = 0 {e}
"""
_FAILED_OWNERS: Final = """
select distinct owner from embeddings
where space_id = %(space)s and vector is null and due_at > now() and last_error is not null
"""

# `rows`: of the memories seen so far, those that are or will be embedded.
_PROGRESS: Final[LiteralString] = """
select count(*) as rows, count(*) filter (where e.vector is null) as pending,
    count(*) filter (where e.vector is null and e.due_at = 'infinity') as parked,
    count(*) filter (where e.vector is null and e.due_at > now() and e.due_at < 'infinity'
        and e.last_error is not null) as failing,
    count(*) filter (where e.vector is null and e.due_at > now() and e.due_at < 'infinity'
        and e.last_error is not null and e.attempts < %(often)s
        and e.due_at <= now() + %(soon)s * interval '1 second') as soon
from embeddings e where e.space_id = %(space)s and e.passage = 0 {e}
"""
_UNSEEN: Final[LiteralString] = """
select count(*) as unseen from memories m join spaces s on s.id = %(space)s
where s.swept_to is not null and (m.owner, m.id) > (s.swept_owner, s.swept_to)
    and not m.is_sensitive and m.deleted_at is null {m}
    and not exists (
        select from embeddings e
        where e.owner = m.owner and e.memory_id = m.id and e.space_id = s.id {e})
"""
_SPACE_ERROR: Final = "select last_error from spaces where id = %(space)s"
_LAST_ERROR: Final[LiteralString] = """
select e.last_error from embeddings e
where e.space_id = %(space)s and e.vector is null and e.last_error is not null {e}
order by e.due_at desc limit 1
"""

_START: Final = "00000000-0000-0000-0000-000000000000"
_END: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"

# is_final: every writer that could not yet see the space has ended. (A transaction number from the
# future is that of another server, from which this database was restored.) Each node of a cluster
# numbers its own transactions: there, enough time must have passed; a writing transaction takes
# seconds.
_ALL_ENDED: Final = """
(pg_snapshot_xmin(pg_current_snapshot()) > opened_in
    or pg_snapshot_xmax(pg_current_snapshot()) <= opened_in)
"""
_LONG_AGO: Final = "opened_at < now() - interval '10 minutes'"
_SWEEP_STATE: Final[LiteralString] = """
select swept_owner, swept_to::text as swept_to, {is_final} as is_final
from spaces
where id = %(space)s and state <> 'retired' and swept_to is not null
for update skip locked
"""
# The lock on a memory delays a change of its sensitivity until this row exists and can be removed.
_SWEEP_SOME: Final = """
with looked_at as materialized (
    select owner, id from memories
    where (owner, id) > (%(swept_owner)s, %(swept_to)s::uuid)
    order by owner, id limit %(sweep)s
), missing as materialized (
    select m.owner, m.id, m.content from looked_at join memories m using (owner, id)
    where not m.is_sensitive and m.deleted_at is null and not exists (
        select from embeddings e
        where e.owner = m.owner and e.memory_id = m.id and e.space_id = %(space)s)
    for key share of m
), added as (
    insert into embeddings (owner, memory_id, space_id, content_hash)
    select owner, id, %(space)s, sha256(convert_to(content, 'UTF8')) from missing
    on conflict (owner, memory_id, space_id, passage) do nothing
)
select owner as swept_owner, id::text as swept_to from looked_at
order by looked_at.owner desc, looked_at.id desc limit 1
"""
# The same on a cluster: rows are found for many owners, and added owner by owner.
_LOOKED_AT: Final = """
select owner, id from memories where (owner, id) > (%(swept_owner)s, %(swept_to)s::uuid)
order by owner, id limit %(sweep)s
"""
_HOLD: Final = """
select from memories m where m.owner = %(owner)s and m.id = any(%(ids)s) order by m.id for key share
"""
_ADD_MISSING: Final = """
insert into embeddings (owner, memory_id, space_id, content_hash)
select m.owner, m.id, %(space)s, sha256(convert_to(m.content, 'UTF8')) from memories m
where m.owner = %(owner)s and m.id = any(%(ids)s) and not m.is_sensitive and m.deleted_at is null
on conflict (owner, memory_id, space_id, passage) do nothing
"""
_SWEPT_TO: Final = """
update spaces set swept_owner = %(swept_owner)s, swept_to = %(swept_to)s::uuid
where id = %(space)s
"""

# Why a text is no longer retried.
_PARKED: Final = """
select coalesce(e.last_error, '') as last_error
from embeddings e
join spaces s on s.id = e.space_id and s.state = 'active'
where e.owner = %(owner)s and e.memory_id = %(id)s and e.vector is null and e.due_at = 'infinity'
"""


_HAS_VECTOR: Final = """
select exists (
    select from embeddings e join spaces s on s.id = e.space_id and s.state = 'active'
    where e.owner = %(owner)s and e.memory_id = %(id)s and e.vector is not null
) as is_embedded
"""


class PostgresVectors(ListeningQueue, SpaceStore, VectorSearch):
    """Implements the ports `EmbeddingQueue` and, with what it inherits, `VectorIndex`; opened and
    closed by its store.
    """

    def __init__(self, pool: Pool, limits: Limits) -> None:
        super().__init__(pool, limits, CHANNEL)

    async def open(self) -> None:
        """Do nothing: the vectors are searched where they are stored."""

    async def send_changes(self) -> None:
        """Do nothing: there is no other copy of the vectors."""

    async def claim(
        self, space: StoredSpace, limit: int, max_bytes: int | None = None
    ) -> list[EmbeddingJob]:
        while True:
            async with self._pool.transaction(WORKER) as connection:
                jobs = await self._claim(connection, space, limit, max_bytes)
            if jobs or not await self.sweep(space):
                return jobs

    async def finish(
        self,
        space: StoredSpace,
        done: Sequence[tuple[EmbeddingJob, Sequence[float]]],
        passages: Passages = NO_PASSAGES,
        tokens: Tokens = NO_TOKENS,
    ) -> int:
        written = 0
        async with self._pool.transaction(WORKER) as connection:
            for owner, part in self._split(done, lambda item: item[0].owner):
                long = [job for job, _ in part if job in passages]
                held = await _hold(connection, space, long, owner) if long else []
                kept = [item for item in part if item[0] not in passages or item[0] in held]
                spans = [passages[job][0].span if job in passages else None for job, _ in kept]
                params = {
                    **_to_params(space, [job for job, _ in kept], owner),
                    "vectors": [vector_text(space.space, vector) for _, vector in kept],
                    "starts": [span and span.start for span in spans],
                    "ends": [span and span.end for span in spans],
                }
                cursor = await connection.execute(limit_to(owner, _FINISH), params)
                written += cursor.rowcount
                mine = {_key_of(row) for row in await cursor.fetchall()}
                finished = [job for job, _ in kept if (job.owner, job.memory_id) in mine]
                await _add_passages(connection, space, finished, passages)
                await _add_tokens(connection, space, finished, tokens)
            if written:
                await _clear_error(connection, space)
        return written

    async def select_unchanged(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob]
    ) -> list[EmbeddingJob]:
        mine: set[Key] = set()
        async with self._pool.transaction(WORKER) as connection:
            for owner, part in self._split(jobs, _owner_of):
                params = _to_params(space, part, owner)
                cursor = await connection.execute(limit_to(owner, _UNCHANGED), params)
                mine |= {_key_of(row) for row in await cursor.fetchall()}
        return [job for job in jobs if (job.owner, job.memory_id) in mine]

    async def fail(self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str) -> None:
        async with self._pool.transaction(WORKER) as connection:
            for owner, part in self._split(jobs, _owner_of):
                params = {**_to_params(space, part, owner), **failure_params(error)}
                await connection.execute(limit_to(owner, _FAIL), params)

    async def give_back(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str | None = None
    ) -> None:
        async with self._pool.transaction(WORKER) as connection:
            for owner, part in self._split(jobs, _owner_of):
                params = _to_params(space, part, owner)
                await connection.execute(limit_to(owner, _GIVE_BACK), params)
            if error is not None:
                failed = {"space": space.id, "error": to_storable(error)}
                await connection.execute(_SET_ERROR, failed)
            elif jobs:  # with an error the model is at fault, and other workers would fail as well
                await notify(connection)

    async def clear_error(self, space: StoredSpace) -> None:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_IS_WAITING, {"space": space.id})
            if await cursor.fetchone() is None:
                await _clear_error(connection, space)

    async def retry_parked(self, space: StoredSpace) -> int:
        async with self._pool.transaction(WORKER) as connection:
            retried = 0
            for owner in await self._owners(connection, _FAILED_OWNERS, {"space": space.id}):
                params = {"space": space.id, "owner": owner}
                retried += (await connection.execute(limit_to(owner, _RETRY), params)).rowcount
            await notify(connection)
            return retried

    async def parked(self, owner: str, id: UUID) -> str | None:
        """Return the last error of a memory that failed too often to be embedded, or None."""
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_PARKED, {"owner": owner, "id": id})
            row = await cursor.fetchone()
        return None if row is None else str(row["last_error"])

    async def has_vector(self, owner: str, id: UUID) -> bool:
        """Return whether a memory has a vector in the active space."""
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_HAS_VECTOR, {"owner": owner, "id": id})
            row = await cursor.fetchone()
        return row is not None and bool(row["is_embedded"])

    async def progress(self, space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
        params = {"space": space.id, "owner": owner, "often": MAX_CRASHES, "soon": SOON}
        who = WORKER if owner is None else owner
        async with self._pool.transaction(who, is_snapshot=True) as connection:

            async def read(statement: LiteralString) -> Mapping[str, Any]:
                cursor = await connection.execute(limit_to(owner, statement), params)
                return await cursor.fetchone() or {"last_error": None}

            row = await read(_PROGRESS)
            unseen = (await read(_UNSEEN))["unseen"]
            last_error = (await read(_SPACE_ERROR))["last_error"]
            if last_error is None:
                last_error = (await read(_LAST_ERROR))["last_error"]
        return EmbeddingProgress(
            embedded=row["rows"] - row["pending"],
            waiting=row["pending"] - row["parked"] + unseen,
            parked=row["parked"],
            last_error=last_error,
            failing=row["failing"],
            soon=row["soon"],
        )

    async def token_bytes(self, space: StoredSpace, owner: str) -> int:
        params = {"space": space.id, "owner": owner}
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(_SIZE_OF_TOKENS, params)
            row = await cursor.fetchone()
        return 0 if row is None else int(row["bytes"])

    async def _claim(
        self, connection: Connection, space: StoredSpace, limit: int, max_bytes: int | None
    ) -> list[EmbeddingJob]:
        while True:
            found = await self._find_due(connection, space, limit, max_bytes)
            if not found:
                return []
            due = sorted(select_batch(found, itemgetter("is_suspect")), key=_key_of)
            contexts: dict[Key, str] = {}
            parked: set[Key] = set()
            for owner, part in self._split(due, itemgetter("owner")):
                turns = {_key_of(row): row["content"] for row in part if row["category"] == EPISODE}
                if turns:
                    contexts |= await _record_contexts(connection, space, turns, owner)
                params = {
                    "space": space.id,
                    "owner": owner,
                    "owners": [row["owner"] for row in part],
                    "ids": [row["memory_id"] for row in part],
                    "hashes": [_hash(contexts.get(_key_of(row))) for row in part],
                    "lease": self._pool.timeouts.lease,
                    "most": MAX_JOB_ATTEMPTS,
                    "worker_died": WORKER_DIED,
                }
                cursor = await connection.execute(limit_to(owner, _CLAIM), params)
                claimed = await cursor.fetchall()
                parked |= {_key_of(row) for row in claimed if row["is_parked"]}
            if len(parked) < len(due):
                return [
                    _to_job(row, contexts.get(_key_of(row)))
                    for row in due
                    if _key_of(row) not in parked
                ]

    async def _find_due(
        self, connection: Connection, space: StoredSpace, limit: int, max_bytes: int | None
    ) -> list[Mapping[str, Any]]:
        """Find and lock due jobs; on a cluster, those of the owners that have waited longest."""
        found: list[Mapping[str, Any]] = []
        limits = {"space": space.id, "owners": _MAX_OWNERS}
        for owner in await self._owners(connection, _DUE_OWNERS, limits):
            params = {"space": space.id, "owner": owner, "limit": limit - len(found)}
            params |= {"max_bytes": max_bytes}
            cursor = await connection.execute(limit_to(owner, _DUE), params)
            found += await cursor.fetchall()
            if len(found) == limit:
                break
        return found

    async def sweep(self, space: StoredSpace) -> bool:
        """Add missing rows for a batch of memories. Returns False if nothing is left to check now.

        A memory whose writer began before the space was opened has no row, and may not be visible
        yet. So a sweep that began while such writers were active is followed by a second one.
        """
        if self._pool.lost_nodes:  # a table that every node has cannot be locked
            return False
        async with self._pool.transaction(WORKER) as connection:
            is_final = _LONG_AGO if self._pool.is_distributed else _ALL_ENDED
            state = _SWEEP_STATE.format(is_final=is_final)
            cursor = await connection.execute(state, {"space": space.id})
            row = await cursor.fetchone()
            if row is None or (row["swept_to"] == _END and not row["is_final"]):
                return False
            start = (row["swept_owner"], row["swept_to"])
            if row["swept_to"] == _END:
                start = ("", _START)
            params = {
                "space": space.id,
                "swept_owner": start[0],
                "swept_to": start[1],
                "sweep": self._limits.sweep,
            }
            if self._pool.is_distributed:
                reached = await _sweep_by_owner(connection, params)
            else:
                reached = await (await connection.execute(_SWEEP_SOME, params)).fetchone()
            done = {"swept_owner": start[0], "swept_to": None if row["is_final"] else _END}
            await connection.execute(_SWEPT_TO, {"space": space.id, **(reached or done)})
            return reached is not None


async def _clear_error(connection: Connection, space: StoredSpace) -> None:
    cursor = await connection.execute(_HAS_ERROR, {"space": space.id})
    if await cursor.fetchone() is not None:
        await connection.execute(_CLEAR_ERROR, {"space": space.id})


async def _hold(
    connection: Connection, space: StoredSpace, jobs: Sequence[EmbeddingJob], owner: str | None
) -> list[EmbeddingJob]:
    """Lock memories until the transaction ends. Returns the jobs whose memories were free."""
    cursor = await connection.execute(limit_to(owner, _HOLD_LONG), _to_params(space, jobs, owner))
    held = {_key_of(row) for row in await cursor.fetchall()}
    return [job for job in jobs if (job.owner, job.memory_id) in held]


async def _add_passages(
    connection: Connection, space: StoredSpace, jobs: Sequence[EmbeddingJob], passages: Passages
) -> None:
    """Add all passages but the first of each memory."""
    rows = [
        (job, number, passage)
        for job in jobs
        for number, passage in enumerate(passages.get(job, ()))
        if number
    ]
    if rows:
        params = {
            **_to_params(space, [job for job, _, _ in rows], None),
            "numbers": [number for _, number, _ in rows],
            "starts": [passage.span.start for _, _, passage in rows],
            "ends": [passage.span.end for _, _, passage in rows],
            "vectors": [vector_text(space.space, passage.vector) for _, _, passage in rows],
        }
        await connection.execute(_ADD_PASSAGES, params)


async def _add_tokens(
    connection: Connection, space: StoredSpace, jobs: Sequence[EmbeddingJob], tokens: Tokens
) -> None:
    rows = [
        (job, number, block) for job in jobs for number, block in enumerate(tokens.get(job, ()))
    ]
    if rows:
        params = {
            **_to_params(space, [job for job, _, _ in rows], None),
            "numbers": [number for _, number, _ in rows],
            "blocks": [block for _, _, block in rows],
        }
        await connection.execute(_ADD_TOKENS, params)


Key = tuple[str, UUID]
"""The owner and the id of a memory."""


def _key_of(row: Mapping[str, Any]) -> Key:
    return row["owner"], row["memory_id"]


def _to_job(row: Mapping[str, Any], context: str | None) -> EmbeddingJob:
    """Put a turn's own text first: a model truncates long texts at the end."""
    text = row["content"] if context is None else f"{row['content']}\n{context}"
    ticket = row["ticket"] + (_hash(context) or b"").hex()
    context_at = None if context is None else len(row["content"])
    return EmbeddingJob(row["memory_id"], row["owner"], ticket, text, context_at)


async def _sweep_by_owner(
    connection: Connection, params: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    cursor = await connection.execute(_LOOKED_AT, params)
    rows = await cursor.fetchall()
    for owner, part in split_by_owner(rows, itemgetter("owner"), is_distributed=True):
        values = {**params, "owner": owner, "ids": [row["id"] for row in part]}
        await connection.execute(_HOLD, values)
        await connection.execute(_ADD_MISSING, values)
    return {"swept_owner": rows[-1]["owner"], "swept_to": str(rows[-1]["id"])} if rows else None


async def _record_contexts(
    connection: Connection, space: StoredSpace, turns: Mapping[Key, str], owner: str | None
) -> dict[Key, str]:
    """Record which turns are embedded with each of these turns, and return their text."""
    params = {
        "space": space.id,
        "owner": owner,
        "owners": [owner for owner, _ in turns],
        "ids": [id for _, id in turns],
        "turns": TURNS_BEFORE,
    }
    await connection.execute(limit_to(owner, _NO_CONTEXT), params)
    cursor = await connection.execute(limit_to(owner, _BEFORE), params)
    before: dict[Key, list[tuple[UUID, str]]] = {}
    for row in await cursor.fetchall():
        before.setdefault(_key_of(row), []).append((row["id"], row["content"]))
    contexts: dict[Key, str] = {}
    parts: list[tuple[str, UUID, UUID]] = []
    for key, earlier in before.items():
        context = context_of(turns[key], [content for _, content in earlier])
        if context:
            contexts[key] = "\n".join(context)
            parts += [(*key, other) for other, _ in earlier[-len(context) :]]
    if parts:
        owners, ids, others = zip(*parts, strict=True)
        columns = {"owners": list(owners), "ids": list(ids), "before": list(others)}
        await connection.execute(_CONTEXT, {"space": space.id, **columns})
    return contexts


def _hash(context: str | None) -> bytes | None:
    return None if context is None else sha256(context.encode()).digest()


def _owner_of(job: EmbeddingJob) -> str:
    return job.owner


def _to_params(
    space: StoredSpace, jobs: Sequence[EmbeddingJob], owner: str | None
) -> dict[str, object]:
    return {
        "space": space.id,
        "owner": owner,
        "owners": [job.owner for job in jobs],
        "ids": [job.memory_id for job in jobs],
        "tickets": [job.ticket for job in jobs],
    }
