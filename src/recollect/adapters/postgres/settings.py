"""Run-time settings in Postgres, and the log of their changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from psycopg.types.json import Jsonb

from recollect.adapters.postgres.access import WORKER
from recollect.adapters.postgres.component import PostgresComponent
from recollect.adapters.postgres.retry import retry_on_disconnect
from recollect.adapters.postgres.rows import to_setting_change
from recollect.core.recall.settings import SettingChange

# Readers go on; two writers queue, so that each logs the value it really replaced.
_LOCK: Final = "lock table settings in share row exclusive mode"

# Before the value is written, while the old one is still there.
_LOG: Final = """
insert into settings_audit (name, old_value, new_value, changed_by, changed_at)
select %(name)s, (select s.value from settings s where s.name = %(name)s), %(value)s, %(by)s, %(at)s
where not exists (select from settings s where s.name = %(name)s and s.value = %(value)s)
"""

_READ_LOG: Final = "select * from settings_audit order by number desc limit %(limit)s"

_WRITE: Final = """
insert into settings (name, value) values (%(name)s, %(value)s)
on conflict (name) do update set value = excluded.value
"""


class PostgresSettings(PostgresComponent):
    """Implements the `SettingsStore` port."""

    @retry_on_disconnect
    async def read_settings(self) -> Mapping[str, object]:
        async with self._pool.reading(WORKER) as connection:
            cursor = await connection.execute("select name, value from settings")
            return {row["name"]: row["value"] for row in await cursor.fetchall()}

    async def write_settings(self, changes: Mapping[str, object], *, by: str, at: datetime) -> None:
        rows = [
            {"name": name, "value": Jsonb(value), "by": by, "at": at}
            for name, value in changes.items()
        ]
        async with self._pool.transaction(WORKER) as connection, connection.cursor() as cursor:
            await cursor.execute(_LOCK)
            await cursor.executemany(_LOG, rows)
            await cursor.executemany(_WRITE, rows)

    async def settings_log(self, limit: int) -> list[SettingChange]:
        async with self._pool.reading(WORKER) as connection:
            cursor = await connection.execute(_READ_LOG, {"limit": limit})
            return [to_setting_change(row) for row in await cursor.fetchall()]
