"""On a Postgres of our own the bytes go, too; on another one it is said that they stay."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from tests.conformance.samples import OWNER, fill, memory
from tests.shells.cli.commands import Cli

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.store import PostgresStore
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


def holding(folder: Path) -> set[bytes]:
    """Which of the words stand anywhere in the files below a folder."""
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
        assert holding(data) == set(WORDS)
        report = await erase_owner(store, store.eraser, OWNER)
        assert (report.remains, report.unsearched) == ((), "")
        assert "the files of the cluster" in report.searched
        assert holding(data) == set()
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
        assert holding(data) == {b"elderflower"}
        await erase_owner(store, store.eraser, OWNER)
        assert holding(data) == set()


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
    for told in ("still hold the bytes", "vacuum full", "pg_switch_wal()", "backups"):
        assert told in last
    assert operator.json("erase", "--owner", "ada", "--server", "--yes")["unsearched"] in last
