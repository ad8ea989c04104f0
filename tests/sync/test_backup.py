"""`recollect backup` and `recollect restore` on real databases, and what clients then do."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from tests.conftest import Cluster
from tests.processes import environment, program
from tests.serving import running
from tests.shells.cli.commands import Cli
from tests.sync.clients import settle
from tests.sync.test_restores import (
    clients,
    erase,
    is_known,
    remember,
    revoke,
    texts_of,
    texts_on,
)

from recollect.adapters.postgres.backup import read_contents
from recollect.core.admin.timeouts import Timeouts
from recollect.core.memory.memory import Draft

pytestmark = pytest.mark.anyio

_numbers = count()


@pytest.fixture
def other_url(cluster: Cluster) -> Iterator[str]:
    """Return the URL of a database without tables."""
    name = f"restored_into_{next(_numbers)}"
    yield cluster.create(name, "recollect")
    cluster.drop(name)


def as_url(url: str) -> str:
    """Return the URL in the form that `--into` takes."""
    parts = conninfo_to_dict(url)
    secret, host = parts["password"], str(parts["host"]).replace("/", "%2F")
    return f"postgresql://{parts['user']}:{secret}@{host}:{parts['port']}/{parts['dbname']}"


@pytest.mark.slow
async def test_no_write_that_a_client_still_has_is_lost_by_a_restore(
    cluster: Cluster, database_url: str, other_url: str, tmp_path: Path
) -> None:
    """Backup, writes, loss of the database, restore into another one, and sync."""
    home, folder = tmp_path / "server", tmp_path / "backups"
    operator = Cli(home, {"RECOLLECT_DATABASE_URL": database_url})
    with running(database_url, home) as up:
        key, lost = up.new_key("ada"), up.new_key("ada")
        erased = remember(up, key, "the old chart")
        async with AsyncExitStack() as stack:
            one, two = await clients(stack, up, key, tmp_path)
            changed = await one.service.remember(Draft("the harbour"))
            both = await one.service.remember(Draft("the lighthouse"))
            await settle(one, two)
            backup = await asyncio.to_thread(operator.json, "backup", str(folder), "--verify")
            assert (backup["memories"], backup["verified"]) == (3, True)
            late = await two.service.remember(Draft("the tide table"))
            await one.service.update(str(changed.id), {"content": "the deep harbour"})
            await settle(one, two)
            erase(up, key, erased)
            revoke(up, lost)
    name = sql.Identifier(str(conninfo_to_dict(database_url)["dbname"]))
    cluster.execute(sql.SQL("alter database {} rename to lost").format(name))
    try:
        into = ("--into", as_url(other_url))
        done = await asyncio.to_thread(operator.json, "restore", str(folder), *into)
        assert done["memories"] == 3
        (note,) = done["notes"]
        assert "1 memory erased since the backup was erased again" in note
        assert "1 key revoked since the backup was revoked again" in note
        assert "run as a superuser in this database: vacuum full" in note
        with running(other_url, home) as up:
            assert not is_known(up, lost)
            assert texts_on(up, key) == {"the harbour", "the lighthouse"}
            with up.client(key) as client:
                edit = {"content": "the new lighthouse"}
                assert client.patch(f"memories/{both.id}", json=edit).status_code == 200
            async with AsyncExitStack() as stack:
                one, two = await clients(stack, up, key, tmp_path)
                await one.service.update(str(both.id), {"content": "the white lighthouse"})
                await settle(one, two)
                shown = {str(r.fields["content"]) for r in (await one.revisions()).values()}
                for texts in (await texts_of(one), await texts_of(two), texts_on(up, key)):
                    assert late.content in texts
                    assert "the old chart" not in texts
                    assert {"the harbour", "the deep harbour"} <= texts | shown
                    assert {"the new lighthouse", "the white lighthouse"} <= texts | shown
    finally:
        cluster.execute(sql.SQL("alter database lost rename to {}").format(name))


def test_a_restored_database_has_the_same_rows(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    home, folder = tmp_path / "server", tmp_path / "backups"
    with running(database_url, home) as up:
        key = up.new_key("ada")
        old = remember(up, key, "the harbour\tis \\ deep\nand wide: 🌊")
        with up.client(key) as client:
            link = {"kind": "supersedes", "target": old}
            client.post("memories", json={"content": "It was dredged.", "links": [link]})
            client.patch(f"memories/{old}", json={"content": "the harbour is deeper"})
            client.patch("settings", json={"depth": 120})
    operator = Cli(home, {"RECOLLECT_DATABASE_URL": database_url})
    operator.json("backup", str(folder))
    before = {table.name: table for table in read_contents(database_url, Timeouts())}
    operator.json("restore", str(folder), "--into", as_url(other_url))
    after = {table.name: table for table in read_contents(other_url, Timeouts())}
    assert before["memories"].rows == 2
    assert before["memory_versions"].rows == 1
    changed = {name for name in before if before[name] != after[name]}
    assert changed <= {"sync_server", "erasure_logs"}, "a new epoch, and nothing else"
    with running(other_url, home) as up, up.client(key) as client:
        changed_again = client.patch("settings", json={"depth": 90})
        assert changed_again.status_code == 200, "sequences continue where they were"
        assert client.patch(f"memories/{old}", json={"importance": 0.9}).status_code == 200
        assert len(client.get("memories").json()["memories"]) == 2


def test_a_restore_into_a_new_home_uses_the_log_of_the_backup(
    database_url: str, other_url: str, tmp_path: Path
) -> None:
    home, folder = tmp_path / "server", tmp_path / "backups"
    with running(database_url, home) as up:
        key = up.new_key("ada")
        erase(up, key, remember(up, key, "the harbour"))
        remember(up, key, "the lighthouse")
    operator = Cli(home, {"RECOLLECT_DATABASE_URL": database_url})
    operator.json("backup", str(folder))
    (log,) = (home / "erasures").glob("*.log")
    newcomer = Cli(tmp_path / "new", {})
    done = newcomer.json("restore", str(folder), "--into", as_url(other_url))
    assert "revoke" in done["notes"][0]
    assert (tmp_path / "new" / "erasures" / log.name).read_text() == log.read_text()
    with running(other_url, tmp_path / "new") as up:
        assert texts_on(up, key) == {"the lighthouse"}


def test_data_is_replaced_only_on_request(
    database_url: str, cluster: Cluster, tmp_path: Path
) -> None:
    home, folder = tmp_path / "server", tmp_path / "backups"
    operator = Cli(home, {"RECOLLECT_DATABASE_URL": database_url})
    with running(database_url, home) as up:
        key = up.new_key("ada")
        remember(up, key, "the harbour")
        operator.json("backup", str(folder))
        remember(up, key, "the lighthouse")
        code, problem = operator.error("restore", str(folder))
        assert (code, "--replace" in problem["remedy"]) == (2, True)
        assert len(texts_on(up, key)) == 2
        operator.json("restore", str(folder), "--replace")
        assert texts_on(up, key) == {"the harbour"}


@pytest.mark.parametrize("cut", [0.5, 1.0])
def test_a_damaged_backup_changes_nothing(database_url: str, tmp_path: Path, *, cut: float) -> None:
    """Truncated in the middle, or complete but with another row."""
    home, folder = tmp_path / "server", tmp_path / "backups"
    operator = Cli(home, {"RECOLLECT_DATABASE_URL": database_url})
    with running(database_url, home) as up:
        key = up.new_key("ada")
        remember(up, key, "the harbour")
        backup = Path(operator.json("backup", str(folder))["path"])
        file = backup / "memories.copy.gz"
        if cut < 1:
            file.write_bytes(file.read_bytes()[: int(file.stat().st_size * cut)])
        else:
            file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()) * 2))
        remember(up, key, "the lighthouse")
        code, problem = operator.error("restore", str(folder), "--replace")
        assert (code, "damaged" in problem["detail"]) == (6, True)
        assert len(texts_on(up, key)) == 2


# The process ends at the first call of the function.
KILLED = """
import os, signal, sys
from recollect.adapters.files import backup_folder
from recollect.adapters.postgres import backup
from recollect.main import main

