"""Memories in Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import sql

from recollect.adapters.files.erasure_log import Erasure
from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.history import links, versions
from recollect.adapters.postgres.history.erasure import ERASE
from recollect.adapters.postgres.history.erasure_ledger import ErasureLedger
from recollect.adapters.postgres.lexical import same_text
from recollect.adapters.postgres.lexical import search as lexical
from recollect.adapters.postgres.lexical.reanalysis import find_outdated, reanalyze
from recollect.adapters.postgres.limits import Limits
from recollect.adapters.postgres.pool import Connection, Pool, retry_on_disconnect
from recollect.adapters.postgres.rows import (
    INSERT_MANY,
    INSERT_MEMORY,
    INSERT_NEW,
    MEMORY_COLUMNS,
    UPDATE_MEMORY,
    Condition,
    from_memory,
    to_json,
    to_memory,
    within,
)
from recollect.adapters.postgres.statistics import Statistics
from recollect.adapters.sql.projects import FORMER, rename
from recollect.core.admin.stats import Stats, count_languages
from recollect.core.memory.duplicates import PlacedText
from recollect.core.memory.ids import SHORTEST, IdPart
from recollect.core.memory.listing import Cursor, Listing, Table
from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.request import Candidate
from recollect.core.recall.settings import WordQuery
from recollect.core.recall.successors import AsOf, Fetched, Resolution

REPLACE = f"{UPDATE_MEMORY} and version = %(based_on)s"

_GET = f"""
select {MEMORY_COLUMNS} from memories m where m.owner = %(owner)s and m.id = %(id)s
"""  # noqa: S608  # composed of constants

_GET_MANY = f"""
select {MEMORY_COLUMNS} from memories m
where m.owner = %(owner)s and m.id = any(%(ids)s) and (%(forgotten)s or m.deleted_at is null)
"""  # noqa: S608  # composed of constants

_LIST = f"""
select {MEMORY_COLUMNS} from memories m where {{where}}{{after}}
order by m.created_at desc, m.id desc limit %(limit)s
"""  # noqa: S608  # composed of constants
_AFTER = " and (m.created_at, m.id) < (%(after_time)s, %(after_id)s)"

_COUNT = "select count(*) as total from memories m where {where}"
_ROWS = f"""
select {MEMORY_COLUMNS} from memories m where {{where}}
order by {{by}} {{order}}, m.id {{order}} offset %(offset)s limit %(limit)s
"""  # noqa: S608  # composed of constants
_SORT = {"created": "m.created_at", "updated": "m.updated_at", "importance": "m.importance"}
_FORGOTTEN = "m.deleted_at is not null"
_HOLDS = "m.content ilike all(%(words)s)"
_SENSITIVE = "m.is_sensitive = %(sensitive)s"
_EXPIRES_AFTER = "m.valid_until > %(expires_after)s"
_EXPIRES_BY = "m.valid_until <= %(expires_by)s"
# Triggers count every change of an owner's memories, for sync (docs/adr/0018).
_LAST_POSITION = "select position from owners where owner = %(owner)s"
_GROWTH = """
select date_trunc('week', created_at at time zone 'UTC')::date as week, count(*) as memories
from memories
where owner = %(owner)s and deleted_at is null
    and created_at >= %(since)s::timestamp at time zone 'UTC'
    and (%(project)s::text is null or project = %(project)s)
group by 1
"""

_IDS_WITH_PREFIX = """
select id from memories
where owner = %(owner)s and id between %(low)s and %(high)s
    and (deleted_at is null or %(forgotten)s)
    and (%(project)s::text is null or project = %(project)s)
order by id limit %(limit)s
"""

_IDS_WITH_ENDINGS = f"""
select id from own_memories
where owner = %(owner)s and right(id::text, {SHORTEST}) = any(%(endings)s)
    and (deleted_at is null or %(forgotten)s)
    and (%(project)s::text is null or project = %(project)s)
