"""One Postgres for all of a run's stores, and for each store a database of its own.

To set up a Postgres takes longer than to store a small set, and a store must not know what another
has seen: how rare words are is counted over a whole database.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path

from psycopg import AsyncConnection, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Databases:
    """An embedded Postgres that is started when the first database is asked for."""

    def __init__(self, home: Path, account: str) -> None:
        from recollect.adapters.postgres.embedded import EmbeddedPostgres

        self._postgres = EmbeddedPostgres(home, account=account)
        self._numbers = count(1)

    @asynccontextmanager
    async def empty(self) -> AsyncIterator[str]:
        """The URL of a database that nobody has used, dropped at the end."""
        from recollect.adapters.postgres.embedded.passwords import SUPERUSER, Passwords

        url = await asyncio.to_thread(self._postgres.start)
        password = Passwords.read(self._postgres.folder).of(SUPERUSER)
        name, parts = f"bench_{next(self._numbers)}", conninfo_to_dict(url)
        chief = make_conninfo(url, dbname="postgres", user=SUPERUSER, password=password)
        made, template, role = (
            sql.Identifier(str(x)) for x in (name, parts["dbname"], parts["user"])
        )
        async with await AsyncConnection.connect(chief, autocommit=True) as connection:
            # The first database has the extension, which only the superuser may add.
            create = sql.SQL("create database {} template {} owner {}")
            await connection.execute(create.format(made, template, role))
            try:
                yield make_conninfo(url, dbname=name)
            finally:
                await connection.execute(sql.SQL("drop database {} with (force)").format(made))

    async def stop(self) -> None:
        await asyncio.to_thread(self._postgres.stop)
