"""Which memories a space still needs: the rows without a vector are the jobs.

Triggers add such a row with the memory itself, in the same transaction, so nothing acknowledged can
be missing. What was stored before a space was opened is found by a sweep, whenever no job is left.
A claim is a lease that is committed before the model runs: no edit waits for a model, and what a
dead worker held is free again when its lease expires. See docs/adr/0008.

A turn of a conversation is embedded with the turns before it (docs/adr/0029): those of the same
owner, project and session. A claim records whose words these are, and locks them while it does so;
afterwards a change invalidates the ticket, and with it any vector being made of the old words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any, Final
from uuid import UUID

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.listener import ListeningQueue
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.vectors.spaces import CHANNEL, notify
from recollect.adapters.postgres.vectors.text import vector_text
from recollect.core.jobs import (
    DELAY_GROWTH,
    FIRST_DELAY,
    GIVEN_BACK,
    LONGEST_DELAY,
    MAX_ATTEMPTS,
    OFTEN,
    SILENCE,
    SOON,
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

_DUE: Final = """
select e.owner, e.memory_id, encode(e.content_hash, 'hex') as ticket, m.content, m.category,
    e.attempts > 0 and e.last_error is null as is_suspect
from embeddings e
join memories m on m.owner = e.owner and m.id = e.memory_id and not m.is_sensitive
where e.space_id = %(space)s and e.vector is null and e.due_at <= now()
order by e.due_at
limit %(limit)s
for update of e skip locked
"""
# A text that was tried often enough and is due once more has crashed its workers: it is parked. Its
# former error is cleared when it is tried again, so that silence can be told from an answer. Each
# row is written only once: for a second write Postgres would check its memory again, and wait for a
# transaction that edits it and waits for the row.
_CLAIM: Final = """
update embeddings e set
    attempts = e.attempts + 1,
    due_at = case when e.attempts >= %(most)s then 'infinity'
        else now() + %(lease)s * interval '1 second' end,
    context_hash = d.hash,
    last_error = case when e.attempts >= %(most)s then %(silence)s end
from unnest(%(owners)s::text[], %(ids)s::uuid[], %(hashes)s::bytea[]) d(owner, memory_id, hash)
where e.owner = d.owner and e.memory_id = d.memory_id and e.space_id = %(space)s
returning e.owner, e.memory_id, e.due_at = 'infinity' as is_parked
"""
# Turns that are being changed are skipped: without their words the vector is a good one, too. Two
# projects may have a session of one name; no project has an empty name, so the index is used.
_BEFORE: Final = """
select m.owner, m.id as memory_id, b.id, b.content
from unnest(%(owners)s::text[], %(ids)s::uuid[]) w(owner, id)
join memories m on m.owner = w.owner and m.id = w.id
cross join lateral (
    select p.id from memories p
    where p.owner = m.owner and p.session = m.session
        and coalesce(p.project, '') = coalesce(m.project, '') and p.category = 'episode'
        and p.deleted_at is null and (p.created_at, p.id) < (m.created_at, m.id)
    order by p.created_at desc, p.id desc
    limit %(turns)s
) p
join memories b
    on b.owner = m.owner and b.id = p.id and not b.is_sensitive and b.deleted_at is null