order by id
"""  # noqa: S608  # composed of constants

# One index lookup per project, however many memories it has.
_PROJECTS = """
with recursive project (name) as (
    (select m.project from memories m
     where m.owner = %(owner)s and m.deleted_at is null and m.project is not null
     order by m.project limit 1)
    union all
    select (
        select m.project from memories m
        where m.owner = %(owner)s and m.deleted_at is null and m.project > p.name
        order by m.project limit 1
    ) from project p where p.name is not null
)
select name from project where name is not null
"""

_STATS = """
select
    count(*) filter (where deleted_at is null) as memories,
    count(*) filter (where deleted_at is not null) as forgotten,
    count(*) filter (where deleted_at is null and is_sensitive) as sensitive
from memories
where owner = %(owner)s and (%(project)s::text is null or project = %(project)s)
"""

_COUNT_BY = """
select {column} as name, count(*) as memories from memories
where owner = %(owner)s and deleted_at is null and {column} is not null
    and (%(project)s::text is null or project = %(project)s)
group by {column} order by 2 desc, 1
"""


class PostgresMemories(PostgresComponent):
    """Implements the `MemoryStore` port."""

    def __init__(
        self, pool: Pool, limits: Limits, statistics: Statistics, erasures: ErasureLedger
    ) -> None:
        super().__init__(pool, limits)
        self._statistics = statistics
        self._erasures = erasures

    async def add(self, memory: Memory) -> None:
        row = await asyncio.to_thread(from_memory, memory)  # a long text takes a second to analyze
        async with self._pool.transaction(memory.owner) as connection:
            await connection.execute(INSERT_MEMORY, row)
        await self._statistics.count_added(memory.owner, 1)

    async def add_unless_known(self, memory: Memory) -> Memory | None:
        row = await asyncio.to_thread(from_memory, memory)
        async with self._pool.transaction(memory.owner) as connection:
            if (known := await same_text.find(connection, memory)) is not None:
                return known
            await connection.execute(INSERT_MEMORY, row)
        await self._statistics.count_added(memory.owner, 1)
        return None

    @retry_on_disconnect
    async def find_same(self, memories: Sequence[Memory]) -> dict[UUID, Memory]:
        if not memories:
            return {}
        async with self._pool.transaction(memories[0].owner) as connection:
            return await same_text.find_many(connection, memories)

    @retry_on_disconnect
    async def find_removed(
        self, owner: str, texts: Collection[PlacedText]
    ) -> dict[PlacedText, datetime]:
        if not texts:
            return {}
        async with self._pool.transaction(owner) as connection:
            return await same_text.find_removed(connection, owner, texts)

    async def add_many(self, memories: Iterable[Memory]) -> None:
        """Store many new memories at once, all of them or none."""
        await self._insert(INSERT_MANY, memories)

    async def add_all(self, memories: Sequence[Memory]) -> set[UUID]:
        # Of two with the same id, the first wins.
        unique = {(memory.owner, memory.id): memory for memory in reversed(memories)}
        return await self._insert(INSERT_NEW, unique.values())

    async def _insert(self, statement: LiteralString, memories: Iterable[Memory]) -> set[UUID]:
        """Insert memories in one transaction, owner by owner. Returns the ids of those that are
        new.
        """
        by_owner: dict[str, list[Memory]] = {}
        for memory in memories:
            by_owner.setdefault(memory.owner, []).append(memory)
        if not by_owner:
            return set()
        added: dict[str, set[UUID]] = {}
        async with self._pool.transaction(next(iter(by_owner))) as connection:
            for owner, theirs in by_owner.items():
                await self._pool.act_for(connection, owner)
                values = {"owner": owner, "memories": await asyncio.to_thread(to_json, theirs)}
                cursor = await connection.execute(statement, values)
                added[owner] = {row["id"] for row in await cursor.fetchall()}
        for owner, ids in added.items():
            await self._statistics.count_added(owner, len(ids))
        return set().union(*added.values())

    async def maintain(self) -> None:
        """Bring all statistics up to date at once, as after a large import."""
        await self._statistics.maintain()

    async def reanalyze(self, limit: int) -> int:
        """Reanalyze up to `limit` outdated memories. Returns how many were analyzed."""
        if self._pool.lost_nodes:  # all nodes are asked whose memories are outdated
            return 0
        async with self._pool.transaction(WORKER) as connection:
            if (outdated := await find_outdated(connection)) is None:
                return 0
            await self._pool.act_for(connection, outdated.owner)
            done = await reanalyze(connection, outdated, limit)
        if done < limit:  # the last ones of this owner: its words have changed
            await self._statistics.refresh(outdated.owner)
        return done

    @retry_on_disconnect
    async def get(self, owner: str, id: UUID) -> Memory | None:
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_GET, {"owner": owner, "id": id})
            row = await cursor.fetchone()
        return None if row is None else to_memory(row)

    @retry_on_disconnect
    async def get_many(
        self, owner: str, ids: Collection[UUID], *, forgotten: bool = False
    ) -> dict[UUID, Memory]:
        if not ids:
            return {}
        async with self._pool.reading(owner) as connection:
            params = {"owner": owner, "ids": list(ids), "forgotten": forgotten}
            cursor = await connection.execute(_GET_MANY, params)
            return {row["id"]: to_memory(row) for row in await cursor.fetchall()}

    @retry_on_disconnect
    async def versions(self, owner: str, id: UUID) -> list[Memory]:
        async with self._pool.reading(owner) as connection:
            return await versions.former_states(connection, owner, id)

    @retry_on_disconnect
    async def fetch(self, owner: str, ids: Collection[UUID], as_of: AsOf = None) -> Fetched:
        if not ids:
            return Fetched()
        if as_of is None:
            async with self._pool.reading(owner) as connection:
                return await links.fetch(connection, owner, ids)
        async with self._pool.transaction(owner) as connection:
            return await versions.fetch(connection, owner, ids, as_of)

    @retry_on_disconnect
    async def follow(
        self, owner: str, old: Collection[UUID], named: Collection[UUID], as_of: AsOf = None
    ) -> Resolution:
        async with self._pool.transaction(owner) as connection:
            if as_of is not None:
                return await versions.follow(connection, owner, old, named, as_of)
            return await links.follow(connection, owner, old, named)

    @retry_on_disconnect
    async def ids_with_prefix(
        self,
        owner: str,
        prefix: IdPart,
        limit: int,
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        params = {
            "project": project,
            "owner": owner,
            "low": prefix.low,
            "high": prefix.high,
            "forgotten": forgotten,
            "limit": limit,
        }
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_IDS_WITH_PREFIX, params)
            return [row["id"] for row in await cursor.fetchall()]

    @retry_on_disconnect
    async def ids_with_endings(
        self,
        owner: str,
        endings: Collection[str],
        *,
        forgotten: bool,
        project: str | None = None,
    ) -> list[UUID]:
        params = {
            "owner": owner,
            "endings": [*endings],
            "forgotten": forgotten,
            "project": project,
        }
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_IDS_WITH_ENDINGS, params)
            return [row["id"] for row in await cursor.fetchall()]

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        row = await asyncio.to_thread(from_memory, memory)
        async with self._pool.transaction(memory.owner) as connection:
            params = {**row, "based_on": based_on}
            cursor = await connection.execute(REPLACE, params)
            return cursor.rowcount == 1

    async def erase(self, owner: str, id: UUID) -> bool:
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(ERASE, {"owner": owner, "id": id})
            is_erased = await cursor.fetchone() is not None
        if is_erased:
            await self._erasures.note([Erasure(id, owner)])
        return is_erased

    @retry_on_disconnect
    async def page(
        self, owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        condition, params = within(owner, scope)
        if after is not None:
            params |= {"after_time": after.created_at, "after_id": after.id}
        query = _LIST.format(where=condition, after="" if after is None else _AFTER)
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(query, {**params, "limit": limit})
            return [to_memory(row) for row in await cursor.fetchall()]

    @retry_on_disconnect
    async def table(self, owner: str, listing: Listing) -> Table:
        condition, params = within(owner, listing.scope)
        for is_set, clause, name, value in (
            (listing.only_forgotten, _FORGOTTEN, "", None),
            (bool(listing.words), _HOLDS, "words", [_pattern(word) for word in listing.words]),
            (listing.is_sensitive is not None, _SENSITIVE, "sensitive", listing.is_sensitive),
            (
                listing.expires_after is not None,
                _EXPIRES_AFTER,
                "expires_after",
                listing.expires_after,
            ),
            (listing.expires_by is not None, _EXPIRES_BY, "expires_by", listing.expires_by),
        ):
            if is_set:
                condition = Condition(f"{condition} and {clause}")
                params |= {name: value} if name else {}
        rows = _ROWS.format(where=condition, by=_SORT[listing.sort_by], order=listing.order)
        params |= {"offset": listing.offset, "limit": listing.limit}
        async with self._pool.transaction(owner) as connection:
            counted = await (
                await connection.execute(_COUNT.format(where=condition), params)
            ).fetchone()
            cursor = await connection.execute(rows, params)
            memories = tuple(to_memory(row) for row in await cursor.fetchall())
        return Table(memories, counted["total"] if counted else 0)

    @retry_on_disconnect
    async def change_mark(self, owner: str) -> object:
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_LAST_POSITION, {"owner": owner})
            return await cursor.fetchone()

    @retry_on_disconnect
    async def growth(self, owner: str, since: date, project: str | None = None) -> dict[date, int]:
        async with self._pool.reading(owner) as connection:
            params = {"owner": owner, "since": since, "project": project}
            cursor = await connection.execute(_GROWTH, params)
            return {row["week"]: row["memories"] for row in await cursor.fetchall()}

    @retry_on_disconnect
    async def search_words(self, owner: str, scope: Scope, query: WordQuery) -> list[Candidate]:
        condition, params = within(owner, scope, query.exclude)
        async with self._pool.reading(owner) as connection:
            if query.as_of is not None:
                return await versions.search(connection, owner, scope, query, query.as_of)
            return await lexical.search(
                connection,
                query.text,
                lexical.LexicalSearch(condition, params, query.depth, query.is_exhaustive),
                query.expanded,
            )

    @retry_on_disconnect
    async def projects(self, owner: str) -> list[str]:
        async with self._pool.reading(owner) as connection:
            cursor = await connection.execute(_PROJECTS, {"owner": owner})
            return [row["name"] for row in await cursor.fetchall()]

    async def former_names(self, owner: str) -> Mapping[str, str]:
        rows = await self._read(owner, lambda session: session.fetch(FORMER, {"owner": owner}))
        return {row["name"]: row["project"] for row in rows}

    async def rename_project(
        self, owner: str, old: str, new: str, *, by: str | None, at: datetime
    ) -> int:
        return await self._write(owner, lambda session: rename(session, owner, old, new, by, at))

    @retry_on_disconnect
    async def stats(self, owner: str, project: str | None = None) -> Stats:
        params = {"owner": owner, "project": project}
        async with self._pool.transaction(owner) as connection:
            cursor = await connection.execute(_STATS, params)
            totals: dict[str, Any] = await cursor.fetchone() or {}
            return Stats(
                **totals,
                by_category=await _count_by(connection, params, "category"),
                by_project=await _count_by(connection, params, "project"),
                by_language=count_languages(await _count_by(connection, params, "languages")),
            )


def _pattern(word: str) -> str:
    """Return a pattern that matches a text with this word anywhere in it."""
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


async def _count_by(
    connection: Connection, params: Mapping[str, object], column: str
) -> dict[str, int]:
    query = sql.SQL(_COUNT_BY).format(column=sql.Identifier(column))
    cursor = await connection.execute(query, params)
    return {row["name"]: row["memories"] for row in await cursor.fetchall()}
