"""Memories, keys and run-time settings in Postgres.

Every method is one transaction on a pooled connection. No statement is prepared, so the store works
behind a transaction-pooling PgBouncer as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from psycopg import sql
from psycopg.types.json import Jsonb

from recollect.adapters.postgres import lexical, links, patience, versions
from recollect.adapters.postgres.again import again_if_lost
from recollect.adapters.postgres.changes import PostgresChanges
from recollect.adapters.postgres.erasure import ERASE
from recollect.adapters.postgres.fusion import PostgresFuser
from recollect.adapters.postgres.graph import PostgresGraph
from recollect.adapters.postgres.migrate import migrate
from recollect.adapters.postgres.owner_erasure import PostgresOwnerErasure
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.recalls import PostgresRecalls
from recollect.adapters.postgres.rows import (
    INSERT_MEMORY,
    INSERT_NEW,
    MEMORY_COLUMNS,
    UPDATE_MEMORY,
    from_memory,
    to_json,
    to_key,
    to_memory,
    to_setting_change,
    within,
)
from recollect.adapters.postgres.statistics import Statistics
from recollect.adapters.postgres.vectors import LEASE, PostgresVectors
from recollect.core.following import AsOf, Fetched, Followed
from recollect.core.ids import IdPrefix
from recollect.core.keys import Key
from recollect.core.memory import Memory, Scope, Stats
from recollect.core.paging import Cursor
from recollect.core.recall import Candidate
from recollect.core.recall_settings import SettingChange
from recollect.core.text import clean_query
from recollect.ports import WordQuery

_ADD_MANY = """
copy memories (id, owner, content, category, tags, expanded_keywords, importance, is_sensitive,
    project, session, version, created_at, updated_at, deleted_at, links) from stdin
"""

_REPLACE = f"{UPDATE_MEMORY} and version = %(based_on)s"

_GET = f"select {MEMORY_COLUMNS} from memories m where m.owner = %s and m.id = %s"  # noqa: S608  # composed of constants

_GET_MANY = f"""
select {MEMORY_COLUMNS} from memories m
where m.owner = %s and m.id = any(%s) and (%s or m.deleted_at is null)
"""  # noqa: S608  # composed of constants

_LIST = f"""
select {MEMORY_COLUMNS} from memories m where {{where}}{{after}}
order by m.created_at desc, m.id desc limit %(limit)s
"""  # noqa: S608  # composed of constants
_AFTER = " and (m.created_at, m.id) < (%(after_time)s, %(after_id)s)"

_IDS_WITH_PREFIX = """
select id from memories
where owner = %(owner)s and id between %(low)s and %(high)s
    and (deleted_at is null or %(forgotten)s)
order by id limit %(limit)s
"""

_STATS = """
select
    count(*) filter (where deleted_at is null) as memories,
    count(*) filter (where deleted_at is not null) as forgotten,
    count(*) filter (where deleted_at is null and is_sensitive) as sensitive