module = backup if hasattr(backup, sys.argv[1]) else backup_folder
setattr(module, sys.argv[1], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
sys.argv = ["recollect", "backup", sys.argv[2]]
main()
"""


@pytest.mark.parametrize("at", ["_read_sequences", "write_manifest", "_sync_to_disk"])
def test_a_killed_backup_is_not_taken_for_a_complete_one(
    database_url: str, other_url: str, tmp_path: Path, *, at: str
) -> None:
    home, folder = tmp_path / "server", tmp_path / "backups"
    with running(database_url, home) as up:
        remember(up, up.new_key("ada"), "the harbour")
    operator = Cli(home, {"RECOLLECT_DATABASE_URL": database_url})
    variables = environment(RECOLLECT_HOME=str(home), RECOLLECT_DATABASE_URL=database_url)
    command = program(KILLED, at, str(folder))
    assert subprocess.run(command, env=variables).returncode == -signal.SIGKILL
    (partial,) = folder.glob(".partial-*")
    assert (partial / "memories.copy.gz").exists()
    for path in (folder, partial):
        code, problem = operator.error("restore", str(path), "--into", as_url(other_url))
        assert (code, "no backup" in problem["detail"]) == (2, True)
    operator.json("backup", str(folder))
    assert not partial.exists(), "the next backup removes what is left"


def test_only_the_newest_backups_are_kept(tmp_path: Path) -> None:
    cli = Cli(tmp_path / "home", {})
    cli.json("remember", "the harbour")
    folder = tmp_path / "backups"
    paths = [cli.json("backup", str(folder), "--keep", "2")["path"] for _ in range(3)]
    assert sorted(str(path) for path in folder.glob("2*")) == paths[1:]


def test_the_local_store_is_backed_up_and_restored(tmp_path: Path) -> None:
    cli, folder = Cli(tmp_path / "home", {}), tmp_path / "backups"
    cli.json("remember", "the harbour is deep")
    backup = cli.json("backup", str(folder), "--verify")
    assert (backup["kind"], backup["memories"], backup["verified"]) == ("sqlite", 1, True)
    for path in Path(backup["path"]).rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    cli.json("remember", "the lighthouse")
    assert cli.error("restore", str(folder))[0] == 2
    cli.json("restore", str(folder), "--replace")
    assert [memory["content"] for memory in cli.json("list")["memories"]] == ["the harbour is deep"]
    assert cli.json("recall", "harbour")["hits"]
    shutil.rmtree(tmp_path / "home")
    cli.json("restore", backup["path"])
    assert [memory["content"] for memory in cli.json("list")["memories"]] == ["the harbour is deep"]
    (Path(backup["path"]) / "memories.db").write_bytes(b"")
    assert cli.error("restore", backup["path"], "--replace")[0] == 6
    assert [memory["content"] for memory in cli.json("list")["memories"]] == ["the harbour is deep"]


@pytest.mark.slow
def test_the_embedded_postgres_is_backed_up_and_restored(
    cluster: Cluster, open_folder: Path, tmp_path: Path
) -> None:
    """In a home whose server does not run, into another one."""
    homes = [open_folder / f"embedded-{name}" for name in ("one", "two")]
    one, two = (Cli(home, {"RECOLLECT_EMBEDDER": "none"}) for home in homes)
    key = one.json("keys", "create", "--owner", "ada", "--start")
    backup = one.json("backup", str(tmp_path / "backups"))
    assert backup["kind"] == "postgres"
    two.json("restore", str(tmp_path / "backups"))
    assert [k["id"] for k in two.json("keys", "list", "--start")["keys"]] == [key["id"]]
