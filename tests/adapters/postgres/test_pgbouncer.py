"""Everything works through a real PgBouncer that assigns a connection for one transaction only."""

from __future__ import annotations

import asyncio
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.conformance.samples import OWNER, fill_background, ids, memory, search
from tests.conformance.stores import NORTH, SPACE, active, embed_all, nearest, opened
from tests.real_parts import PGBOUNCER
from tests.waiting import SECONDS, wait_until

from recollect.adapters.postgres.access import ADMIN
from recollect.adapters.postgres.limits import Limits
from recollect.core.recall.settings import RecallSettings
from recollect.core.recall.space import EmbeddingProgress, Space

pytestmark = pytest.mark.anyio

PORT = 6432
_OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"


@pytest.fixture
def pooled_url(database_url: str, open_folder: Path) -> Iterator[str]:
    """The test's database behind PgBouncer in transaction mode, on a Unix socket of its own: a port
    that is free now may be taken a moment later.
    """
    program = PGBOUNCER.path()
    target = conninfo_to_dict(database_url)
    folder = open_folder / f"pgbouncer-{target['dbname']}"
    folder.mkdir()
    _configure(folder, target)
    identity: dict[str, Any] = {}
    if os.geteuid() == 0:  # it refuses to run as root, as Postgres does
        entry = pwd.getpwnam("nobody")
        for path in (folder, *folder.iterdir()):
            os.chown(path, entry.pw_uid, entry.pw_gid)
        identity = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    with (folder / "log").open("wb") as log:
        pooler = subprocess.Popen(
            [program, str(folder / "pgbouncer.ini")], stdout=log, stderr=log, **identity
        )
    url = make_conninfo(database_url, host=str(folder), port=PORT)
    try:
        wait_until(lambda: _answers(url, pooler))
        yield url
    finally:
        pooler.terminate()
        pooler.wait(SECONDS)
        shutil.rmtree(folder)


def _configure(folder: Path, target: dict[str, Any]) -> None:
    """Write the documented configuration, with the test's database, paths and pool size."""
    ini, users = _read_documented_files()
    here = {
        "recollect = host=db.example port=5432 dbname=recollect": (
            f"{target['dbname']} = host={target['host']} port={target['port']}"
        ),
        "listen_addr = 127.0.0.1": f"listen_addr =\nunix_socket_dir = {folder}",
        "/etc/pgbouncer/userlist.txt": str(folder / "users"),
        "default_pool_size = 20": "default_pool_size = 3",
    }
    for documented, used in here.items():
        assert documented in ini
        ini = ini.replace(documented, used)
    assert f"listen_port = {PORT}" in ini  # part of the socket's name
    (folder / "pgbouncer.ini").write_text(ini)
    named = users.replace("recollect", target["user"]).replace("PASSWORD", target["password"])
    (folder / "users").write_text(named)
    for path in folder.iterdir():
        path.chmod(0o600)


