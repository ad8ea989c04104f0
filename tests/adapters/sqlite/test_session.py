"""Work that both databases share, in the thread of a connection."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.conformance.samples import OWNER, memory

from recollect.adapters.sql.session import Session
from recollect.adapters.sqlite.session import SqliteSession
from recollect.adapters.sqlite.store import SqliteStore
from recollect.usecases.coroutines import run_directly

pytestmark = pytest.mark.anyio

_COUNT = "select count(*) as many from graph_versions where owner = :owner"
_ADD = "insert into graph_versions (owner, version) values (:owner, 1)"


async def test_work_that_awaits_something_else_fails_and_leaves_nothing(tmp_path: Path) -> None:
    async def work(session: Session) -> None:
        await session.execute(_ADD, {"owner": OWNER})
        await asyncio.sleep(0)

    async with SqliteStore(tmp_path / "memories.db") as store:
        await store.add(memory(1))
        with pytest.raises(RuntimeError, match="needs an event loop"):
            await store.graph._write(OWNER, work)
        rows = await store.graph._read(
            OWNER, lambda session: session.fetch(_COUNT, {"owner": OWNER})
        )
    assert rows == [{"many": 0}]


def test_a_statement_that_asks_for_the_time_needs_a_clock() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        session = SqliteSession(connection)
        with pytest.raises(sqlite3.ProgrammingError, match="now"):
            run_directly(session.fetch("select :now as now", {}))
