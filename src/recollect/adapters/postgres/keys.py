"""The keys of a server in Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from recollect.adapters.files.erasure_log import Revocation
from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.history.erasure_ledger import ErasureLedger
from recollect.adapters.postgres.pool import Pool, retry_on_disconnect
from recollect.adapters.postgres.rows import utc
from recollect.core.privacy.keys import Key

_ADD: Final = """
insert into keys (id, owner, digest, label, created_at, role, project, expires_at, last_used_at,
    revoked_at)
values (%(id)s, %(owner)s, %(digest)s, %(label)s, %(created_at)s, %(role)s, %(project)s,
    %(expires_at)s, %(last_used_at)s, %(revoked_at)s)
"""

# Always one row, with or without a key: the server's id, and its position in the erasure log.
_FIND: Final = """
select k.*, (select id from sync_server) as server,
    (select applied from erasure_logs where log = %(log)s) as applied
from (values (1)) one left join keys k on k.digest = %(digest)s
"""

# A key that expires after a grace period can be revoked sooner.
_REVOKE: Final = """
update keys set revoked_at = %(at)s
where id = %(id)s and (revoked_at is null or revoked_at > %(at)s)
"""

_REVOKE_FIRST: Final = """
update keys set revoked_at = %(at)s where id = %(id)s and revoked_at is null
"""

# Several servers on one database may write in any order.
_NOTE_USES: Final = """
update keys k set last_used_at = greatest(k.last_used_at, used.at)
from unnest(%(ids)s::uuid[], %(at)s::timestamptz[]) as used (id, at) where k.id = used.id
"""


class PostgresKeys:
    """Implements the `KeyStore` port on the store's own pool."""

    def __init__(self, pool: Pool, remembered: ErasureLedger) -> None:
        self._pool = pool
        self._remembered = remembered

    async def add_key(self, key: Key) -> None:
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute(_ADD, asdict(key))

    async def add_first_key(self, key: Key) -> bool:
        async with self._pool.transaction(WORKER) as connection:
            await connection.execute("lock table keys in share row exclusive mode")
            cursor = await connection.execute("select from keys limit 1")
            if await cursor.fetchone() is not None:
                return False
            await connection.execute(_ADD, asdict(key))
            return True

    @retry_on_disconnect
    async def find_key(self, digest: bytes) -> Key | None:
        """Find a key. Every request begins here, so this also detects a restored database."""
        known = self._remembered.place
        row = await self._row(digest)
        if known is not None and known.is_ahead_of(row["server"], row["applied"]):
            await self._remembered.replay()
            row = await self._row(digest)
        return None if row["id"] is None else _to_key(row)

    async def _row(self, digest: bytes) -> Mapping[str, Any]:
        params = {"digest": digest, "log": self._remembered.log_id}
        async with self._pool.reading(WORKER) as connection:
            cursor = await connection.execute(_FIND, params)
            return await cursor.fetchone() or {}

    async def list_keys(self) -> list[Key]:
        async with self._pool.reading(WORKER) as connection:
            cursor = await connection.execute("select * from keys order by created_at, id")
            return [_to_key(row) for row in await cursor.fetchall()]

    async def revoke_key(self, id: UUID, at: datetime) -> bool:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_REVOKE, {"id": id, "at": at})
            is_revoked = cursor.rowcount == 1
        if is_revoked:
            await self._remembered.note([Revocation(id, at)])
        return is_revoked

    async def replace_key(self, id: UUID, at: datetime, new: Key) -> bool:
        async with self._pool.transaction(WORKER) as connection:
            cursor = await connection.execute(_REVOKE_FIRST, {"id": id, "at": at})
            if cursor.rowcount != 1:
                return False
            await connection.execute(_ADD, asdict(new))
        await self._remembered.note([Revocation(id, at)])
        return True

    async def note_key_uses(self, used: Mapping[UUID, datetime]) -> None:
        async with self._pool.transaction(WORKER) as connection:
            # Nothing depends on it, so a crash may lose it.
            await connection.execute("set local synchronous_commit = off")
            await connection.execute(_NOTE_USES, {"ids": [*used], "at": [*used.values()]})


def _to_key(row: Mapping[str, Any]) -> Key:
    return Key(
        id=row["id"],
        owner=row["owner"],
        digest=bytes(row["digest"]),
        label=row["label"],
        created_at=utc(row["created_at"]),
        role=row["role"],
        project=row["project"],
        expires_at=_to_utc(row["expires_at"]),
        last_used_at=_to_utc(row["last_used_at"]),
        revoked_at=_to_utc(row["revoked_at"]),
    )


def _to_utc(value: datetime | None) -> datetime | None:
    return None if value is None else utc(value)
