"""After the analyzer has changed, a worker analyzes memories again, and so does each opening."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.conformance.samples import fill, ids, memory, search

from recollect.adapters.sqlite.store import SqliteStore

pytestmark = pytest.mark.anyio


def outdate(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE memories SET analyzer = 0, languages = '', content_terms = 'old'"
        )


def count(path: Path, query: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (found,) = connection.execute(query).fetchone()
    return int(found)


async def test_opening_analyzes_what_is_outdated(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as store:
        await fill(store, memory(1, "Die Häuser sind alt"), memory(2, "緑茶を飲む"))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM outbox")
    outdate(path)
    async with SqliteStore(path) as store:
        assert await search(store, "Haus") == ids(1)
        assert await search(store, "緑茶") == ids(2)
        assert await search(store, "old") == []
    assert count(path, "SELECT count(*) FROM outbox") == 0, "for the server nothing changed"
    assert count(path, "SELECT count(*) FROM memory_versions") == 0


async def test_a_worker_analyzes_what_is_outdated_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    async with SqliteStore(path) as store:
        await fill(store, *(memory(number, "harbour") for number in range(1, 6)))
        outdate(path)
        assert await search(store, "old") == ids(1, 2, 3, 4, 5), "found by old terms meanwhile"
        assert [await store.reanalyze(2) for _ in range(4)] == [2, 2, 1, 0]
        assert await search(store, "harbour") == ids(1, 2, 3, 4, 5)
        assert await search(store, "old") == []
