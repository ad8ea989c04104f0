"""A disk without room for SQLite's files beside the database: reads go on, and erasing works."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, ids, listed, memory

from recollect.adapters.sqlite.history.erasure import erase_where
from recollect.adapters.sqlite.store import SqliteStore
from recollect.adapters.sqlite.without_log import read_without_log, write_without_log
from recollect.core.errors import StoreFull

pytestmark = pytest.mark.anyio

# No file may grow beyond half of what the index of the log takes.
WITHOUT_ROOM = """
import asyncio, resource, sys
from pathlib import Path
from uuid import UUID
from tests.conformance.samples import listed, memory, search
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import StoreError

async def main(path):
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_384, 16_384))
    async with SqliteStore(path) as store:
        print(len(await listed(store)), len(await search(store, "harbour")))
        try:
            await store.add(memory(9, "the harbour"))
        except StoreError as error:
            print(error)
        print(len(await listed(store)))

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_reads_work_and_a_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        for number in (1, 2):
            await store.add(memory(number, "the harbour"))
    done = run_without_room(path)
    assert done.stderr == ""
    found, refused, after = done.stdout.splitlines()
    assert (found, after) == ("2 2", "2")
    assert str(path) in refused


async def test_erasing_on_a_full_disk_writes_in_place_and_frees_room(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        for number in range(1, 120):
            await store.add(memory(number, f"lighthouse{number} " + "x" * 3000))
    before = size(path)
    with closing(write_without_log(path)) as writer:
        kept = str(UUID(int=1))
        assert erase_where(writer, "owner = ? AND id <> ?", (OWNER, kept)) == 118
        assert beside(path) == []
    assert size(path) < before / 2
    with closing(read_without_log(path)) as reader:
        assert reader.execute("SELECT id FROM memories").fetchone()[0] == kept
    async with SqliteStore(path) as store:
        assert await listed(store) == ids(1)
        await store.add(memory(2, "the harbour"))
        assert beside(path) != []  # with its log again


async def test_a_log_that_cannot_be_written_back_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        await store.add(memory(1, "the harbour"))
        with pytest.raises(StoreFull, match="its log"):
            read_without_log(path)


def run_without_room(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT_ROOM, str(path)]
    root = Path(__file__).parents[2]  # the tests run elsewhere, outside any repository
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)


def size(path: Path) -> int:
    return path.stat().st_size


def beside(path: Path) -> list[Path]:
    return [one for one in path.parent.iterdir() if one != path]
