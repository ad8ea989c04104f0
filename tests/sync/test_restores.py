"""A server that is restored from a backup brings back neither erased memories nor revoked keys, and
no client loses what it has.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.conftest import TEMPLATE, Cluster
from tests.serving import Running, running
from tests.shells.cli.commands import Cli
from tests.sync.clients import Client, settle

from recollect.core.errors import StoreBusy
from recollect.core.memory.memory import Draft
from recollect.core.privacy.keys import Key, digest

pytestmark = pytest.mark.anyio

_numbers = count()


class Backup:
    """A dump of one database, created and restored as described in docs/backup.md."""

    def __init__(self, cluster: Cluster, programs: Path, name: str, file: Path) -> None:
        self._programs = programs
        self._file = file
        self.name = name
        where = {key: str(value) for key, value in conninfo_to_dict(cluster.admin_url).items()}
        self._environment = {
            "PGHOST": where["host"],
            "PGPORT": where["port"],
            "PGUSER": where["user"],
            "PGPASSWORD": where["password"],
            "LD_LIBRARY_PATH": str(programs.parent / "lib"),
        }

    def make(self) -> None:
        self._run("pg_dump", "--format=custom", f"--file={self._file}", self.name)

    def empty(self) -> None:
        """Empty the database, as in a new home before the backup is restored."""
        self._run("dropdb", "--force", self.name)
        self._run("createdb", "--owner=recollect", f"--template={TEMPLATE}", self.name)

    def restore(self) -> None:
        self._run("dropdb", "--force", self.name)
        self._run("createdb", "--owner=recollect", self.name)
        self._run("pg_restore", "--single-transaction", f"--dbname={self.name}", str(self._file))

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        subprocess.run(command, env={**os.environ, **self._environment}, check=True)


@pytest.fixture
def backup(cluster: Cluster, postgres_programs: Path, tmp_path: Path) -> Iterator[Backup]:
    name = f"restored_{next(_numbers)}"
    cluster.create(name)
    yield Backup(cluster, postgres_programs, cluster.name(name), tmp_path / "recollect.dump")
    cluster.drop(name)


@pytest.fixture
def url(cluster: Cluster, backup: Backup) -> str:
    return make_conninfo(cluster.url, dbname=backup.name)


def is_known(up: Running, key: str) -> bool:
    with up.client(key) as client:
        return client.get("stats").status_code == 200


def texts_on(up: Running, key: str) -> set[str]:
    with up.client(key) as client:
        return {memory["content"] for memory in client.get("memories").json()["memories"]}


async def texts_of(client: Client) -> set[str]:
    return {memory.content for memory in (await client.listed()).values()}


def remember(up: Running, key: str, text: str) -> str:
    with up.client(key) as client:
        return str(client.post("memories", json={"content": text}).json()["id"])


def erase(up: Running, key: str, id: str) -> None:
    with up.client(key) as client:
        assert client.delete(f"memories/{id}", params={"forever": True}).status_code == 200


def row_of(up: Running, key: str) -> Key:
    """Return the key as the server has it."""
    finding = up.server.keys.find_key(digest(key))
    found = asyncio.run_coroutine_threadsafe(finding, up.loop).result()
    assert found is not None
    return found


def rotate(up: Running, key: str) -> None:
    body = {"grace_seconds": 3600}
    with up.client() as admin:
        assert admin.post(f"keys/{row_of(up, key).id}/rotate", json=body).status_code == 201


def revoke(up: Running, key: str) -> None:
    with up.client() as admin:
        assert admin.delete(f"keys/{row_of(up, key).id}").status_code == 200


def read_former_log(home: Path, *, of: Path) -> str:
    """Return the erasure log in a home that replaced the home `of`."""
    (log,) = (of / "erasures").glob("*.log")
    return (home / "erasures" / log.name).read_text()


@pytest.mark.parametrize("is_running", [True, False])
def test_a_restored_server_stays_without_what_was_erased_and_revoked(
    backup: Backup, url: str, tmp_path: Path, *, is_running: bool
) -> None:
    home = tmp_path / "server"
    operator = Cli(home, {"RECOLLECT_DATABASE_URL": url})
    with running(url, home) as up:
        key, lost = up.new_key("ada"), up.new_key("ada")
        erased = remember(up, key, "the harbour")
        remember(up, key, "the lighthouse")
        remember(up, up.new_key("bob"), "the tide table")
        backup.make()
        erase(up, key, erased)
        operator.json("erase", "--owner", "bob", "--server", "--yes")
        (last,) = [key["id"] for key in operator.json("keys", "list")["keys"]][1:2]
        operator.json("keys", "revoke", last)
        assert not is_known(up, lost)
        if is_running:
            backup.restore()
            assert not is_known(up, lost)
            assert texts_on(up, key) == {"the lighthouse"}
            assert texts_on(up, up.new_key("bob")) == set()
    if not is_running:
        backup.restore()
    with running(url, home) as up:
        assert not is_known(up, lost)
        assert texts_on(up, key) == {"the lighthouse"}
        assert texts_on(up, up.new_key("bob")) == set()


def test_a_restore_on_a_new_home_brings_nothing_erased_or_revoked_back(
    backup: Backup, url: str, tmp_path: Path
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    with running(url, old) as up:
        key, lost = up.new_key("ada"), up.new_key("ada")
        erased = remember(up, key, "the harbour")
        remember(up, key, "the lighthouse")
        backup.make()
        erase(up, key, erased)
        revoke(up, lost)
    backup.empty()
    shutil.copytree(old / "erasures", new / "erasures")
    with running(url, new) as up:
        up.new_key("bob")  # the first key of a server that knows nothing of the other one yet
        backup.restore()
        assert not is_known(up, lost)
        assert texts_on(up, key) == {"the lighthouse"}
        late = remember(up, key, "the tide table")
        erase(up, key, late)
    assert late in read_former_log(new, of=old)


def test_a_key_revoked_in_its_grace_period_stays_revoked(
    backup: Backup, url: str, tmp_path: Path
) -> None:
    with running(url, tmp_path / "server") as up:
        key = up.new_key("ada")
        rotate(up, key)
        backup.make()
        assert is_known(up, key)
        revoke(up, key)
        backup.restore()
        assert not is_known(up, key)


def test_a_restore_leaves_a_rotated_key_its_grace_period(
    backup: Backup, url: str, tmp_path: Path
) -> None:
    with running(url, tmp_path / "server") as up:
        key = up.new_key("ada")
        backup.make()
        rotate(up, key)
        ends = row_of(up, key).revoked_at
        backup.restore()
        assert row_of(up, key).revoked_at == ends
        assert is_known(up, key)


async def test_clients_hear_of_what_a_restored_server_erased_again(
    backup: Backup, url: str, tmp_path: Path
) -> None:
    """Also of a memory that was created after the backup, on a client that was offline."""
    with running(url, tmp_path / "server") as up:
        key = up.new_key("ada")
        async with AsyncExitStack() as stack:
            one, two = await clients(stack, up, key, tmp_path)
            old = await one.service.remember(Draft("the harbour"))
            await settle(one, two)
            backup.make()
            late = await one.service.remember(Draft("the lighthouse"))
            await settle(one, two)
            for id in (old.id, late.id):
                erase(up, key, str(id))
            backup.restore()
            await settle(one, two)
            assert [await texts_of(one), await texts_of(two), texts_on(up, key)] == [set()] * 3


async def test_clients_tell_a_restored_server_what_was_erased(
    backup: Backup, url: str, tmp_path: Path
) -> None:
    """Its home is lost as well: only the clients know of the erasures."""
    with running(url, tmp_path / "server") as up:
        key = up.new_key("ada")
        async with AsyncExitStack() as stack:
            one, two = await clients(stack, up, key, tmp_path)
            here = await one.service.remember(Draft("the harbour"))
            there = await one.service.remember(Draft("the lighthouse"))
            edited = await one.service.remember(Draft("the tide table"))
            await settle(one, two)
            backup.make()
            await one.service.update(str(here.id), {"content": "the old harbour"})
            await settle(one, two)
            await one.service.forget(str(here.id), forever=True)
            erase(up, key, str(there.id))
            await two.service.update(str(edited.id), {"content": "the new tide table"})
            await settle(one, two)
            assert await texts_of(one) == {"the new tide table"}
    backup.restore()
    with running(url, tmp_path / "another server") as up:
        assert len(texts_on(up, key)) == 3
        # As many writes as it takes for the server's positions to pass those that clients know.
        for number in range(20):
            remember(up, key, f"note {number}")
        async with AsyncExitStack() as stack:
            one, two = await clients(stack, up, key, tmp_path)
            await settle(one, two)
            for texts in (await texts_of(one), await texts_of(two), texts_on(up, key)):
                assert not texts & {"the harbour", "the old harbour", "the lighthouse"}
                assert len(texts) == 21
            shown = {"the tide table", "the new tide table"}
            conflicts = {str(r.fields["content"]) for r in (await one.revisions()).values()}
            assert shown <= await texts_of(one) | conflicts


async def test_a_write_from_before_a_restore_is_not_applied_unseen(
    backup: Backup, url: str, tmp_path: Path
) -> None:
    """Both sides changed the memory to its second version, each in another epoch."""
    with running(url, tmp_path / "server") as up:
        key = up.new_key("ada")
        async with AsyncExitStack() as stack:
            one, two = await clients(stack, up, key, tmp_path)
            memory = await one.service.remember(Draft("the harbour"))
            await settle(one, two)
            backup.make()
            await one.service.update(str(memory.id), {"content": "the old harbour"})
            await settle(one, two)
            backup.restore()
            with up.client(key) as client:
                client.patch(f"memories/{memory.id}", json={"content": "the new harbour"})
            await one.service.update(str(memory.id), {"content": "the older harbour"})
            with pytest.raises(StoreBusy, match="restored"):
                await one.push()
            assert texts_on(up, key) == {"the new harbour"}
            await settle(one, two)
            assert texts_on(up, key) == await texts_of(one) == {"the new harbour"}
            lost = {str(r.fields["content"]) for r in (await one.revisions()).values()}
            assert "the older harbour" in lost


async def clients(
    stack: AsyncExitStack, up: Running, key: str, folder: Path
) -> tuple[Client, Client]:
    one, two = (Client(folder / name, up.url, key) for name in ("one", "two"))
    return await stack.enter_async_context(one), await stack.enter_async_context(two)


def test_all_keys_are_revoked_at_once(database_url: str, tmp_path: Path) -> None:
    operator = Cli(tmp_path / "server", {"RECOLLECT_DATABASE_URL": database_url})
    with running(database_url, operator.home) as up:
        keys = [up.new_key("ada"), up.new_key("bob")]
        assert operator.error("keys", "revoke")[0] == 2
        assert len(operator.json("keys", "revoke", "--all")["revoked"]) == 2
        assert not any(is_known(up, key) for key in keys)
