"""What is specific to SQLite: the file, its traces, its threads. The rest is conformance."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, fill, fill_background, ids, listed, memory, search
from tests.strategies import MOMENT

from recollect.adapters.sqlite.schema.tables import APPLICATION_ID, VERSION
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import InvalidInput, StoreUnavailable

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "memories.db"


@contextmanager
def connect(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def state_of(path: Path) -> tuple[bytes, int]:
    return path.read_bytes(), path.stat().st_mtime_ns


def make_empty(path: Path) -> None:
    path.parent.mkdir()
    path.touch()


def move(path: Path, to: Path) -> None:
    path.rename(to)


def all_bytes(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


async def test_what_was_stored_is_there_after_reopening(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.add(memory(1, "the harbour"))
        await store.write_settings({"rrf_k": 10}, by=OWNER, at=MOMENT)
    async with SqliteStore(path) as store:
        assert await store.get(OWNER, UUID(int=1)) == memory(1, "the harbour")
        assert await search(store, "harbour") == ids(1)
        assert await store.read_settings() == {"rrf_k": 10}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
async def test_only_the_owner_can_read_the_files(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        async with SqliteStore(path) as store:
            await store.add(memory(1))
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert modes == {
        "memories.db": 0o600,
        "memories.db-wal": 0o600,
        "memories.db-shm": 0o600,
    }


async def test_reading_changes_nothing_in_the_file(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.add(memory(1, "the harbour"))
    before = state_of(path)
    async with SqliteStore(path) as store:
        assert await search(store, "harbour") == ids(1)
        assert await listed(store) == ids(1)
    assert state_of(path) == before
    assert [file.name for file in path.parent.iterdir()] == ["memories.db"]


async def test_an_acknowledged_write_is_forced_to_the_disk(path: Path) -> None:
    async with SqliteStore(path) as store:

        async def value(pragma: str) -> object:
            return await store.threads.writer.run(
                lambda writer: writer.execute(f"PRAGMA {pragma}").fetchone()[0]
            )

        assert await value("journal_mode") == "wal"
        assert await value("synchronous") == 2
        assert await value("secure_delete") == 1
        assert await value("busy_timeout") == 5000


@pytest.mark.parametrize("version", [0, VERSION + 1])
async def test_a_file_of_another_version_is_refused(path: Path, version: int) -> None:
    async with SqliteStore(path):
        pass
    with connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = state_of(path)
    with pytest.raises(StoreUnavailable, match="another version of Recollect") as refused:
        async with SqliteStore(path):
            pass
    assert str(path) in str(refused.value)
    assert "upgrade" in refused.value.remedy
    assert state_of(path) == before


async def test_another_programs_database_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    before = state_of(path)
    with pytest.raises(StoreUnavailable, match="another program"):
        async with SqliteStore(path):
            pass
    assert state_of(path) == before


async def test_a_new_store_is_marked_as_ours_and_leaves_no_other_file(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.add(memory(1))
    with connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    assert [*path.parent.iterdir()] == [path]


async def test_an_empty_file_is_refused(path: Path) -> None:
    make_empty(path)
    with pytest.raises(StoreUnavailable, match="is empty") as refused:
        async with SqliteStore(path):
            pass
    assert "backup" in refused.value.remedy
    assert all_bytes(path.parent) == b""
    move(path, path.with_name("aside"))
    async with SqliteStore(path) as store:
        await store.add(memory(1))


async def test_a_log_without_its_file_is_refused_and_kept(path: Path, tmp_path: Path) -> None:
    """It may hold memories: SQLite would delete it, or mix it into the new file."""
    aside, log = tmp_path / "aside.db", path.with_name(f"{path.name}-wal")
    async with SqliteStore(path) as store:
        await store.add(memory(1))
        kept = log.read_bytes()
        assert kept
        move(path, aside)
        with pytest.raises(StoreUnavailable, match="is missing") as refused:
            async with SqliteStore(path):
                pass
        assert str(log) in str(refused.value)
        assert log.read_bytes() == kept
        move(aside, path)
        assert await listed(store) == ids(1)


async def test_erasing_leaves_no_trace_in_the_files(path: Path) -> None:
    """Not in the table, the word index, its segments, free pages or the write-ahead log."""
    async with SqliteStore(path) as store:
        await fill_background(store)
        await store.add(memory(1, "xyloquartz was here", tags=("vexmtag",)))
        await store.add(memory(2, "first qwopsecond", expanded_keywords=("kjhword",)))
        await store.replace(memory(2, "changed zzyfourth", version=2), based_on=1)
        await store.add(memory(3, "gone bzrtlate", session="hidwxyz"))
        await store.replace(memory(3, "gone bzrtlate", version=2, deleted_at=MOMENT), based_on=1)
        await fill(store, memory(4, "the lighthouse stays"))
        secrets = (b"xyloquartz", b"vexmtag", b"qwopsecond", b"kjhword", b"zzyfourth", b"bzrtlate")
        assert all(secret in all_bytes(path.parent) for secret in secrets)
        for number in (1, 2, 3):
            assert await store.erase(OWNER, UUID(int=number))
        while_open = all_bytes(path.parent)
        assert [secret for secret in secrets if secret in while_open] == []
        assert await search(store, "lighthouse") == ids(4)
    after = all_bytes(path.parent)
    assert [secret for secret in secrets if secret in after] == []
    assert b"lighthouse" in after


async def test_the_word_index_is_what_a_rebuild_would_make(path: Path) -> None:
    async with SqliteStore(path) as store:
        await fill_background(store)
        await store.add(memory(1, "old words", tags=("a b", 'c"d'), expanded_keywords=("e\nf",)))
        await store.replace(memory(1, "new words", version=2, tags=("g",)), based_on=1)
        await store.add(memory(2, "forgotten", deleted_at=MOMENT))
        await store.add(memory(3, "erased"))
        await store.erase(OWNER, UUID(int=3))
    with connect(path) as connection:
        check = "INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)"
        connection.execute(check)
        connection.execute("INSERT INTO memory_words (memory_words) VALUES ('rebuild')")
        connection.execute(check)
        for trigger in ("unindex_changed", "texts_replaced", "texts_restored"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("UPDATE memories SET content = 'behind its back'")
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute(check)


async def test_words_are_found_by_a_scan_when_the_index_is_missing(path: Path) -> None:
    async with SqliteStore(path) as store:
        await fill(store, memory(1, "The Harbour"), memory(2, "A bridge"), memory(3, "100%"))
        with connect(path) as connection:
            connection.execute("DROP TABLE memory_words")
        assert await search(store, "harbour bridge") == ids(1, 2)
        assert await search(store, "bridge", depth=1) == ids(2)
        assert await search(store, "harbour", owner="eve") == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [("🦀", (1,)), ("%", (2,)), ("_", (3,)), ("!", (4,)), ("🦀🦀", (1,)), ("%_!", ())],
)
async def test_a_query_without_a_word_is_looked_for_as_it_is(
    path: Path, query: str, expected: tuple[int, ...]
) -> None:
    async with SqliteStore(path) as store:
        await fill(store, memory(1, "a 🦀 b"), memory(2, "100%"), memory(3, "a_b"), memory(4, "a!"))
        assert await search(store, query) == ids(*expected)


async def test_a_cancelled_read_stops_and_the_next_one_does_not(path: Path) -> None:
    long = """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000000)
        SELECT max(i) FROM n
    """  # takes minutes unless it is stopped
    finished = []
    async with SqliteStore(path) as store:
        await store.add(memory(1, "the harbour"))
        for wait_for_start in (True, False) * 10:
            started = Event()

            def work(reader: sqlite3.Connection, started: Event = started) -> None:
                started.set()
                finished.append(reader.execute(long).fetchone())

            running = asyncio.create_task(store.threads.reader.run_until_cancelled(work))
            await asyncio.to_thread(started.wait) if wait_for_start else await asyncio.sleep(0)
            queued = asyncio.create_task(search(store, "harbour"))
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert await queued == ids(1)
            assert finished == []


async def test_a_long_write_does_not_keep_a_read_waiting(path: Path) -> None:
    async with SqliteStore(path) as store:
        await store.add(memory(1, "the harbour"))
        release = asyncio.Event()
        loop = asyncio.get_running_loop()

        def hold(writer: sqlite3.Connection) -> None:
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("DELETE FROM memories")
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result()
            writer.execute("ROLLBACK")

        holding = asyncio.create_task(store.threads.writer.run(hold))
        assert await search(store, "harbour") == ids(1)
        release.set()
        await holding


async def test_a_cancelled_write_is_whole_or_absent(path: Path) -> None:
    async with SqliteStore(path) as store:
        tasks = [asyncio.create_task(store.add(memory(n, "the harbour"))) for n in range(1, 30)]
        await tasks[3]
        for task in tasks:
            task.cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        acknowledged = [n for n, outcome in enumerate(done, start=1) if outcome is None]
        await store.add(memory(99, "the harbour"))  # queued behind the running one
        stored = await listed(store)
        assert set(ids(*acknowledged, 99)) <= set(stored)
        assert sorted(await search(store, "harbour")) == sorted(stored)


async def test_an_owner_of_broken_utf_8_is_refused(path: Path) -> None:
    async with SqliteStore(path) as store:
        with pytest.raises(InvalidInput):
            await store.add(memory(1, owner="\udcff"))
