"""Sync when the network, Postgres or the disk fails: nothing is lost or stored twice."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest
from tests.conftest import Cluster
from tests.serving import Running, running
from tests.sync.clients import Client, settle
from tests.sync.proxy import FAULTS, BadNetwork
from tests.waiting import SECONDS

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.core.errors import Conflict, RecollectError, StoreError, StoreFull
from recollect.core.memory.memory import Draft

pytestmark = pytest.mark.anyio

REQUESTS = 80


async def test_a_network_that_drops_delays_truncates_and_repeats(
    database_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two clients write, change and erase throughout; in the end both have everything, once."""
    with running(database_url, tmp_path / "server") as up:
        port = int(up.url.rpartition(":")[2])
        key = up.new_key()
        async with BadNetwork(port) as network, AsyncExitStack() as stack:
            one, two = [
                await stack.enter_async_context(Client(tmp_path / name, network.url, key))
                for name in ("one", "two")
            ]
            expected: dict[str, str] = {}
            number = failures = 0
            while network.drawn.total() < REQUESTS:
                number += 1
                client = (one, two)[number % 2]
                memory = await client.service.remember(Draft(f"number {number}"))
                expected[str(memory.id)] = f"number {number}"
                mine = [id for id in await client.listed() if str(id) in expected]
                if number % 5 == 0:
                    await client.service.update(str(memory.id), {"content": f"again {number}"})
                    expected[str(memory.id)] = f"again {number}"
                if number % 7 == 0 and memory.id != mine[0]:
                    await client.service.forget(str(memory.id), forever=True)
                    del expected[str(memory.id)]
                try:
                    await client.sync()
                except StoreError:
                    failures += 1
            assert set(network.drawn) == set(FAULTS)
            network.is_good = True
            await settle(one, two)
            for client in (one, two):
                contents = {
                    str(id): memory.content for id, memory in (await client.listed()).items()
                }
                assert contents == expected
                assert await client.revisions() == {}
            assert (await one.remote.stats()).memories == len(expected)
        with capsys.disabled():
            sys.stderr.write(f"\nbad network: {dict(network.drawn)}, {failures} broken syncs\n")


async def test_connections_to_postgres_end_in_the_middle(
    database_url: str, cluster: Cluster, tmp_path: Path
) -> None:
    """All of them, again and again, while both sides sync."""
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]

    def end_all() -> None:
        with psycopg.connect(cluster.admin_url, autocommit=True) as admin:
            # Waits until each is gone: the last ones must not end while the clients settle.
            admin.execute(
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = %s",
                [name],
            )

    with running(database_url, tmp_path / "server") as up:
        await _sync_while_interrupted(up, tmp_path, end_all, times=3)


async def test_postgres_restarts_in_the_middle(open_folder: Path, tmp_path: Path) -> None:
    """A real server stops, which aborts its work, and starts again at the same address."""
    home = open_folder / "restarting"
    embedded = EmbeddedPostgres(home)
    url = embedded.start()

    def restart() -> None:
        embedded.stop()
        assert embedded.start() == url

    try:
        with running(url, home) as up:
            await _sync_while_interrupted(up, tmp_path, restart, times=2)
    finally:
        embedded.stop()


async def _sync_while_interrupted(
    up: Running, folder: Path, interrupt: Callable[[], None], *, times: int
) -> None:
    """Write on one client and sync both while Postgres is interrupted; in the end both have all."""
    key = up.new_key()
    async with AsyncExitStack() as stack:
        one, two = [
            await stack.enter_async_context(Client(folder / name, up.url, key))
            for name in ("one", "two")
        ]
        for turn in range(times):
            for number in range(8):
                await one.service.remember(Draft(f"number {number} of turn {turn}"))
            syncing = [asyncio.create_task(client.sync()) for client in (one, two)]
            await asyncio.to_thread(interrupt)
            done = await asyncio.gather(*syncing, return_exceptions=True)
            assert all(e is None or isinstance(e, RecollectError) for e in done), done
        async with asyncio.timeout(SECONDS):
            while True:
                try:
                    await settle(one, two)
                    break
                except StoreError:
                    continue  # it is coming back
        assert await one.all() == await two.all()
        assert len(await two.all()) == 8 * times


async def test_a_full_disk_on_a_client_stops_nothing_for_good(
    database_url: str, tmp_path: Path
) -> None:
    """What cannot be stored is not acknowledged; a page that does not fit is read again later."""
    with running(database_url, tmp_path / "server") as up:
        key = up.new_key()
        async with AsyncExitStack() as stack:
            one, two = [
                await stack.enter_async_context(Client(tmp_path / name, up.url, key))
                for name in ("one", "two")
            ]
            await one.service.remember(Draft("before"))
            await settle(one, two)
            for number in range(30):
                await two.service.remember(Draft(f"number {number} " + "x" * 4_000))
            await two.sync()

            async def limit(pages: int) -> None:
                def work(writer: sqlite3.Connection) -> None:
                    writer.execute(f"PRAGMA max_page_count = {pages}").fetchone()

                await one.store.threads.writer.run(work)

            def size(writer: sqlite3.Connection) -> int:
                return int(writer.execute("PRAGMA page_count").fetchone()[0])

            await limit(await one.store.threads.writer.run(size) + 4)
            drafts = [Draft(f"mine {number} " + "y" * 1_000) for number in range(60)]
            done = [one.service.remember(draft) for draft in drafts]
            outcomes = await asyncio.gather(*done, return_exceptions=True)
            refused = [outcome for outcome in outcomes if isinstance(outcome, StoreFull)]
            stored = len(drafts) - len(refused)
            assert refused
            before = await one.sync_store.cursor()
            with pytest.raises(StoreFull):
                await one.pull()
            assert await one.sync_store.cursor() == before
            await limit(1_000_000)
            await settle(one, two)
            assert await one.all() == await two.all()
            assert len(await one.all()) == 31 + stored


async def test_a_store_that_was_replaced_does_not_mix_owners(
    database_url: str, tmp_path: Path
) -> None:
    with running(database_url, tmp_path / "server") as up:
        mine = Client(tmp_path / "mine", up.url, up.new_key())
        theirs = Client(tmp_path / "theirs", up.url, up.new_key())
        for client in (mine, theirs):
            async with client:
                await client.service.remember(Draft(client.path.name))
                await client.sync()
        (tmp_path / "mine" / "memories.db").unlink()
        (tmp_path / "theirs" / "memories.db").rename(tmp_path / "mine" / "memories.db")
        async with mine:
            with pytest.raises(Conflict, match="belongs to another"):
                await mine.sync()
