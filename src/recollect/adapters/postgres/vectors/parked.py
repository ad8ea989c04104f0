"""Why one memory's text is not tried any more: what `why` says of it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from psycopg import AsyncConnection

_PARKED: Final = """
select coalesce(e.last_error, '') as last_error
from embeddings e
join spaces s on s.id = e.space_id and s.state = 'active'
join memories m on m.id = e.memory_id and m.owner = %(owner)s
where e.memory_id = %(id)s and e.vector is null and e.due_at = 'infinity'
"""


async def parked(connection: AsyncConnection[Any], owner: str, id: UUID) -> str | None:
    """With what it failed, in the space that recall asks; None when it is not parked."""
    cursor = await connection.execute(_PARKED, {"owner": owner, "id": id})
    row = await cursor.fetchone()
    return None if row is None else str(row["last_error"])
