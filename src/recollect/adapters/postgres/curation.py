"""Which memories to examine for proposals, in Postgres.

This is computed from the positions of `changes`, which sync maintains: an owner has work when its
last position is past the examined one. So storing a memory costs nothing extra.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, LiteralString

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.component import PostgresComponent, find_reachable_owners
from recollect.adapters.postgres.distribution import limit_to
from recollect.adapters.postgres.memories import REPLACE
from recollect.adapters.postgres.pool import retry_on_disconnect
from recollect.adapters.postgres.rows import MEMORY_COLUMNS, from_memory, to_memory
from recollect.adapters.sql.curation import SqlCuration
from recollect.ports.curation import ChangedMemories

_BEHIND: Final[LiteralString] = """
select o.owner, o.position, coalesce(c.position, 0) as examined
from owners o left join curation_progress c on c.owner = o.owner
where o.position > coalesce(c.position, 0) {o} order by o.owner limit 1
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
# A call is counted before it is made, so that a call that crashes counts, too.
_SPEND: Final = """
insert into curation_budget as b (day, calls)
values ((now() at time zone 'utc')::date, 1)
on conflict (day) do update set calls = b.calls + 1 where b.calls < %(most)s
"""


class PostgresCuration(SqlCuration, PostgresComponent):
    """Implements the `CurationStore` port."""

    _replace = REPLACE
    _to_row = staticmethod(from_memory)

    @retry_on_disconnect
    async def find_changed(self, limit: int) -> ChangedMemories | None:
        behind = None
        async with self._pool.reading(WORKER) as connection:
            owners: Sequence[str | None] = [None]
            if lost := self._pool.lost_nodes:
                owners = await find_reachable_owners(connection, lost)
            for owner in owners:
                cursor = await connection.execute(limit_to(owner, _BEHIND), {"owner": owner})
                if (behind := await cursor.fetchone()) is not None:
                    break
        if behind is None:
            return None
        return await self.read_changed(
            behind["owner"], behind["examined"], behind["position"], limit
        )

    async def read_changed(
        self, owner: str, examined: int, last: int, limit: int
    ) -> ChangedMemories:
        """Return an owner's memories that changed after `examined`, up to `last`."""
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

    async def spend(self, most: int) -> bool:
        if most < 1:
            return False
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_SPEND, {"most": most})
            return cursor.rowcount == 1

    async def wait_for_work(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
