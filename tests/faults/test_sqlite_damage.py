"""A SQLite file that is damaged is refused as a whole, and left as it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, memory, search

from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import StoreUnavailable
from recollect.core.memory.memory import EVERYWHERE

pytestmark = pytest.mark.anyio

_PAGE = 4096


def overwrite(path: Path, content: bytes) -> None:
    path.write_bytes(content)


@pytest.mark.parametrize("garbage", [b"this is not a database\n" * 300, b"SQLite format 3\x00" * 9])
async def test_a_file_that_is_no_database(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "memories.db"
    overwrite(path, garbage)
    with pytest.raises(StoreUnavailable) as refused:
        async with SqliteStore(path):
            pass
    assert str(path) in str(refused.value)
    assert "backup" in refused.value.remedy
    with path.open("rb") as file:
        assert file.read() == garbage


async def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        await store.add(memory(1, "the harbour"))
        pages = "PRAGMA page_size"
        (size,) = await store.threads.writer.run(
            lambda writer: tuple(writer.execute(pages).fetchone())
        )
    with path.open("r+b") as file:
        file.seek(size)
        file.write(b"\xff" * size * 30)
    with pytest.raises(StoreUnavailable, match="damaged"):
        async with SqliteStore(path) as store:
            await store.get(OWNER, UUID(int=1))


async def test_a_zeroed_page_is_refused_wherever_it_is(tmp_path: Path) -> None:
    """Even where nothing reads it now; a page without content may be zeros."""
    path = tmp_path / "memories.db"
    texts = ["the harbour " + "x" * 7000, *(f"the harbour {number}" for number in range(60))]
    async with SqliteStore(path) as store:
        for number, text in enumerate(texts, start=1):
            await store.add(memory(number, text))
        await store.erase(OWNER, UUID(int=9))
        before = await _contents(store)
    sound = path.read_bytes()
    pages = len(sound) // _PAGE
    refusals: list[StoreUnavailable] = []
    for page in range(pages):
        overwrite(path, sound[: page * _PAGE] + bytes(_PAGE) + sound[(page + 1) * _PAGE :])
        try:
            async with SqliteStore(path) as store:
                assert await _contents(store) == before, f"page {page + 1} of {pages}"
        except StoreUnavailable as error:
            refusals.append(error)
    with closing(sqlite3.connect(path)) as connection:
        overwrite(path, sound)
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    # Apart from free pages, only those of the reserve may be zeros.
    assert len(refusals) >= pages - free - 8
    assert all("damaged" in str(error) and ".recover" in error.remedy for error in refusals)


async def _contents(store: SqliteStore) -> object:
    found = await store.page(OWNER, EVERYWHERE, None, 100)
    return found, await search(store, "harbour", depth=100)