def _read_documented_files() -> tuple[str, str]:
    """Return the two files in docs/operations.md: pgbouncer.ini and userlist.txt."""
    section = _OPERATIONS.read_text().partition("### Behind PgBouncer\n")[2].partition("\n## ")[0]
    _install, ini, users = re.findall(r"^```\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    return ini, users


def _answers(url: str, pooler: subprocess.Popen[bytes]) -> bool:
    assert pooler.poll() is None, "PgBouncer ended: see its log"
    try:
        psycopg.connect(url, connect_timeout=30).close()
    except psycopg.OperationalError:
        return False
    return True


async def test_memories_words_and_vectors(pooled_url: str) -> None:
    # More sessions than the pooler has connections, so that leftovers of a session show.
    async with (
        opened(pooled_url) as (store, vectors),
        opened(pooled_url) as (other_store, other),
    ):
        space = await vectors.open_space("compass", SPACE)
        await fill_background(store)
        await store.add_many([memory(1, "The harbour is deep"), memory(2, "A violin sings")])
        assert await search(store, "harbour deep") == ids(1, 1009)
        counts = await asyncio.gather(
            *(embed_all(one, space) for one in (vectors, other, vectors, other))
        )
        assert sum(counts) == 14
        assert await vectors.progress(space) == EmbeddingProgress(14, 0, 0)
        everyone = await asyncio.gather(
            *(nearest(one, space, depth=14) for one in (vectors, other) * 5)
        )
        assert all(len(found) == 14 for found in everyone)
        await other_store.replace(memory(1, "It is shallow", version=2), based_on=1)
        assert ids(1)[0] not in await nearest(vectors, space)
        jobs = await other.claim(space, 10)
        assert [job.text for job in jobs] == ["It is shallow"]
        await other.fail(space, jobs, "not now")
        assert (await vectors.progress(space)).last_error == "not now"


async def test_a_new_space_is_filled_indexed_and_switched_to(pooled_url: str) -> None:
    async with opened(pooled_url, limits=Limits(index_rows=0)) as (store, vectors):
        await store.add(memory(1))
        old = await vectors.open_space("compass", SPACE)
        new = await vectors.open_space("other", Space("other", "1", 3))
        await embed_all(vectors, old)
        await embed_all(vectors, new, [0.0, 1.0, 0.0])
        await asyncio.gather(vectors.build_indexes(new), vectors.build_indexes(new))
        await vectors.activate(new)
        serving = await active(vectors)
        assert serving is not None
        assert await nearest(vectors, serving, [0.0, 1.0, 0.0]) == ids(1)
        await vectors.drop_space(old)
        assert [space.id for space in await vectors.spaces()] == [new.id]


async def test_build_indexes_leaves_no_setting_in_pooled_sessions(pooled_url: str) -> None:
    # A single vector would take that much.
    limits = Limits(index_element_bytes=400 * 2**20, index_rows=0)
    async with opened(pooled_url, limits=limits) as (store, vectors):
        await store.add(memory(1))
        await vectors.open_space("compass", SPACE)
        new = await vectors.open_space("other", Space("other", "1", 3))
        await embed_all(vectors, new, [0.0, 1.0, 0.0])
        await vectors.build_indexes(new)
    with ExitStack() as open_transactions:  # each holds one of the pooler's three sessions
        for _ in range(3):
            connection = open_transactions.enter_context(psycopg.connect(pooled_url))
            assert connection.execute("show maintenance_work_mem").fetchone() == ("256MB",)


async def test_a_worker_polls_behind_a_pooler(pooled_url: str) -> None:
    """A pooler passes no notifications on: a worker looks again by itself, and soon."""
    async with opened(pooled_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        async with asyncio.timeout(SECONDS):
            await vectors.wait_for_work(600)  # finds out that it will not be notified
            await vectors.wait_for_work(600)
        (job,) = await vectors.claim(space, 1)
        assert await vectors.finish(space, [(job, NORTH)]) == 1
        async with store.pool.transaction(ADMIN) as connection:
            cursor = await connection.execute("select pg_listening_channels()")
            assert await cursor.fetchall() == []


async def test_search_settings_do_not_leak_to_the_next_transaction(pooled_url: str) -> None:
    async with opened(pooled_url) as (store, vectors):
        space = await vectors.open_space("compass", SPACE)
        await store.add(memory(1))
        await embed_all(vectors, space)
        for _ in range(4):
            assert await nearest(vectors, space, depth=RecallSettings().depth) == ids(1)
            async with store.pool.transaction(ADMIN) as connection:
                cursor = await connection.execute("show enable_sort")
                assert await cursor.fetchall() == [{"enable_sort": "on"}]
        assert await store.get(OWNER, ids(1)[0]) is not None


async def test_no_owner_leaks_to_the_next_transaction(pooled_url: str) -> None:
    """Three backends serve all of these: anything left behind would be seen by the next user."""
    owners = [f"owner {number}" for number in range(6)]
    async with opened(pooled_url) as (store, _):
        assert store.barrier.roles is not None
        await store.add_many([memory(1, f"of {owner}", owner=owner) for owner in owners])

        async def read(owner: str) -> list[str]:
            async with store.pool.reading(owner) as connection:
                rows = await (await connection.execute("select content from memories")).fetchall()
            return [row["content"] for row in rows]

        found = await asyncio.gather(*(read(owner) for owner in owners * 5))
        assert found == [[f"of {owner}"] for owner in owners * 5]
        state = (
            "select current_user::text as role, current_setting('recollect.owner', true) as owner"
        )
        for _ in range(6):
            async with store.pool.reading(OWNER) as connection:
                row = await (await connection.connection.execute(state)).fetchone()
                assert row is not None
                assert (row["role"], row["owner"] or "") == ("recollect", "")