order by b.created_at, b.id
for share of b skip locked
"""
_NO_CONTEXT: Final = """
delete from embedding_context c
using unnest(%(owners)s::text[], %(ids)s::uuid[]) w(owner, id)
where c.owner = w.owner and c.memory_id = w.id and c.space_id = %(space)s
"""
_CONTEXT: Final = """
insert into embedding_context (space_id, owner, memory_id, before_id)
select %(space)s, * from unnest(%(owners)s::text[], %(ids)s::uuid[], %(before)s::uuid[])
"""

# A transaction that edits the memory locks its row, and makes this vector worthless: never wait.
_FINISH: Final = """
with done as (
    select *
    from unnest(%(owners)s::text[], %(ids)s::uuid[], %(tickets)s::text[], %(vectors)s::text[])
        as d(owner, memory_id, ticket, vector)
), mine as (
    select e.owner, e.memory_id, d.vector
    from embeddings e join done d using (owner, memory_id)
    where e.space_id = %(space)s and e.vector is null
        and e.content_hash || coalesce(e.context_hash, '') = decode(d.ticket, 'hex')
    for update of e skip locked
)
update embeddings e
set vector = mine.vector::halfvec, attempts = 0, due_at = now(), last_error = null
from mine
where e.owner = mine.owner and e.memory_id = mine.memory_id and e.space_id = %(space)s
"""

# Of the given jobs, those that were not changed, erased or finished since.
_MINE: Final = """
with named as (
    select * from unnest(%(owners)s::text[], %(ids)s::uuid[], %(tickets)s::text[])
        as d(owner, memory_id, ticket)
), mine as (
    select e.owner, e.memory_id from embeddings e join named d using (owner, memory_id)
    where e.space_id = %(space)s and e.vector is null
        and e.content_hash || coalesce(e.context_hash, '') = decode(d.ticket, 'hex')
    for update of e skip locked
)
"""

_UNCHANGED: Final = f"{_MINE} select owner, memory_id from mine"  # noqa: S608  # composed of constants

_FAIL: Final = f"""
{_MINE}
update embeddings e
set last_error = %(error)s,
    due_at = case when e.attempts >= %(most)s then 'infinity'
        else now() + interval '1 second'
            * least(%(first)s * %(growth)s ^ greatest(e.attempts - 1, 0), %(longest)s) end
from mine
where e.owner = mine.owner and e.memory_id = mine.memory_id and e.space_id = %(space)s
"""  # noqa: S608  # composed of constants

_GIVE_BACK: Final = f"""
{_MINE}
update embeddings e set attempts = greatest(e.attempts - 1, 0), due_at = now(),
    last_error = case when e.attempts > 1 then '{GIVEN_BACK}' end
from mine
where e.owner = mine.owner and e.memory_id = mine.memory_id and e.space_id = %(space)s
"""  # noqa: S608  # composed of constants
_SET_ERROR: Final = "update spaces set last_error = %(error)s where id = %(space)s"
_CLEAR_ERROR: Final = """
update spaces set last_error = null where id = %(space)s and last_error is not null
"""
# A claimed job is no answer yet: a hosted model is known to work only by its vectors.
_RECOVERED: Final = """
update spaces s set last_error = null
where s.id = %(space)s and s.last_error is not null and not exists (
    select from embeddings e
    where e.space_id = s.id and e.vector is null and e.last_error is null
)
"""

# A transaction that changes one makes a new job of it anyway.
_RETRY: Final = """
with failed as (
    select owner, memory_id from embeddings
    where space_id = %(space)s and vector is null and due_at > now() and last_error is not null
    for update skip locked
)
update embeddings e set attempts = 0, due_at = now()
from failed
where e.owner = failed.owner and e.memory_id = failed.memory_id and e.space_id = %(space)s
"""

# Of one owner, or of all. `rows` is what is or will be embedded of what has been seen.
_PROGRESS: Final = """
with of as materialized (
    select e.vector is null as pending, e.due_at, e.attempts, e.last_error
    from embeddings e
    where e.space_id = %(space)s and (%(owner)s::text is null or e.owner = %(owner)s)
)
select
    (select count(*) from of) as rows,
    (select count(*) from of where pending) as pending,
    (select count(*) from of where pending and due_at = 'infinity') as parked,
    (select count(*) from memories m join spaces s on s.id = %(space)s
        where s.swept_to is not null and (m.owner, m.id) > (s.swept_owner, s.swept_to)
            and not m.is_sensitive and m.deleted_at is null
            and (%(owner)s::text is null or m.owner = %(owner)s)
            and not exists (
                select from embeddings e
                where e.owner = m.owner and e.memory_id = m.id and e.space_id = s.id
            )) as unseen,
    coalesce(
        (select last_error from spaces where id = %(space)s),
        (select last_error from of
            where pending and last_error is not null
            order by due_at desc limit 1)) as last_error,
    f.failing, f.soon
