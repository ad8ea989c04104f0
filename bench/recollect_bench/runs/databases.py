"""One Postgres for all stores of a run, with a database for each store.

Setting up a Postgres takes longer than storing a small set, and stores must not influence each
other: word frequencies are counted over a whole database.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

_EXISTS: Final = "select from pg_database where datname = %s"


class Databases:
    """An embedded Postgres that is started when the first database is requested."""

    def __init__(self, home: Path, account: str) -> None:
        from recollect.adapters.postgres.embedded import EmbeddedPostgres

        self._postgres = EmbeddedPostgres(home, account=account)
        self._numbers = count(1)

    @asynccontextmanager
    async def empty(self) -> AsyncIterator[str]:
        """Create an empty database and yield its URL; drop it at the end."""
        url, chief = await self._start()
        name = f"bench_{next(self._numbers)}"
        async with await AsyncConnection.connect(chief, autocommit=True) as connection:
            await _create(connection, name, url)
            try:
                yield make_conninfo(url, dbname=name)
            finally:
                drop = sql.SQL("drop database {} with (force)").format(sql.Identifier(name))
                await connection.execute(drop)

    async def create_persistent(self, name: str) -> tuple[str, str]:
        """Create the database of this name if it is missing; it is never dropped. Return its URL,
        and its URL for the superuser.
        """
        url, chief = await self._start()
        async with await AsyncConnection.connect(chief, autocommit=True) as connection:
            cursor = await connection.execute(_EXISTS, (name,))
            if await cursor.fetchone() is None:
                await _create(connection, name, url)
        return make_conninfo(url, dbname=name), make_conninfo(chief, dbname=name)

    async def _start(self) -> tuple[str, str]:
        """Start Postgres; return the URL of its first database, and the superuser's URL."""
        from recollect.adapters.postgres.embedded.locations import SUPERUSER, Passwords

        url = await asyncio.to_thread(self._postgres.start)
        password = Passwords.read(self._postgres.folder).of(SUPERUSER)
        return url, make_conninfo(url, dbname="postgres", user=SUPERUSER, password=password)

    async def stop(self) -> None:
        await asyncio.to_thread(self._postgres.stop)


async def _create(connection: AsyncConnection[Any], name: str, url: str) -> None:
    """Copy the first database, which has the extension: only the superuser could add it."""
    parts = conninfo_to_dict(url)
    create = sql.SQL("create database {} template {} owner {}")
    names = (name, str(parts["dbname"]), str(parts["user"]))
    await connection.execute(create.format(*map(sql.Identifier, names)))
