"""A disk without room for SQLite's auxiliary files: reads go on, and erasing works."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.samples import memory
from tests.faults.full_disk import MEMORIES, make_store

from recollect.adapters.sqlite.store import SqliteStore
from recollect.adapters.sqlite.without_log import read_without_log
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


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "memories.db"
    asyncio.run(make_store(path))
    return path


@pytest.mark.parametrize("case", ["erase_at_once", "erase_while_open"])
def test_a_memory_of_a_large_store_is_erased_on_a_full_disk(
    large: Path, tmp_path: Path, case: str
) -> None:
    """By a process that opens the store afterwards, and by one that already has it open."""
    done = on_a_full_disk(large, tmp_path, case)
    assert done["erased"] is True
    assert done["memories"] == MEMORIES - 1
    assert done["found"] == 0
    assert done["is_sound"] is True
    assert done["holds_text"] is False
    assert done["after"] <= done["before"]


@pytest.mark.slow
def test_an_owner_of_a_large_store_is_erased_on_a_full_disk(large: Path, tmp_path: Path) -> None:
    """The space is freed, and the store then works as before."""
    done = on_a_full_disk(large, tmp_path, "erase_all")
    assert done["erased"] == MEMORIES
    assert done["memories"] == 1, "stored afterwards"
    assert done["is_sound"] is True
    assert done["holds_text"] is False
    assert done["after"] < done["before"] / 2


@pytest.mark.slow
def test_a_store_that_others_use_is_not_rewritten(large: Path, tmp_path: Path) -> None:
    done = on_a_full_disk(large, tmp_path, "erase_while_shared")
    assert "Nothing was erased. Stop the other programs" in done["remedy"]
    assert done["memories"] == MEMORIES
    assert done["is_sound"] is True


@pytest.mark.slow
@pytest.mark.parametrize("room", [0.2, 0.9])
def test_a_failing_write_leaves_the_store_as_it_was(
    large: Path, tmp_path: Path, room: float
) -> None:
    """Some file systems need room even to overwrite. Here only part of the file can be written."""
    done = on_a_full_disk(large, tmp_path, "erase_with_failing_writes", str(room))
    assert done["refused"] == "StoreFull"
    assert done["memories"] == MEMORIES
    assert done["is_sound"] is True


@pytest.mark.slow
def test_a_killed_erasure_leaves_a_copy(large: Path, tmp_path: Path) -> None:
    done = on_a_full_disk(large, tmp_path, "erase_until_killed")
    assert done["spare"] in done["refused"]
    assert done["memories"] == MEMORIES - 1
    assert done["is_sound"] is True


@pytest.mark.slow
def test_a_log_that_cannot_be_emptied_is_reported(large: Path, tmp_path: Path) -> None:
    """The log had room for the erasure, but the file has none to take it over."""
    done = on_a_full_disk(large, tmp_path, "erase_into_the_log")
    assert "the memories are erased" in done["refused"]
    assert done["holds_text"] is True
    assert done["memories"] == MEMORIES - 1
    assert done["holds_text_later"] is False, "once there is room"


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


def on_a_full_disk(store: Path, folder: Path, *arguments: str) -> dict[str, Any]:
    """Run a function of `full_disk.py` on a small file system that ends with the process."""
    script = Path(__file__).with_name("full_disk.py")
    command = ["unshare", "--mount", "--map-root-user", sys.executable, str(script)]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [*command, str(store), str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *sys.path])},
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no file system can be mounted here: allow user namespaces, or run as root")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found