from (
    select count(*) as failing, count(*) filter (
        where attempts < %(often)s and due_at <= now() + %(soon)s * interval '1 second') as soon
    from of
    where pending and due_at > now() and due_at < 'infinity' and last_error is not null
) f
"""

_START: Final = "00000000-0000-0000-0000-000000000000"
_END: Final = "ffffffff-ffff-ffff-ffff-ffffffffffff"

# is_final: every writer that could not yet see the space has ended. (A transaction number from the
# future is another server's, from which this database was restored.)
_SWEEP_STATE: Final = """
select swept_owner, swept_to::text as swept_to,
    (pg_snapshot_xmin(pg_current_snapshot()) > opened_in
        or pg_snapshot_xmax(pg_current_snapshot()) <= opened_in) as is_final
from spaces
where id = %(space)s and state <> 'retired' and swept_to is not null
for update skip locked
"""
# The lock on a memory delays a change of its sensitivity until this row is there to be removed.
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
    on conflict (owner, memory_id, space_id) do nothing
)
select owner as swept_owner, id::text as swept_to from looked_at
order by looked_at.owner desc, looked_at.id desc limit 1
"""
_SWEPT_TO: Final = """
update spaces set swept_owner = %(swept_owner)s, swept_to = %(swept_to)s::uuid
where id = %(space)s
"""

# Why a text is not tried any more.
_PARKED: Final = """
select coalesce(e.last_error, '') as last_error
from embeddings e
join spaces s on s.id = e.space_id and s.state = 'active'
where e.owner = %(owner)s and e.memory_id = %(id)s and e.vector is null and e.due_at = 'infinity'
"""


class EmbeddingQueue(ListeningQueue):
    """Implements the queue of the `EmbeddingQueue` port."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        super().__init__(pool, limits, CHANNEL)

    async def claim(self, space: StoredSpace, limit: int) -> list[EmbeddingJob]:
        while True:
            async with self._pool.transaction(WORKER) as connection:
                jobs = await self._claim(connection, space, limit)
            if jobs or not await self.sweep(space):
                return jobs

    async def finish(
        self, space: StoredSpace, done: Sequence[tuple[EmbeddingJob, Sequence[float]]]
    ) -> int:
        params = {
            **_to_params(space, [job for job, _ in done]),
            "vectors": [vector_text(space.space, vector) for _, vector in done],
        }
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_FINISH, params)
            if cursor.rowcount:
                await connection.execute(_CLEAR_ERROR, {"space": space.id})
            return cursor.rowcount

    async def unchanged(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob]
    ) -> list[EmbeddingJob]:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_UNCHANGED, _to_params(space, jobs))
            mine = {_key_of(row) for row in await cursor.fetchall()}
        return [job for job in jobs if (job.owner, job.memory_id) in mine]

    async def fail(self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str) -> None:
        params = {
            **_to_params(space, jobs),
            "error": to_storable(error),
            "most": MAX_ATTEMPTS,
            "first": FIRST_DELAY,
            "growth": DELAY_GROWTH,
            "longest": LONGEST_DELAY,
        }
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_FAIL, params)

    async def give_back(
        self, space: StoredSpace, jobs: Sequence[EmbeddingJob], error: str | None = None
    ) -> None:
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_GIVE_BACK, _to_params(space, jobs))
            if error is not None:
                params = {"space": space.id, "error": to_storable(error)}
                await connection.execute(_SET_ERROR, params)
            elif jobs:  # when the model is at fault, others would fail too
                await notify(connection)

    async def recovered(self, space: StoredSpace) -> None:
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_RECOVERED, {"space": space.id})

    async def retry_parked(self, space: StoredSpace) -> int:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_RETRY, {"space": space.id})
            await notify(connection)
            return cursor.rowcount

    async def parked(self, owner: str, id: UUID) -> str | None:
        """The last error of a memory that failed too often to be embedded; None when it did not."""
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_PARKED, {"owner": owner, "id": id})
            row = await cursor.fetchone()
        return None if row is None else str(row["last_error"])

    async def progress(self, space: StoredSpace, owner: str | None = None) -> EmbeddingProgress:
        params = {"space": space.id, "owner": owner, "often": OFTEN, "soon": SOON}
        async with self._pool.transaction(WORKER if owner is None else owner) as connection:
            cursor = await connection.execute(_PROGRESS, params)
            row = await cursor.fetchone() or {}
        return EmbeddingProgress(
            embedded=row["rows"] - row["pending"],
            waiting=row["pending"] - row["parked"] + row["unseen"],
            parked=row["parked"],
            last_error=row["last_error"],
            failing=row["failing"],
            soon=row["soon"],
        )

    async def _claim(
        self, connection: Connection, space: StoredSpace, limit: int
    ) -> list[EmbeddingJob]:
        while True:
            cursor = await connection.execute(_DUE, {"space": space.id, "limit": limit})
            found = await cursor.fetchall()
            if not found:
                return []
            due = sorted(select_batch(found, itemgetter("is_suspect")), key=_key_of)
            turns = {_key_of(row): row["content"] for row in due if row["category"] == EPISODE}
            contexts = await _record_contexts(connection, space, turns) if turns else {}
            params = {
                "space": space.id,
                "owners": [row["owner"] for row in due],
                "ids": [row["memory_id"] for row in due],
                "hashes": [_hash(contexts.get(_key_of(row))) for row in due],
                "lease": self._pool.timeouts.lease,
                "most": MAX_ATTEMPTS,
                "silence": SILENCE,
            }
            claimed = await (await connection.execute(_CLAIM, params)).fetchall()
            parked = {_key_of(row) for row in claimed if row["is_parked"]}
            if len(parked) < len(due):
                return [
                    _to_job(row, contexts.get(_key_of(row)))
                    for row in due
                    if _key_of(row) not in parked
                ]

    async def sweep(self, space: StoredSpace) -> bool:
        """Add the rows that some more memories lack; False when there is nothing to look at now.

        A memory whose writer began before the space was opened has no row, and may not be visible
        yet. So a sweep that began while such writers were active is followed by a second one.
        """
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_SWEEP_STATE, {"space": space.id})
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
            cursor = await connection.execute(_SWEEP_SOME, params)
            reached = await cursor.fetchone()
            done = {"swept_owner": start[0], "swept_to": None if row["is_final"] else _END}
            await connection.execute(_SWEPT_TO, {"space": space.id, **(reached or done)})
            return reached is not None


Key = tuple[str, UUID]
"""The owner and the id of a memory."""


def _key_of(row: Mapping[str, Any]) -> Key:
    return row["owner"], row["memory_id"]


def _to_job(row: Mapping[str, Any], context: str | None) -> EmbeddingJob:
    """A turn's own words come first: of a long text, a model leaves out the end."""
    text = row["content"] if context is None else f"{row['content']}\n{context}"
    ticket = row["ticket"] + (_hash(context) or b"").hex()
    return EmbeddingJob(row["memory_id"], row["owner"], ticket, text)


