"""The audit on real stores, with the record of recalls that each keeps."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from tests.conformance.samples import OWNER, fill, ids, memory
from tests.conformance.stores import SPACE
from tests.serving import running
from tests.shells.cli.commands import Cli, client_of
from tests.strategies import MOMENT

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.sqlite.history.recalls import SqliteRecalls
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.curation.audit import KINDS
from recollect.core.memory.links import SUPERSEDES, Link
from recollect.core.recall.passages import PassageVector
from recollect.core.text.passages import Span
from recollect.usecases.curation.audit import audit

pytestmark = pytest.mark.anyio

LATER = MOMENT + timedelta(days=3650)
MEMORIES = [
    memory(1, "The ledger listens on port 7443"),
    memory(2, "The ledger listens on port 8443"),
    memory(3, "The door is blue and wide"),
    memory(4, "the door is blue, and wide"),
    memory(5, "We meet tomorrow in the harbour"),
    memory(6, "deploys sign in with password=Tr0ub4dor&3xyzzy"),
    memory(7, "the vault opens with password=Tr0ub4dor&3abcde", is_sensitive=True),
    memory(8, "somebody else's", owner="bob"),
]


async def test_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        await fill(store, *MEMORIES)
        recalls = SqliteRecalls(store.threads)
        await recalls.note_recalls(OWNER, ids(1, 8, 99), MOMENT)
        assert (await recalls.recalled(OWNER))[0] == set(ids(1))
        found = await audit(store, OWNER, LATER, recalls=recalls)
        reported = {(finding.kind, finding.ids) for finding in found}
        assert {
            ("contradiction", tuple(ids(2, 1))),
            ("duplicate", tuple(ids(3, 4))),
            ("stale", tuple(ids(5))),
            ("secret", tuple(ids(6))),
        } <= reported
        unused = {finding.ids[0] for finding in found if finding.kind == "never-recalled"}
        assert unused == set(ids(2, 3, 4, 5, 6, 7))
        only = await audit(store, OWNER, LATER, kinds=["secret"], recalls=recalls)
        assert [finding.kind for finding in only] == ["secret"]
        await store.erase(OWNER, UUID(int=1))
        assert (await recalls.recalled(OWNER))[0] == set()


async def test_superseded_memories_are_not_reported_again(tmp_path: Path) -> None:
    old, new, *_ = MEMORIES
    async with SqliteStore(tmp_path / "memories.db") as store:
        await fill(store, old, replace(new, links=(Link(SUPERSEDES, old.id),)))
        assert await audit(store, OWNER, LATER) == []


async def test_a_store_that_cannot_be_written_notes_nothing_and_says_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "memories.db"
    async with SqliteStore(path) as store:
        await store.add(memory(1))
        recalls = SqliteRecalls(store.threads)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await recalls.note_recalls(OWNER, ids(1), MOMENT)
        assert (await recalls.recalled(OWNER))[0] == set()
        assert (await store.get(OWNER, UUID(int=1))) == memory(1)


async def test_postgres(database_url: str) -> None:
    async with PostgresStore(database_url) as store:
        await fill(store, *MEMORIES)
        await store.recalls.note_recalls(OWNER, ids(1, 8, 99), MOMENT)
        await store.recalls.note_recalls(OWNER, ids(1), MOMENT)
        assert (await store.recalls.recalled(OWNER))[0] == set(ids(1))
        found = await audit(store, OWNER, LATER, recalls=store.recalls, neighbours=store.recalls)
        assert {finding.kind for finding in found} == {*KINDS} - {"expiring", "expired"}
        await store.erase(OWNER, UUID(int=1))
        assert (await store.recalls.recalled(OWNER))[0] == set()


async def test_neighbours_by_their_vectors(database_url: str) -> None:
    async with PostgresStore(database_url) as store:
        assert store.vectors is not None
        texts = ["ships rest in the bay", "boats lie in the cove", "bread is baked with rye"]
        await fill(store, *(memory(n, text) for n, text in enumerate(texts, 1)))
        space = await store.vectors.open_space("test", SPACE)
        jobs = await store.vectors.claim(space, 10)
        by_id = {job.memory_id: job for job in jobs}
        far = [0.0] * (SPACE.dimension - 2)
        vectors = {1: [1.0, 0.0, *far], 2: [0.999, 0.0447, *far], 3: [0.0, 1.0, *far]}
        done = [(by_id[UUID(int=number)], vector) for number, vector in vectors.items()]
        assert await store.vectors.finish(space, done) == 3
        found = await audit(store, OWNER, LATER, kinds=["duplicate"], neighbours=store.recalls)
        assert [finding.ids for finding in found] == [tuple(ids(2, 1))]
        assert await audit(store, OWNER, LATER, kinds=["duplicate"]) == []


async def test_texts_that_begin_alike_are_no_duplicates(database_url: str) -> None:
    async with PostgresStore(database_url) as store:
        assert store.vectors is not None
        notes = [
            "Notes of the weekly meeting. Rents rise.",
            "Notes of the weekly meeting. Ada left.",
        ]
        await fill(store, *(memory(n, text) for n, text in enumerate(notes, 1)))
        space = await store.vectors.open_space("test", SPACE)
        jobs = await store.vectors.claim(space, 10)
        far = [0.0] * (SPACE.dimension - 2)
        same, other = [1.0, 0.0, *far], [0.0, 1.0, *far]
        parts = [PassageVector(Span(0, 29), same), PassageVector(Span(29, 38), other)]
        done = [(job, same) for job in jobs]
        assert await store.vectors.finish(space, done, dict.fromkeys(jobs, parts)) == 2
        assert await store.recalls.pairs(OWNER, 0.9) == []


def test_recalls_are_noted_by_the_command(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home")
    shown = cli.json("remember", "the harbour opens at six")["id"]
    cli.json("remember", "bread is baked with rye")
    cli.json("recall", "harbour")
    with closing(sqlite3.connect(cli.home / "memories.db")) as file:
        rows = file.execute("SELECT id, times FROM recalls WHERE id <> ''").fetchall()
        assert rows == [(shown, 1)]
        assert file.execute("SELECT max(version) FROM memories").fetchone() == (1,)
    assert cli.json("audit") == {"findings": []}
    assert cli.error("audit", "--kind", "colour")[0] == 2
    double = cli.json("remember", "The harbour opens at six")["id"]
    (finding,) = cli.json("audit", "--kind", "duplicate")["findings"]
    assert finding["command"] == f"recollect forget {double}"
    assert finding["command"] in cli("audit").stdout


def test_a_server_notes_recalls_when_it_ends(tmp_path: Path, database_url: str) -> None:
    with running(database_url, tmp_path / "server") as server:
        client = client_of(server, tmp_path / "client", server.new_key("ada"))
        shown = client.json("remember", "the harbour opens at six")["id"]
        client.json("recall", "harbour")
        assert client.json("audit") == {"findings": []}
        assert client.error("audit", "--owner", "ada")[1]["field"] == "owner"
    with psycopg.connect(database_url) as there:
        found = there.execute("select memory_id, times from recalls").fetchall()
    assert found == [(UUID(shown), 1)]
    operator = Cli(tmp_path / "operator", {"RECOLLECT_DATABASE_URL": database_url})
    assert operator.json("audit", "--server", "--owner", "ada") == {"findings": []}
    for where in ((), ("--server",)):
        code, error = operator.error("audit", *where, "--owner", "")
        assert (code, error["field"]) == (2, "owner")
