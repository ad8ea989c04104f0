"""Erase all data of one owner on a server, and search the database for what is left.

The search takes the tables from the catalog, so that a table added later is searched as well. It
also searches the planner's statistics, which quote values of the tables, if the login is a
superuser: for tables with row-level security Postgres shows them to no one else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, LiteralString

from psycopg import sql

from recollect.adapters.files.erasure_log import Erasure
from recollect.adapters.files.file_search import search_files
from recollect.adapters.postgres.access import ADMIN, WORKER
from recollect.adapters.postgres.history.erasure import LEFT_IN_FILES, remove_traces
from recollect.adapters.postgres.history.erasure_ledger import ErasureLedger
from recollect.adapters.postgres.pool import Connection, Pool
from recollect.adapters.postgres.vectors.hnsw import drop_owner_indexes
from recollect.core.privacy.erasure import Erased, Marks, Remain
from recollect.core.text.terms import analyze

_COUNTS: Final = """
select (select count(*) from changes where owner = %(owner)s and erased_at is not null) as reported,
    (select count(*) from keys where owner = %(owner)s and revoked_at is null) as keys
"""
_UNSCRUBBED: Final = (
    "the data files and the write-ahead log of the server still hold the bytes. To remove them, "
    "run `recollect erase --server` for this owner on the server's machine."
)
# owner: settings have no owner, but record who changed them.
_COLUMNS: Final = """
select c.relname as table, a.attname as column, t.typname = 'uuid' as is_id,
    t.typname in ('text', '_text', 'jsonb') as is_text,
    (select max(o.attname) from pg_attribute o where o.attrelid = c.oid
        and o.attname in ('owner', 'changed_by') and not o.attisdropped) as owner
from pg_attribute a
join pg_class c on c.oid = a.attrelid
join pg_namespace n on n.oid = c.relnamespace
join pg_type t on t.oid = a.atttypid
where n.nspname = current_schema() and c.relkind in ('r', 'p', 'm')
    and a.attnum > 0 and not a.attisdropped
order by 1, a.attnum
"""
# Where only an id remains, so that synced clients learn of the erasure.
_TOMBSTONES: Final = ("changes", "memory_id")
# Where the owner of a row is known, rows of other owners are skipped.
_HOLDS_ID: Final = """
select count(*) as rows from {table} t
where t.{column} = any(%(ids)s) and coalesce({whose} = %(owner)s, true)
"""
_HOLDS_TEXT: Final = """
select count(*) as rows from {table} t
where coalesce({whose} = %(owner)s, true)
    and (exists (select from unnest(%(needles)s::text[]) n
        where strpos(lower(t.{column}::text), lower(n)) > 0)
        or t.{column}::text = any(%(stems)s))
"""
# The words as they appear in the index and its frequencies.
_STEMS: Final = """
select s as stem from unnest(%(lexemes)s::text[]) s
where length(s) > 4 and s !~ '^[0-9.,+-]*$'
"""
# Those that another memory contains. The join order, memories to words, is the one Citus accepts.
_HELD_STEMS: Final = """
select distinct s.stem from memories m
join unnest(%(stems)s::text[]) s (stem) on m.search_vector @@ quote_literal(s.stem)::tsquery
"""
_OTHERS: Final = """
select distinct n.needle from {table} t
join unnest(%(needles)s::text[]) n (needle)
    on strpos(lower(t.{column}::text), lower(n.needle)) > 0
where {whose} <> %(owner)s
"""
# For tables with row-level security only a superuser sees them.
_SHOWS_STATISTICS: Final = "select not row_security_active('memories') as is_shown"
_STATISTICS: Final = """
select tablename || '.' || attname as name from pg_stats
where schemaname = current_schema() and exists (select from unnest(%(needles)s::text[]) n
    where strpos(lower(concat_ws(' ', most_common_vals::text, histogram_bounds::text,
        most_common_elems::text)), lower(n)) > 0)
