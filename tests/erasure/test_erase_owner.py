"""Everything of an owner is erased, nothing of another, and the search would find leftovers."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.conformance.graphs import read_all
from tests.conformance.samples import OWNER, fill, listed, memory, search
from tests.conftest import Cluster
from tests.serving import running
from tests.shells.cli.commands import Cli, client_of

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.sqlite.history.owner_erasure import SqliteOwnerErasure
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.memory.links import Link
from recollect.core.privacy.erasure import ErasureReport, Marks, marks_of
from recollect.ports.stores import MemoryStore
from recollect.usecases.admin.erase import OwnerEraser, erase_owner
from recollect.usecases.graph.manage import LocalGraph

pytestmark = pytest.mark.anyio

MINE = [
    memory(1, "the lighthouse keeper drinks elderflower", tags=("quixotic",)),
    memory(2, "harbour fees are paid in September", expanded_keywords=("zephyrlike",)),
    memory(3, "an abandoned windjammer", deleted_at=memory(9).created_at),
    memory(4, "the vault opens with xylophone", is_sensitive=True),
]
THEIRS = memory(50, "harbour fees rose in September", owner="bob")


@asynccontextmanager
async def open_store(
    kind: str, tmp_path: Path, url: str
) -> AsyncIterator[tuple[MemoryStore, OwnerEraser]]:
    if kind == "sqlite":
        path = tmp_path / "memories.db"
        async with SqliteStore(path) as store:
            yield store, SqliteOwnerErasure(store.threads)
    else:
        async with PostgresStore(url) as there:
            yield there, there.eraser


kinds = pytest.mark.parametrize("kind", ["sqlite", "postgres"])


@kinds
@pytest.mark.parametrize("with_another", [False, True])
async def test_erase_owner_removes_everything(
    kind: str, tmp_path: Path, database_url: str, *, with_another: bool
) -> None:
    async with open_store(kind, tmp_path, database_url) as (store, eraser):
        await fill(store, *MINE, *([THEIRS] if with_another else []))
        would = await erase_owner(store, eraser, OWNER, dry_run=True)
        assert would.erased.memories == 4
        assert len(await listed(store)) == 3
        report = await erase_owner(store, eraser, OWNER)
        assert report.erased.memories == 4
        assert report.remains == ()
        assert "memories.content" in report.searched
        assert await listed(store) == []
        assert await search(store, "harbour") == []
        if with_another:
            assert await search(store, "harbour", owner="bob") == [THEIRS.id]
        again = await erase_owner(store, eraser, OWNER)
        assert (again.erased.memories, again.remains) == (0, ())


@kinds
async def test_the_search_finds_what_was_not_erased(
    kind: str, tmp_path: Path, database_url: str
) -> None:
    async with open_store(kind, tmp_path, database_url) as (store, eraser):
        await fill(store, *MINE)
        marks = marks_of(MINE)
        _, remains = await eraser.remains(marks)
        # Live memories are not an owner's remains, so their texts must not be reported.
        assert {remain.where for remain in remains} >= {"memories.id"}


@kinds
async def test_erasure_search_covers_unknown_tables(
    kind: str, tmp_path: Path, database_url: str
) -> None:
    async with open_store(kind, tmp_path, database_url) as (store, eraser):
        await fill(store, *MINE)
        values = (str(MINE[0].id), json.dumps({"said": MINE[1].content}))
        if kind == "sqlite":
            with closing(sqlite3.connect(tmp_path / "memories.db")) as other, other:
                other.execute("CREATE TABLE unthought_of (memory TEXT, evidence TEXT)")
                other.execute("INSERT INTO unthought_of VALUES (?, ?)", values)
        else:
            with psycopg.connect(database_url) as other_connection:
                other_connection.execute("create table unthought_of (memory uuid, evidence jsonb)")
                other_connection.execute("insert into unthought_of values (%s, %s)", values)
        report = await erase_owner(store, eraser, OWNER)
        found = {remain.where for remain in report.remains}
        assert {"unthought_of.memory", "unthought_of.evidence"} <= found


@kinds
@pytest.mark.parametrize("way", ["owner", "each"])
async def test_former_texts_links_and_concepts_go_too(
    kind: str, way: str, tmp_path: Path, database_url: str
) -> None:
    """The text before an edit, links, and manual corrections of the graph."""
    first = memory(1, "the lighthouse keeper Zebulon Quill drinks elderflower")
    second = memory(2, "Zeb Quill moved to Marblehead", links=(Link("supersedes", first.id),))
    async with open_store(kind, tmp_path, database_url) as (store, eraser):
        await fill(store, first, second)
        if isinstance(store, PostgresStore):
            await read_all(store)
            graph = LocalGraph(store.graph, OWNER)
            await graph.merge("Zebulon Quill", "Zeb Quill")
            await graph.split("Zebulon Quill", "Zeb Quill")
        edited = replace(first, content="someone moved", version=2, updated_at=memory(9).created_at)
        assert await store.replace(edited, based_on=1)
        if kind == "postgres":
            with psycopg.connect(database_url, autocommit=True) as other:
                other.execute("analyze")
        marks = marks_of([first, second])
        before = {remain.where for remain in (await eraser.remains(marks))[1]}
        assert {"memory_versions.content", "memory_links.memory_id"} <= before
        if kind == "postgres":
            assert {"concept_names.name", "concepts.name", "memory_concepts.memory_id"} <= before
        if way == "each":
            for each in (first, second):
                await store.erase(OWNER, each.id)
        assert (await erase_owner(store, eraser, OWNER)).remains == ()
        assert (await eraser.remains(marks))[1] == []


async def test_words_left_in_the_index_are_found(tmp_path: Path) -> None:
    async with open_store("sqlite", tmp_path, "") as (store, eraser):
        await fill(store, *MINE)
        with closing(sqlite3.connect(tmp_path / "memories.db")) as other, other:
            other.execute("DROP TRIGGER unindex_erased")
        report = await erase_owner(store, eraser, OWNER)
        assert "memory_words" in {remain.where for remain in report.remains}


async def test_words_left_among_the_frequencies_are_found(database_url: str) -> None:
    async with PostgresStore(database_url) as store:
        await fill(store, *MINE)
        with psycopg.connect(database_url) as other:
            other.execute("insert into lexeme_stats values (%s, 'xylophon', 1)", (OWNER,))
            other.execute("delete from memories")
        _, remains = await store.eraser.remains(Marks(owner=OWNER, words=frozenset({"xylophones"})))
        assert [remain.where for remain in remains] == ["lexeme_stats.lexeme"]


async def test_erase_owner_clears_planner_statistics(database_url: str, cluster: Cluster) -> None:
    name = conninfo_to_dict(database_url)["dbname"]
    async with PostgresStore(database_url) as store:
        await fill(store, *MINE, *(memory(n, f"cormorant number {n}") for n in range(100, 400)))
        with psycopg.connect(cluster.admin_url, dbname=name, autocommit=True) as other:
            other.execute("analyze")
            before = other.execute("select histogram_bounds::text from pg_stats").fetchall()
            assert "cormorant" in str(before)
            report: ErasureReport = await erase_owner(store, store.eraser, OWNER)
            assert report.remains == ()
            after = other.execute(
                "select most_common_vals::text, histogram_bounds::text, most_common_elems::text"
                " from pg_stats where schemaname = 'public'"
            ).fetchall()
            assert "cormoran" not in str(after)
            assert other.execute("select count(*) from memories").fetchone() == (0,)


def test_erase_command_reaches_synced_clients(tmp_path: Path, database_url: str) -> None:
    with running(database_url, tmp_path / "server") as server:
        key = server.new_key("ada")
        named = {"RECOLLECT_API_URL": server.url, "RECOLLECT_API_KEY": key}
        laptop, desk = Cli(tmp_path / "laptop", named), Cli(tmp_path / "desk", named)
        kept = laptop.json("remember", "the lighthouse keeper drinks elderflower")
        laptop.json("sync")
        desk.json("sync")
        assert desk.json("show", kept["id"])["content"] == kept["content"]
        operator = Cli(tmp_path / "operator", {"RECOLLECT_DATABASE_URL": database_url})
        arguments = ("erase", "--owner", "ada", "--server")
        code, error = operator.error(*arguments)
        assert (code, "--yes" in error["remedy"]) == (2, True)
        assert operator.json(*arguments, "--dry-run")["erased"]["memories"] == 1
        report = operator.json(*arguments, "--yes")
        assert report["erased"] == {"memories": 1, "notified": 1, "keys": 1}
        assert report["remains"] == []
        for client in (laptop, desk):
            client.json("sync")
            assert client.json("list")["memories"] == []
            assert b"elderflower" not in (client.home / "memories.db").read_bytes()


def test_erasing_the_local_store_reaches_the_server(tmp_path: Path, database_url: str) -> None:
    with running(database_url, tmp_path / "server") as server:
        named = {"RECOLLECT_API_URL": server.url, "RECOLLECT_API_KEY": server.new_key("ada")}
        laptop = Cli(tmp_path / "laptop", named)
        laptop.json("remember", "the lighthouse keeper drinks elderflower")
        laptop.json("sync")
        report = laptop.json("erase", "--owner", "me", "--yes")
        assert (report["erased"]["memories"], report["remains"]) == (1, [])
        laptop.json("sync")
        with psycopg.connect(database_url) as there:
            assert there.execute("select count(*) from memories").fetchone() == (0,)


def test_owner_erases_own_memories_over_the_api(tmp_path: Path, database_url: str) -> None:
    with running(database_url, tmp_path / "server") as server:
        mine = client_of(server, tmp_path / "mine", server.new_key("ada"))
        theirs = client_of(server, tmp_path / "theirs", server.new_key("bob"))
        mine.json("remember", "the lighthouse keeper drinks elderflower")
        theirs.json("remember", "harbour fees rose in September")
        assert theirs.error("erase", "--owner", "ada", "--yes")[0] == 4
        report = mine.json("erase", "--owner", "ada", "--yes")
        assert (report["erased"]["memories"], report["remains"]) == (1, [])
        assert mine.json("list")["memories"] == []
        assert len(theirs.json("list")["memories"]) == 1


def test_a_guess_finds_nothing_of_another_owner(tmp_path: Path, database_url: str) -> None:
    """Neither in their former versions, nor in the values that the planner keeps of them."""
    text = "the vault opens with xylophone"
    with (
        running(database_url, tmp_path / "server") as server,
        server.client(server.new_key("ada")) as mine,
        server.client(server.new_key("bobolink")) as theirs,
    ):
        kept = theirs.post("memories", json={"content": text}).json()
        theirs.patch(f"memories/{kept['id']}", json={"content": "changed"}).raise_for_status()
        for guess in (text, "does the bobolink have a key"):
            mine.post("memories", json={"content": guess}).raise_for_status()
        with psycopg.connect(database_url, autocommit=True) as other:
            other.execute("analyze")
        report = mine.post("erase", json={"owner": "ada"}).json()
        assert (report["memories"], report["remains"]) == (2, False)


def test_erasing_over_the_api_counts_as_a_write(tmp_path: Path, database_url: str) -> None:
    with (
        running(database_url, tmp_path / "server", writes_per_minute=1) as server,
        server.client(server.new_key("ada")) as client,
    ):
        answers = [client.post("erase", json={"owner": "ada"}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 429]
        assert answers[0].json()["remains"] is False


def test_a_local_erasure_leaves_no_bytes(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home")
    cli.json("remember", "the lighthouse keeper drinks elderflower", "--tag", "quixotic")
    cli.json("settings", "set", "vote", "0.2")
    shown = cli("erase", "--owner", "me", "--yes")
    assert shown.exit_code == 0
    assert "nothing remains" in shown.stdout
    for file in cli.home.iterdir():
        if file.is_file():
            assert not any(
                word in file.read_bytes() for word in (b"elderflow", b"quixot", b"lighthous")
            )
    with closing(sqlite3.connect(cli.home / "memories.db")) as file_again:
        assert file_again.execute("SELECT changed_by FROM settings_audit").fetchall() == [("",)]
        assert file_again.execute("SELECT count(*) FROM outbox").fetchone() == (0,)


def test_erasing_a_memory_can_search_for_leftovers(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home")
    kept = cli.json("remember", "the lighthouse keeper drinks elderflower")
    report = cli.json("forget", kept["id"], "--forever", "--yes", "--search")
    assert (report["forgotten"], report["remains"]) == ([kept["id"]], [])
    assert "memories.content" in report["searched"]
    hidden = cli.json("remember", "an abandoned windjammer")
    cli.json("forget", hidden["id"])
    shown = cli("forget", hidden["id"], "--forever", "--yes", "--search")
    assert "nothing remains" in shown.stdout


def test_marks_are_bounded_and_telling() -> None:
    many = [memory(n, f'say "quoted{n}" and\nmore') for n in range(1, 500)]
    marks = marks_of(many)
    assert len(marks.ids) == 499
    assert len(marks.texts) <= 100
    assert len(marks.words) <= 200
    assert all('"' not in text for text in marks.texts)
    assert UUID(int=1) in marks.ids