async def _record_contexts(
    connection: Connection, space: StoredSpace, turns: Mapping[Key, str]
) -> dict[Key, str]:
    """What is embedded with each of these turns, after recording whose words these are."""
    params = {
        "space": space.id,
        "owners": [owner for owner, _ in turns],
        "ids": [id for _, id in turns],
        "turns": TURNS_BEFORE,
    }
    await connection.execute(_NO_CONTEXT, params)
    cursor = await connection.execute(_BEFORE, params)
    before: dict[Key, list[tuple[UUID, str]]] = {}
    for row in await cursor.fetchall():
        before.setdefault(_key_of(row), []).append((row["id"], row["content"]))
    contexts: dict[Key, str] = {}
    parts: list[tuple[str, UUID, UUID]] = []
    for key, said in before.items():
        kept = context_of(turns[key], [content for _, content in said])
        if kept:
            contexts[key] = "\n".join(kept)
            parts += [(*key, other) for other, _ in said[-len(kept) :]]
    if parts:
        owners, ids, others = zip(*parts, strict=True)
        columns = {"owners": list(owners), "ids": list(ids), "before": list(others)}
        await connection.execute(_CONTEXT, {"space": space.id, **columns})
    return contexts


def _hash(context: str | None) -> bytes | None:
    return None if context is None else sha256(context.encode()).digest()


def _to_params(space: StoredSpace, jobs: Sequence[EmbeddingJob]) -> dict[str, object]:
    return {
        "space": space.id,
        "owners": [job.owner for job in jobs],
        "ids": [job.memory_id for job in jobs],
        "tickets": [job.ticket for job in jobs],
    }