"""


class PostgresOwnerErasure:
    """Implements the `OwnerEraser` port."""

    def __init__(
        self,
        pool: Pool,
        remembered: ErasureLedger,
        files: Path | None,
        *,
        is_light: bool = False,
        send_changes: Callable[[], Awaitable[None]],
    ) -> None:
        """`files`: those of the cluster, if it is our own. They are cleaned and searched as well,
        unless `is_light`: owners may request an erasure often and must not slow down the server.
        """
        self._files = None if is_light else files
        self._is_light = is_light
        self._send_changes = send_changes
        self._unsearched = "" if self._files else _UNSCRUBBED if files else LEFT_IN_FILES
        self._cleaning = asyncio.Lock()
        self._remembered = remembered
        self._pool = pool

    @property
    def unsearched(self) -> str:
        return self._unsearched

    async def erase_owner(self, owner: str) -> Erased:
        async with self._pool.transaction(owner) as connection:
            # All rows are locked first, in the order that every writer uses.
            locked = "select from memories where owner = %s order by id for update"
            await connection.execute(locked, (owner,))
            deleted = "delete from memories where owner = %s returning id"
            cursor = await connection.execute(deleted, (owner,))
            erased_ids = [row["id"] for row in await cursor.fetchall()]
            await connection.execute("delete from revisions where owner = %s", (owner,))
            await connection.execute("delete from lexeme_stats where owner = %s", (owner,))
            await connection.execute("delete from former_names where owner = %s", (owner,))
            await self._pool.act_for(connection, WORKER)
            await connection.execute(
                "update settings_audit set changed_by = '' where changed_by = %s", (owner,)
            )
            cursor = await connection.execute(_COUNTS, {"owner": owner})
            counts = await cursor.fetchone() or {"reported": 0, "keys": 0}
        await self._remembered.note([Erasure(id, owner) for id in erased_ids])
        await self._send_changes()
        if erased_ids or not self._is_light:
            async with self._cleaning:
                await drop_owner_indexes(self._pool, owner)
                await remove_traces(self._pool, self._files)
        return Erased(len(erased_ids), counts["reported"], counts["keys"])

    async def remains(self, marks: Marks) -> tuple[Sequence[str], Sequence[Remain]]:
        searched: list[str] = []
        found: list[Remain] = []
        if self._is_light and not marks.ids:
            return searched, found
        async with self._pool.transaction(ADMIN) as connection:
            cursor = await connection.execute(_COLUMNS)
            columns = await cursor.fetchall()
            theirs = await _find_held_by_others(connection, columns, marks)
            needles = sorted((marks.texts | marks.words) - theirs)
            analyzed, _ = await asyncio.to_thread(analyze, " ".join(needles))
            lexemes = sorted({form for forms in analyzed for form in forms})
            cursor = await connection.execute(_STEMS, {"lexemes": lexemes})
            stems = [row["stem"] for row in await cursor.fetchall()]
            cursor = await connection.execute(_HELD_STEMS, {"stems": stems})
            still_held = {row["stem"] for row in await cursor.fetchall()}
            stems = [stem for stem in stems if stem not in still_held]
            values = {
                "ids": [*marks.ids],
                "needles": needles,
                "stems": stems,
                "owner": marks.owner,
            }
            for row in columns:
                place = (row["table"], row["column"])
                searched.append(".".join(place))
                if place == _TOMBSTONES:
                    continue
                query = _HOLDS_ID if row["is_id"] else _HOLDS_TEXT
                cursor = await connection.execute(_compose(query, row), values)
                count = (await cursor.fetchone() or {"rows": 0})["rows"]
                if count:
                    what = "ids" if row["is_id"] else "texts or words"
                    found.append(Remain(".".join(place), what, count))
            cursor = await connection.execute(_SHOWS_STATISTICS)
            if (await cursor.fetchone() or {})["is_shown"]:
                searched.append("pg_stats")
            cursor = await connection.execute(_STATISTICS, values)
            found += [
                Remain(f"pg_stats of {row['name']}", "values", 1) for row in await cursor.fetchall()
            ]
        if self._files:
            texts = sorted(marks.texts - theirs)
            searched.append("the files of the cluster")
            found += await asyncio.to_thread(search_files, self._files, texts)
        return searched, found


async def _find_held_by_others(
    connection: Connection, columns: Sequence[Mapping[str, Any]], marks: Marks
) -> set[str]:
    """Return texts and words that other owners have, former versions included. Reporting them where
    the values of all owners are mixed, as in the files, would reveal what another owner has.
    """
    held: set[str] = set()
    for row in columns:
        if row["is_text"] and row["owner"]:
            left = sorted((marks.texts | marks.words) - held)
            values = {"needles": left, "owner": marks.owner}
            cursor = await connection.execute(_compose(_OTHERS, row), values)
            held |= {found["needle"] for found in await cursor.fetchall()}
    return held


def _compose(query: LiteralString, column: Mapping[str, Any]) -> sql.Composed:
    """Compose a query about one column and the owners of its rows."""
    if column["owner"]:
        whose: sql.Composable = sql.Identifier("t", column["owner"])
    else:
        whose = sql.SQL("null::text")
    return sql.SQL(query).format(
        table=sql.Identifier(column["table"]),
        column=sql.Identifier(column["column"]),
        whose=whose,
    )