from memories where owner = %(owner)s
"""

_COUNT_BY = """
select {column} as name, count(*) as memories from memories
where owner = %(owner)s and deleted_at is null and {column} is not null
group by {column} order by 2 desc, 1
"""

# Readers go on; two writers queue, so that each logs the value it really replaced.
_LOCK_SETTINGS = "lock table settings in share row exclusive mode"

# Before the value is written, while the old one is still there.
_LOG_SETTING = """
insert into settings_audit (name, old_value, new_value, changed_by, changed_at)
select %(name)s, (select s.value from settings s where s.name = %(name)s), %(value)s, %(by)s, %(at)s
where not exists (select from settings s where s.name = %(name)s and s.value = %(value)s)
"""

_SETTINGS_LOG = "select * from settings_audit order by number desc limit %s"

_WRITE_SETTING = """
insert into settings (name, value) values (%(name)s, %(value)s)
on conflict (name) do update set value = excluded.value
"""

_ADD_KEY = """
insert into keys (id, owner, digest, label, created_at, revoked_at)
values (%(id)s, %(owner)s, %(digest)s, %(label)s, %(created_at)s, %(revoked_at)s)
"""


class PostgresStore:
    """The stores' ports on one database; use as an async context manager.

    `vectors` is None where Postgres has no place for them, and `vector_note` says why.
    """

    def __init__(self, url: str, *, connections: int = 10, lease: float = LEASE) -> None:
        """`lease`: seconds a worker may take for what it claimed before others may take it."""
        self.vectors: PostgresVectors | None = None
        self.graph: PostgresGraph
        self.vector_note = ""
        self._url = url = patience.probed(url)
        self._lease = lease
        self._pool = Pool(url, connections)
        self._transaction, self._reading = self._pool.transaction, self._pool.reading
        self._statistics = Statistics(self._transaction)
        self.fuser = PostgresFuser(self._transaction)
        self.changes = PostgresChanges(self._transaction, self._statistics)
        self.recalls = PostgresRecalls(self._transaction)
        self.eraser = PostgresOwnerErasure(url, self._transaction, self._statistics)

    async def __aenter__(self) -> Self:
        self.vector_note = await asyncio.to_thread(migrate, self._url)
        await self._pool.open()
        if not self.vector_note:
            self.vectors = PostgresVectors(
                self._url, self._transaction, self._reading, lease=self._lease
            )
        self.graph = PostgresGraph(
            self._url,
            self._transaction,
            self._reading,
            lease=self._lease,
            has_vectors=not self.vector_note,
        )
        try:
            await self._statistics.open()
        except BaseException:
            await self._pool.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.vectors is not None:
            await self.vectors.close()
        await self.graph.close()
        await self._statistics.close()
        await self._pool.close()

    async def add(self, memory: Memory) -> None:
        async with self._transaction() as connection:
            await connection.execute(INSERT_MEMORY, from_memory(memory))
        await self._statistics.added(1)

    async def add_many(self, memories: Iterable[Memory]) -> None:
        """Keep many new memories at once, all of them or none."""
        rows = [tuple(from_memory(memory).values()) for memory in memories]
        async with (
            self._transaction() as connection,
            connection.cursor() as cursor,
            cursor.copy(_ADD_MANY) as copy,
        ):
            for row in rows:
                await copy.write_row(row)
        await self._statistics.added(len(rows))

    async def add_all(self, memories: Sequence[Memory]) -> set[UUID]:
        # Of two with the same id, the first.
        rows = to_json({memory.id: memory for memory in reversed(memories)}.values())
        async with self._transaction() as connection:
            cursor = await connection.execute(INSERT_NEW, {"memories": rows})
            kept: set[UUID] = {row["id"] for row in await cursor.fetchall()}
        await self._statistics.added(len(kept))
        return kept

    async def maintain(self) -> None:
        """Bring all statistics up to date at once, as after a large import."""
        await self._statistics.maintain()

    @again_if_lost
    async def get(self, owner: str, id: UUID) -> Memory | None:
        async with self._reading() as connection:
            cursor = await connection.execute(_GET, (owner, id))
            row = await cursor.fetchone()
        return None if row is None else to_memory(row)

    @again_if_lost
    async def get_many(
        self, owner: str, ids: Collection[UUID], *, forgotten: bool = False
    ) -> dict[UUID, Memory]:
        if not ids:
            return {}
        async with self._reading() as connection:
            cursor = await connection.execute(_GET_MANY, (owner, list(ids), forgotten))
            return {row["id"]: to_memory(row) for row in await cursor.fetchall()}

    @again_if_lost
    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
        if not ids:
            return Fetched()
        if as_of is None:
            async with self._reading() as connection:
                return await links.fetch(connection, owner, ids)
        async with self._transaction() as connection:
            return await versions.fetch(connection, owner, ids, as_of)

    @again_if_lost
    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Followed:
        async with self._transaction() as connection:
            if as_of is not None:
                return await versions.follow(connection, owner, old, named, as_of)
            return await links.follow(connection, owner, old, named)

    @again_if_lost
    async def ids_with_prefix(
        self, owner: str, prefix: IdPrefix, limit: int, *, forgotten: bool
    ) -> list[UUID]:
        params = {
            "owner": owner,
            "low": prefix.low,
            "high": prefix.high,
            "forgotten": forgotten,
            "limit": limit,
        }
        async with self._reading() as connection:
            cursor = await connection.execute(_IDS_WITH_PREFIX, params)
            return [row["id"] for row in await cursor.fetchall()]

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        async with self._transaction() as connection:
            params = {**from_memory(memory), "based_on": based_on}
            cursor = await connection.execute(_REPLACE, params)
            return cursor.rowcount == 1

    async def erase(self, owner: str, id: UUID) -> bool:
        async with self._transaction() as connection:
            cursor = await connection.execute(ERASE, {"owner": owner, "id": id})
            return await cursor.fetchone() is not None

    @again_if_lost
    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        condition, params = within(owner, scope)
        if after is not None:
            params |= {"after_time": after.created_at, "after_id": after.id}
        query = _LIST.format(where=condition, after="" if after is None else _AFTER)
        async with self._reading() as connection:
            cursor = await connection.execute(query, {**params, "limit": limit})
            return [to_memory(row) for row in await cursor.fetchall()]

    @again_if_lost
    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        condition, params = within(owner, scope, query.exclude)
        async with self._reading() as connection:
            if query.as_of is not None:
                return await versions.search(connection, owner, scope, query, query.as_of)
            return await lexical.search(
                connection,
                clean_query(f"{query.text} {query.expanded}"),
                where=condition,
                params=params,
                depth=query.depth,
                ranking=query.ranking,
            )

    async def stats(self, owner: str) -> Stats:
        async with self._transaction() as connection:
            cursor = await connection.execute(_STATS, {"owner": owner})
            totals: dict[str, Any] = await cursor.fetchone() or {}
            return Stats(
                **totals,
                by_category=await _count_by(connection, owner, "category"),
                by_project=await _count_by(connection, owner, "project"),
            )

    @again_if_lost
    async def read_settings(self) -> Mapping[str, object]:
        async with self._reading() as connection:
            cursor = await connection.execute("select name, value from settings")
            return {row["name"]: row["value"] for row in await cursor.fetchall()}

    async def write_settings(self, changes: Mapping[str, object], *, by: str, at: datetime) -> None:
        rows = [
            {"name": name, "value": Jsonb(value), "by": by, "at": at}
            for name, value in changes.items()
        ]
        async with self._transaction() as connection, connection.cursor() as cursor:
            await cursor.execute(_LOCK_SETTINGS)
            await cursor.executemany(_LOG_SETTING, rows)
            await cursor.executemany(_WRITE_SETTING, rows)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        async with self._reading() as connection:
            cursor = await connection.execute(_SETTINGS_LOG, (limit,))
            return [to_setting_change(row) for row in await cursor.fetchall()]

    async def add_key(self, key: Key) -> None:
        async with self._transaction() as connection:
            await connection.execute(_ADD_KEY, asdict(key))

    async def add_first_key(self, key: Key) -> bool:
        async with self._transaction() as connection:
            await connection.execute("lock table keys in share row exclusive mode")
            cursor = await connection.execute("select from keys limit 1")
            if await cursor.fetchone() is not None:
                return False
            await connection.execute(_ADD_KEY, asdict(key))
            return True

    @again_if_lost
    async def find_key(self, digest: bytes) -> Key | None:
        async with self._reading() as connection:
            cursor = await connection.execute("select * from keys where digest = %s", (digest,))
            row = await cursor.fetchone()
        return None if row is None else to_key(row)

    async def list_keys(self) -> list[Key]:
        async with self._reading() as connection:
            cursor = await connection.execute("select * from keys order by created_at, id")
            return [to_key(row) for row in await cursor.fetchall()]

    async def revoke_key(self, id: UUID, at: datetime) -> bool:
        async with self._transaction() as connection:
            cursor = await connection.execute(
                "update keys set revoked_at = %s where id = %s and revoked_at is null", (at, id)
            )
            return cursor.rowcount == 1


async def _count_by(connection: Connection, owner: str, column: str) -> dict[str, int]:
    query = sql.SQL(_COUNT_BY).format(column=sql.Identifier(column))
    cursor = await connection.execute(query, {"owner": owner})
    return {row["name"]: row["memories"] for row in await cursor.fetchall()}
