"""On our own Postgres the bytes are erased, too; for an external one the report says they stay."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from tests.conformance.samples import OWNER, fill, listed, memory
from tests.shells.cli.commands import Cli
from tests.strategies import MOMENT
from tests.waiting import wait_until_async

from recollect.adapters.files.backup_folder import Backup, find_backup, new_backup
from recollect.adapters.files.erasure_log import ErasureLogs
from recollect.adapters.postgres.backup import load_backup, write_backup
from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.store import PostgresStore
from recollect.core.admin.timeouts import Timeouts
from recollect.usecases.admin.erase import erase_owner

pytestmark = pytest.mark.anyio

TEXTS = [f"the lighthouse keeper drinks elderflower {number}" for number in range(40)]
WORDS = (b"elderflower", b"quixotic", b"cormorant")


@pytest.fixture
def embedded(installation: Path, open_folder: Path) -> Iterator[EmbeddedPostgres]:
    home = open_folder / "erasing"
    with (postgres := EmbeddedPostgres(home, installation=installation)):
        yield postgres
    shutil.rmtree(home)


def find_words(folder: Path) -> set[bytes]:
    """Return the words that occur anywhere in the files below a folder."""
    files = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    return {word for word in WORDS if any(word in data for data in files)}


async def test_no_file_of_our_own_cluster_holds_the_text(embedded: EmbeddedPostgres) -> None:
    data = embedded.folder / "data"
    async with PostgresStore(embedded.start(), files=data) as store:
        mine = [memory(number, text, tags=("quixotic",)) for number, text in enumerate(TEXTS, 1)]
        await fill(store, *mine, memory(99, "an abandoned windjammer", owner="bob"))
        edited = mine[0]
        await store.replace(memory(1, "the cormorant " * 20, version=2), based_on=edited.version)
        with psycopg.connect(embedded.start(), autocommit=True) as other:
            other.execute("analyze")
        assert find_words(data) == set(WORDS)
        report = await erase_owner(store, store.eraser, OWNER)
        assert (report.remains, report.unsearched) == ((), "")
        assert "the files of the cluster" in report.searched
        assert find_words(data) == set()
        assert await store.get("bob", memory(99).id) is not None


async def test_an_owner_leaves_the_files_to_the_operator(embedded: EmbeddedPostgres) -> None:
    data = embedded.folder / "data"
    written = (
        "select sum(pg_relation_filenode(oid)::bigint) from pg_class where relname = 'memories'"
    )
    async with PostgresStore(embedded.start(), files=data) as store:
        await fill(store, *(memory(number, text) for number, text in enumerate(TEXTS, 1)))
        with psycopg.connect(embedded.start(), autocommit=True) as other:
            before = other.execute(written).fetchone()
            report = await erase_owner(store, store.light_eraser, OWNER)
            assert other.execute(written).fetchone() == before
        assert (report.erased.memories, report.remains) == (len(TEXTS), ())
        assert "recollect erase --server" in report.unsearched
        assert find_words(data) == {b"elderflower"}
        await erase_owner(store, store.eraser, OWNER)
        assert find_words(data) == set()


def back_up(embedded: EmbeddedPostgres, folder: Path) -> Backup:
    with new_backup(folder, MOMENT) as backup:
        write_backup(embedded.start(), backup, MOMENT, Timeouts(), lambda *_: None)
    return find_backup(folder)


def restore(embedded: EmbeddedPostgres, backup: Backup) -> None:
    load_backup(embedded.start(), backup, Timeouts(), lambda *_: None, replace=True)


def open_store(embedded: EmbeddedPostgres) -> PostgresStore:
    logs = ErasureLogs(embedded.folder.parent / "erasures")
    return PostgresStore(embedded.start(), files=embedded.folder / "data", erasures=logs)


async def fill_and_erase(store: PostgresStore, embedded: EmbeddedPostgres, folder: Path) -> Backup:
    """Back up, then erase every memory that has one of the words."""
    kept = memory(99, "an abandoned windjammer", owner="bob")
    await fill(store, *(memory(n, text) for n, text in enumerate(TEXTS, 1)), kept)
    backup = await asyncio.to_thread(back_up, embedded, folder)
    for number in range(1, len(TEXTS) + 1):
        assert await store.erase(OWNER, UUID(int=number))
    return backup


@pytest.mark.parametrize("is_running", [True, False])
async def test_what_a_restore_brings_back_leaves_the_files_again(
    embedded: EmbeddedPostgres,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    *,
    is_running: bool,
) -> None:
    """Before a running server answers the next request, or before it starts."""
    data = embedded.folder / "data"
    async with open_store(embedded) as store:
        backup = await fill_and_erase(store, embedded, tmp_path)
        if is_running:
            await asyncio.to_thread(restore, embedded, backup)
            assert find_words(data) == {b"elderflower"}
            assert await store.keys.find_key(b"no key") is None
            assert find_words(data) == set()
            assert "40 memories erased since the backup were erased again" in caplog.text
    if not is_running:
        await asyncio.to_thread(restore, embedded, backup)
        assert find_words(data) == {b"elderflower"}
        async with open_store(embedded) as store:
            assert str(store.reapplied) == (
                "the database is a restored backup: 40 memories erased since the backup were "
                "erased again; the text of these memories was removed from the database's files"
            )
            assert find_words(data) == set()
    async with open_store(embedded) as store:
        assert store.reapplied is None
        assert await listed(store) == []
        assert await store.get("bob", UUID(int=99)) is not None


async def test_cleaning_that_is_interrupted_is_done_with_the_next_start(
    embedded: EmbeddedPostgres, tmp_path: Path
) -> None:
    data = embedded.folder / "data"
    waiting = (
        "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query ~ '^vacuum'"
    )
    with (
        psycopg.connect(embedded.start()) as reader,
        psycopg.connect(embedded.start(), autocommit=True) as watcher,
    ):

        async def is_waiting() -> bool:
            return asking.done() or watcher.execute(waiting).fetchone() == (1,)

        async with open_store(embedded) as store:
            backup = await fill_and_erase(store, embedded, tmp_path)
            await asyncio.to_thread(restore, embedded, backup)
            reader.execute("select from memories limit 1")
            asking = asyncio.create_task(store.keys.find_key(b"no key"))
            await wait_until_async(is_waiting)
            assert asking.cancel()
    assert find_words(data) == {b"elderflower"}
    async with open_store(embedded):
        assert find_words(data) == set()


async def test_restore_says_what_it_removed(embedded: EmbeddedPostgres, tmp_path: Path) -> None:
    async with open_store(embedded) as store:
        await fill_and_erase(store, embedded, tmp_path)
    operator = Cli(embedded.folder.parent, {"RECOLLECT_EMBEDDER": "none"})
    done = await asyncio.to_thread(operator.json, "restore", str(tmp_path), "--replace")
    assert "40 memories erased since the backup were erased again" in done["notes"][0]
    assert "was removed from the database's files" in done["notes"][0]
    assert find_words(embedded.folder / "data") == set()


async def test_a_text_left_in_a_file_is_found(embedded: EmbeddedPostgres) -> None:
    data = embedded.folder / "data"
    left = data / "base" / "left"
    async with PostgresStore(embedded.start(), files=data) as store:
        await fill(store, memory(1, TEXTS[0]))
        left.write_text(TEXTS[0])
        report = await erase_owner(store, store.eraser, OWNER)
        left.unlink()
        assert [remain.where for remain in report.remains] == [str(left)]


def test_erase_on_external_postgres_reports_what_stays(tmp_path: Path, database_url: str) -> None:
    operator = Cli(tmp_path / "operator", {"RECOLLECT_DATABASE_URL": database_url})
    shown = operator("erase", "--owner", "ada", "--server", "--yes")
    assert shown.exit_code == 0
    last = shown.stdout.splitlines()[-1]
    for part in ("still hold the bytes", "vacuum full", "pg_switch_wal()", "backups"):
        assert part in last
    assert operator.json("erase", "--owner", "ada", "--server", "--yes")["unsearched"] in last
