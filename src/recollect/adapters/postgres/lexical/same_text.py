"""Find a memory with the same text as a new one, and block others from storing it meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from recollect.adapters.postgres.pool import Connection
from recollect.adapters.postgres.rows import MEMORY_COLUMNS, to_memory, utc
from recollect.core.memory.duplicates import PlacedText, is_same
from recollect.core.memory.memory import Memory

# The expression of the index memories_same_text.
_KEY: Final = r"hashtextextended(regexp_replace({text}, '\s+', '', 'g'), 0)"
# Until the transaction ends, others that store this text wait, and then see the stored memory.
_LOCK: Final = f"""
select pg_advisory_xact_lock(hashtextextended(%(owner)s, {_KEY.format(text="%(content)s")}))
"""
_SAME_KEY: Final = f"""
select {MEMORY_COLUMNS} from own_memories m
where m.owner = %(owner)s and m.deleted_at is null and m.category <> 'episode'
    and {_KEY.format(text="m.content")} = {_KEY.format(text="%(content)s")}
order by m.created_at, m.id
"""  # noqa: S608  # composed of constants


_SAME_KEYS: Final = f"""
select {MEMORY_COLUMNS} from own_memories m
where m.owner = %(owner)s and m.deleted_at is null and m.category <> 'episode'
    and {_KEY.format(text="m.content")} = any(
        array(
            select {_KEY.format(text="said.content")}
            from unnest(%(contents)s::text[]) said (content)
        )
    )
order by m.created_at, m.id
"""  # noqa: S608  # composed of constants


# Two steps: under row-level security no index is used for a comparison with a function's result.
_REMOVED: Final = """
with given as materialized (
    select g.project, g.content, recollect_fingerprint(o.salt, g.project, g.content) as fingerprint
    from owners o cross join unnest(%(projects)s::text[], %(contents)s::text[]) g (project, content)
    where o.owner = %(owner)s
)
select g.project, g.content, r.removed_at
from given g join removed_texts r on r.owner = %(owner)s and r.fingerprint = g.fingerprint
"""


async def find_removed(
    connection: Connection, owner: str, texts: Collection[PlacedText]
) -> dict[PlacedText, datetime]:
    """Return which of the texts were erased, forgotten or replaced, and when."""
    projects, contents = ([*part] for part in zip(*texts, strict=True))
    params = {"owner": owner, "projects": projects, "contents": contents}
    cursor = await connection.execute(_REMOVED, params)
    return {
        (row["project"], row["content"]): utc(row["removed_at"]) for row in await cursor.fetchall()
    }


async def find_many(connection: Connection, memories: Sequence[Memory]) -> dict[UUID, Memory]:
    """Return the stored memories with the same text, by the ids of the new ones."""
    if not memories:
        return {}
    contents = [memory.content for memory in memories]
    params = {"owner": memories[0].owner, "contents": contents}
    cursor = await connection.execute(_SAME_KEYS, params)
    by_text: dict[tuple[str, ...], list[Memory]] = {}
    for known in map(to_memory, await cursor.fetchall()):
        by_text.setdefault(tuple(known.content.split()), []).append(known)
    return {
        memory.id: known
        for memory in memories
        for known in reversed(by_text.get(tuple(memory.content.split()), []))
        if is_same(known, memory)
    }


async def find(connection: Connection, memory: Memory) -> Memory | None:
    """Return the stored memory with the same text. If None, no other process can store one now."""
    params = {"owner": memory.owner, "content": memory.content}
    await connection.execute(_LOCK, params)
    cursor = await connection.execute(_SAME_KEY, params)
    known = map(to_memory, await cursor.fetchall())
    return next((stored for stored in known if is_same(stored, memory)), None)
