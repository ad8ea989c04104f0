"""Which memories were recalled, and which are close to each other by their vectors, in Postgres."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from psycopg import sql

from recollect.adapters.postgres.pool import Pool

_HOLD: Final = """
select m.id from memories m where m.owner = %(owner)s and m.id = any(%(ids)s)
order by m.id for key share
"""
_NOTE: Final = """
insert into recalls (owner, memory_id, recalled_at, times)
select m.owner, m.id, %(at)s, 1 from memories m
where m.owner = %(owner)s and m.id = any(%(ids)s) order by m.id
on conflict (owner, memory_id) do update
set recalled_at = excluded.recalled_at, times = recalls.times + 1
"""
_RECALLED: Final = "select memory_id from recalls where owner = %s"
_SINCE: Final = "select min(since) as since from recalls_kept"
_SPACE: Final = "select id, dimension from spaces where state = 'active'"
# The nearest few of each memory by the index of the space; the cast is the index's own expression.
# Not for texts of several passages: two with the same first sentence may state different things.
_PAIRS: Final = """
select a.memory_id as one, b.memory_id as other, b.cosine
from embeddings a
join memories m on m.owner = a.owner and m.id = a.memory_id and m.deleted_at is null
cross join lateral (
    select e.memory_id, 1 - (e.vector::halfvec({dimension}) <=> a.vector::halfvec({dimension}))
        as cosine
    from embeddings e
    join memories o on o.owner = e.owner and o.id = e.memory_id
    where e.owner = %(owner)s and e.space_id = {space} and e.start_char is null
        and e.vector is not null and o.deleted_at is null
        and o.project is not distinct from m.project and e.memory_id > a.memory_id
    order by e.vector::halfvec({dimension}) <=> a.vector::halfvec({dimension}) limit 5
) b
where a.owner = %(owner)s and a.space_id = {space} and a.start_char is null
    and a.vector is not null
    and b.cosine >= %(at_least)s
"""


class PostgresRecalls:
    """Implements `RecallRecord` and `Neighbours` on the store's own pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def note_recalls(self, owner: str, ids: Collection[UUID], at: datetime) -> None:
        async with self._pool.transaction(owner) as connection:
            # Nothing depends on it, so a crash may lose it.
            await connection.execute("set local synchronous_commit = off")
            params = {"owner": owner, "ids": sorted(ids), "at": at}
            await connection.execute(_HOLD, params)
            await connection.execute(_NOTE, params)

    async def recalled(self, owner: str) -> tuple[set[UUID], datetime]:
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(_RECALLED, (owner,))
            shown = {row["memory_id"] for row in await cursor.fetchall()}
            cursor = await connection.execute(_SINCE)
            row = await cursor.fetchone()
        since = row["since"] if row and row["since"] else datetime.now(UTC)
        return shown, since.astimezone(UTC)

    async def pairs(self, owner: str, at_least: float) -> Sequence[tuple[UUID, UUID, float]]:
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute("select to_regclass('spaces') is not null as there")
            if not (await cursor.fetchone() or {"there": False})["there"]:
                return []
            cursor = await connection.execute(_SPACE)
            space = await cursor.fetchone()
            if space is None:
                return []
            numbers = {"space": int(space["id"]), "dimension": int(space["dimension"])}
            query = sql.SQL(_PAIRS).format(
                **{name: sql.Literal(number) for name, number in numbers.items()}
            )
            cursor = await connection.execute(query, {"owner": owner, "at_least": at_least})
            return [(row["one"], row["other"], row["cosine"]) for row in await cursor.fetchall()]
