"""Recall on a real streaming replica: current, behind, and gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.conformance.samples import OWNER, memory
from tests.waiting import SECONDS, wait_until_async

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.cluster import Cluster as Server
from recollect.adapters.postgres.embedded.configuration import PORT
from recollect.adapters.postgres.embedded.passwords import SUPERUSER, Passwords
from recollect.adapters.postgres.replica import StreamingReplica, replica_allowed
from recollect.adapters.postgres.store import PostgresStore

pytestmark = pytest.mark.anyio


@pytest.fixture
def embedded(installation: Path, open_folder: Path) -> Iterator[EmbeddedPostgres]:
    with (postgres := EmbeddedPostgres(open_folder / "primary", installation=installation)):
        yield postgres


@pytest.fixture
def standby(embedded: EmbeddedPostgres, open_folder: Path) -> Iterator[Server]:
    """A copy of that Postgres that follows it."""
    primary = embedded._prepare()[0]
    password = Passwords.read(primary.folder).of(SUPERUSER)
    folder = open_folder / "standby"
    primary.account.own_folder(folder, 0o755)
    standby = replace(primary, folder=folder)
    command = [
        *(primary.binaries.program("pg_basebackup"), "-D", str(standby.data)),
        *("-h", str(primary.sockets), "-p", PORT, "-U", SUPERUSER),
        *("--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast"),
    ]
    env = {**primary.binaries.environment, "PGPASSWORD": password}
    with (open_folder / "basebackup.log").open("w+b") as output:
        done = primary.account.run(command, env=env, output=output)
    assert done.returncode == 0, (open_folder / "basebackup.log").read_text()
    standby.start(SECONDS)
    yield standby
    standby.destroy()


async def is_replica(store: PostgresStore, owner: str = OWNER) -> bool:
    """Which of the two answers a recall of this owner."""
    with replica_allowed():
        async with store.pool.reading(owner) as connection:
            cursor = await connection.execute("select pg_is_in_recovery() as found")
            return bool((await cursor.fetchone() or {})["found"])


async def test_a_replica_serves_recalls_as_long_as_it_makes_no_difference(
    embedded: EmbeddedPostgres, standby: Server
) -> None:
    url = embedded.start()
    password = Passwords.read(embedded.folder).of(SUPERUSER)
    host = str(standby.sockets)
    read_url = make_conninfo(url, host=host)
    now = 0.0
    async with PostgresStore(url, read_url=read_url, max_lag=3_600) as store:
        replica = store.pool.replica
        assert isinstance(replica, StreamingReplica)
        replica._clock = lambda: now
        replica.fail()

        async def serves() -> bool:
            await replica.check()
            return await is_replica(store)

        await store.add(memory(1))
        await wait_until_async(serves)
        with replica_allowed():
            assert await store.get(OWNER, memory(1).id) == memory(1)
        async with store.pool.reading(OWNER) as connection:
            cursor = await connection.execute("select pg_is_in_recovery() as found")
            assert (await cursor.fetchone() or {}) == {"found": False}, "only where it is allowed"

        admin_url = make_conninfo(read_url, user=SUPERUSER, password=password)
        with psycopg.connect(admin_url, autocommit=True) as admin:
            admin.execute("select pg_wal_replay_pause()")
            await store.add(memory(2))
            assert not await serves(), "it has not replayed the owner's own write"
            with replica_allowed():
                assert await store.get(OWNER, memory(2).id) == memory(2)
            assert await is_replica(store, "somebody else"), "who has written nothing"
            now += 3_601
            await replica.check()
            assert not await is_replica(store, "somebody else"), "it is too far behind"
            admin.execute("select pg_wal_replay_resume()")
        await wait_until_async(serves)
        assert await is_replica(store, "somebody else")

        standby.stop(SECONDS)
        with replica_allowed():
            assert await store.get(OWNER, memory(2).id) == memory(2)
        assert not await is_replica(store)
        await replica.check()
        assert not await is_replica(store)
        standby.start(SECONDS)
        await wait_until_async(serves)


async def test_a_server_starts_without_its_replica(database_url: str) -> None:
    read_url = make_conninfo(database_url, host="/nowhere")
    async with PostgresStore(database_url, read_url=read_url) as store:
        await store.add(memory(1))
        with replica_allowed():
            assert await store.get(OWNER, memory(1).id) == memory(1)


async def test_a_primary_is_not_taken_for_a_replica(database_url: str) -> None:
    async with PostgresStore(database_url, read_url=database_url) as store:
        assert isinstance(store.pool.replica, StreamingReplica)
        assert not store.pool.replica.serves(OWNER)
        with replica_allowed():
            assert not store.pool.replica.serves(OWNER)
