"""Two servers that start on one new database at the same moment create one first key."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from psycopg import AsyncConnection
from tests.strategies import MOMENT

from recollect.adapters.postgres.store import PostgresStore
from recollect.core.privacy.keys import Key, digest

INSERT = """
insert into keys (id, owner, digest, label, created_at, role)
values (%s, %s, %s, '', now(), 'admin')
"""
WAITING = "select count(*) from pg_locks where not granted and relation = 'keys'::regclass"


@pytest.mark.anyio
async def test_add_first_key_waits_for_a_concurrent_one(database_url: str) -> None:
    async with (
        PostgresStore(database_url) as store,
        await AsyncConnection.connect(database_url) as other,
    ):
        await other.execute(INSERT, [UUID(int=1), "ada", digest("rk_1")])
        mine = Key(UUID(int=2), "ada", digest("rk_2"), "", MOMENT)
        making = asyncio.create_task(store.keys.add_first_key(mine))
        async with await AsyncConnection.connect(database_url, autocommit=True) as watcher:
            while not making.done():
                if await (await watcher.execute(WAITING)).fetchone() != (0,):
                    break
        await other.commit()
        assert await making is False
