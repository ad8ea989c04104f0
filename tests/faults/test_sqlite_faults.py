"""The SQLite file locked, read-only, full, damaged, and its writers killed: each is a clear error,
and what was acknowledged is kept.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, ids, listed, memory, search
from tests.processes import program

from recollect.adapters.sqlite.schema.file import create_tables, has_tables
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import StoreBusy, StoreFull, StoreUnavailable

pytestmark = pytest.mark.anyio

# Stores `count` memories and prints each id as soon as it is acknowledged.
WRITER = """
import asyncio, os, sys
from datetime import UTC, datetime
from pathlib import Path
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import Memory

async def main(path, count):
    # Writers queue without an order: on a slow disk one may be passed over for long.
    async with SqliteStore(Path(path), busy_timeout=120) as store:
        for number in range(int(count)):
            now = datetime.now(UTC)
            id = uuid7(now, os.urandom(10))
            content = f"harbour {number} " + "x" * 500
            memory = Memory(id=id, owner="ada", content=content, created_at=now, updated_at=now)
            await store.add(memory)
            print(id, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""

# Reads, then tries to write without permission. Permissions do not bind root, so root first
# becomes the user `nobody`.
READER = """
import asyncio, os, sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import StoreReadOnly
from recollect.core.memory.memory import EVERYWHERE, Memory
from recollect.core.recall.settings import WordQuery

async def main(path):
    now = datetime.now(UTC)
    async with SqliteStore(Path(path)) as store:
        found = await store.search_words("ada", EVERYWHERE, WordQuery("harbour"))
        print("found", *(candidate.id for candidate in found))
        try:
            memory = Memory(
                id=UUID(int=2), owner="ada", content="harbour", created_at=now, updated_at=now
            )
            await store.add(memory)
        except StoreReadOnly as error:
            print("read-only:", error, "|", error.remedy)
        found = await store.search_words("ada", EVERYWHERE, WordQuery("harbour"))
        print("found", *(candidate.id for candidate in found))

if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
asyncio.run(main(sys.argv[1]))
"""


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        program(script, *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def assert_sound(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.execute(
            "INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)"
        )


def overwrite(path: Path, content: bytes) -> None:
    path.write_bytes(content)


async def test_a_lock_held_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path, busy_timeout=0.05) as store:
        await store.add(memory(1, "the harbour"))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(StoreBusy) as refused:
                await store.add(memory(2, "the harbour"))
            with pytest.raises(StoreBusy):
                await store.erase(OWNER, UUID(int=1))
            assert await search(store, "harbour") == ids(1)
        assert str(path) in str(refused.value)
        await store.add(memory(2, "the harbour"))
        assert await search(store, "harbour") == ids(1, 2)


async def test_a_writer_waits_its_turn(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path, busy_timeout=120) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(store.add(memory(1)))
            assert await listed(store) == []
            other.execute("COMMIT")
            await waiting
        assert await listed(store) == ids(1)


async def test_a_file_that_may_only_be_read(open_folder: Path) -> None:
    folder = open_folder / "read-only"
    path = folder / "memories.db"
    async with SqliteStore(path) as store:
        await store.add(memory(1, "the harbour"))
    folder.chmod(0o777)
    path.chmod(0o444)
    output, errors = python(READER, str(path)).communicate()
    assert errors == ""
    before, refused, after = output.splitlines()
    assert before == after == f"found {UUID(int=1)}"
    assert refused.startswith(f"read-only: {path} cannot be written")
    assert "RECOLLECT_HOME" in refused


async def limit_pages(store: SqliteStore, more: int) -> None:
    """Let the file grow by `more` pages."""

    def work(writer: sqlite3.Connection) -> None:
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages + more}").fetchone()

    await store.threads.writer.run(work)


async def test_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        await store.add(memory(1, "the harbour"))
        await limit_pages(store, 2)
        long = [memory(number, "the harbour " + "x" * 3000) for number in range(2, 60)]
        outcomes = await asyncio.gather(*map(store.add, long), return_exceptions=True)
        refused = [outcome for outcome in outcomes if outcome is not None]
        assert {type(outcome) for outcome in refused} == {StoreFull}
        assert isinstance(refused[0], StoreFull)
        assert str(tmp_path) in refused[0].remedy
        stored = [text.id for text, outcome in zip(long, outcomes, strict=True) if outcome is None]
        assert stored
        assert set(await listed(store)) == {UUID(int=1), *stored}
        await store.erase(OWNER, UUID(int=2))
        await store.add(memory(70, "the harbour"))
    assert_sound(path)


@pytest.mark.parametrize("is_synced", [False, True])
@pytest.mark.parametrize(
    "text", ["the harbour {n}", "lighthouse{n} " * 40, "harbour{n} " + "x" * 3000]
)
@pytest.mark.parametrize("room", [2, 6, 10, 11])
async def test_erasing_needs_no_room(
    tmp_path: Path, room: int, text: str, *, is_synced: bool
) -> None:
    """Whatever the limit, the file is filled up to it, and then emptied memory by memory."""
    path = tmp_path / "memories.db"
    stored: list[UUID] = []
    async with SqliteStore(path) as store:
        await limit_pages(store, room)
        for number in range(1, 2000):
            try:
                await store.add(memory(number, text.format(n=number)))
            except StoreFull:
                break
            stored.append(UUID(int=number))
        assert 0 < len(stored) < 1999
        if is_synced:
            await store.threads.writer.run(_mark_all_synced)
        for place, id in enumerate(stored):
            await limit_pages(store, 0)
            assert await store.erase(OWNER, id), f"{place} of {len(stored)}"
            if place in (0, 1, len(stored) // 2):
                assert_sound(path)
        assert await listed(store) == []
    assert_sound(path)
    assert b"arbour" not in path.read_bytes()
    assert b"ighthouse" not in path.read_bytes()


def _mark_all_synced(writer: sqlite3.Connection) -> None:
    """Mark everything as synced: each erasure then leaves a row in the outbox."""
    (most,) = writer.execute("PRAGMA max_page_count").fetchone()
    writer.execute("PRAGMA max_page_count = 100000").fetchone()
    writer.execute(
        "INSERT INTO synced (owner, id, version, change, withheld, gone)"
        " SELECT owner, id, 1, 1, 0, 0 FROM outbox"
    )
    writer.execute("DELETE FROM outbox")
    (now,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count = {max(most, now)}").fetchone()


@pytest.mark.parametrize("folder", ["file", "file/below"])
async def test_a_folder_that_cannot_be_one(tmp_path: Path, folder: str) -> None:
    overwrite(tmp_path / "file", b"")
    path = tmp_path / folder / "memories.db"
    with pytest.raises(StoreUnavailable) as refused:
        async with SqliteStore(path):
            pass
    assert str(path.parent) in refused.value.remedy


async def test_a_folder_in_the_files_place(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        async with SqliteStore(tmp_path):
            pass
    assert str(tmp_path) in str(refused.value)


def remove(path: Path) -> None:
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


async def test_a_file_removed_while_in_use_is_created_again(tmp_path: Path) -> None:
    """What is acknowledged afterwards is on disk, not in an unlinked file."""
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        await store.add(memory(1, "the harbour"))
        assert await listed(store) == ids(1)
        remove(path)
        await store.add(memory(2, "the harbour"))
        assert await search(store, "harbour") == ids(2)
        remove(path)
        assert await search(store, "harbour") == []
        await store.add(memory(3, "the harbour"))
        async with SqliteStore(path) as other:
            assert await listed(other) == ids(3)
    assert path.stat().st_mode & 0o777 == 0o600
    assert_sound(path)


async def test_a_file_replaced_while_in_use_is_picked_up(tmp_path: Path) -> None:
    path, backup = tmp_path / "memories.db", tmp_path / "backup.db"
    async with SqliteStore(backup) as store:
        await store.add(memory(1, "the harbour"))
    async with SqliteStore(path) as store:
        await store.add(memory(2, "the harbour"))
        remove(path)
        backup.rename(path)
        assert await search(store, "harbour") == ids(1)
        await store.add(memory(3, "the harbour"))
    async with SqliteStore(path) as store:
        assert await listed(store) == ids(3, 1)


async def test_a_write_into_a_file_that_is_removed_meanwhile_is_not_acknowledged(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        await store.add(memory(1))

        def write(writer: sqlite3.Connection) -> None:
            writer.execute("UPDATE memories SET importance = 1")
            remove(path)

        with pytest.raises(StoreUnavailable, match="moved or removed") as refused:
            await store.threads.writer.run(write)
        assert str(path) in str(refused.value)
        await store.add(memory(2))
        assert await listed(store) == ids(2)


async def test_a_writer_killed_in_the_middle_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    with python(WRITER, str(path), "100000") as writer:
        assert writer.stdout is not None
        acknowledged = [UUID(writer.stdout.readline().strip()) for _ in range(60)]
        os.kill(writer.pid, signal.SIGKILL)
        # The last line may have been cut.
        acknowledged += [UUID(line.strip()) for line in writer.stdout if line.endswith("\n")]
    async with SqliteStore(path) as store:
        stored = await store.get_many(OWNER, acknowledged)
        assert stored.keys() == set(acknowledged)
        assert len(await search(store, "harbour", depth=100_000)) >= len(acknowledged)
        await store.add(memory(1, "life goes on"))
    assert_sound(path)


async def test_several_processes_writing_at_once(tmp_path: Path) -> None:
    """From the very start: each finds no file, and one of them creates it."""
    path = tmp_path / "home" / "memories.db"
    writers = [python(WRITER, str(path), "40") for _ in range(5)]
    outputs = [writer.communicate() for writer in writers]
    assert [errors for _, errors in outputs] == [""] * 5
    assert [writer.returncode for writer in writers] == [0] * 5
    acknowledged = {UUID(line) for output, _ in outputs for line in output.splitlines()}
    async with SqliteStore(path) as store:
        assert len(acknowledged) == 200
        assert (await store.get_many(OWNER, acknowledged)).keys() == acknowledged
        assert len(await search(store, "harbour", depth=500)) == 200
    assert_sound(path)


@pytest.mark.parametrize("statement", range(3))
def test_has_tables_sees_tables_that_another_process_creates_meanwhile(
    tmp_path: Path, statement: int
) -> None:
    """The other process commits just before one of the statements that look at the file."""
    path = tmp_path / "memories.db"
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as ours,
        closing(sqlite3.connect(path, isolation_level=None)) as theirs,
    ):
        looks: list[str] = []

        def looking(sql: str) -> None:
            if len(looks) == statement:
                create_tables(theirs, path)
            looks.append(sql)

        ours.set_trace_callback(looking)
        has_tables(ours, path)
        assert len(looks) == 3
        assert has_tables(ours, path)


def test_create_tables_waits_for_another_writer(
    tmp_path: Path,
) -> None:
    """SQLite itself would fail at once."""
    path = tmp_path / "memories.db"
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as ours,
        closing(sqlite3.connect(path, isolation_level=None)) as theirs,
    ):
        theirs.execute("BEGIN IMMEDIATE")
        tries: list[str] = []

        def trying(sql: str) -> None:
            if "journal_mode" in sql:
                tries.append(sql)
                if len(tries) == 2:
                    theirs.execute("ROLLBACK")

        ours.set_trace_callback(trying)
        create_tables(ours, path)
        assert len(tries) == 2
        assert has_tables(ours, path)
