"""What every recall asks in the same words is planned once, but only where no pooler can stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.samples import OWNER, memory

from recollect.adapters.postgres.store import PostgresStore
from recollect.settings import load
from recollect.wiring import open_postgres

pytestmark = pytest.mark.anyio


async def prepared(store: PostgresStore) -> list[str]:
    """What the sessions hold after what a recall reads was read twice, and something stored."""
    await store.add(memory(1))
    for _ in range(2):
        assert await store.read_settings() == {}
        assert (await store.fetch(OWNER, [memory(1).id])).memories
        await store.graph.named(OWNER, {"anna"})
        await store.graph.written(OWNER, {"anna"})
    async with store._reading() as connection:
        cursor = await connection.execute("select statement from pg_prepared_statements")
        return [row["statement"] for row in await cursor.fetchall()]


async def test_nothing_is_prepared_on_a_named_postgres(database_url: str, tmp_path: Path) -> None:
    settings = load(home=tmp_path, database_url=database_url)
    async with open_postgres(settings) as (store, _):
        assert await prepared(store) == []


async def test_what_a_recall_reads_is_prepared_where_nothing_stands_between(
    database_url: str,
) -> None:
    async with PostgresStore(database_url, connections=1, direct=True) as store:
        statements = await prepared(store)
    assert len(statements) == 4
    assert all("select" in statement for statement in statements)
