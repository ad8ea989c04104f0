"""The background sync engine: it wakes up, waits, loses nothing, and runs once per store."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import psycopg
import pytest
from tests.serving import Running
from tests.sync.clients import Client
from tests.sync.conftest import NewClients
from tests.waiting import SECONDS

from recollect.adapters.files.file_lock import FileLock
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.errors import NotAllowed, RecollectError
from recollect.core.memory.memory import Draft
from recollect.settings import load
from recollect.usecases.service import LocalService
from recollect.usecases.sync.engine import Engine
from recollect.wiring.context import build_context

pytestmark = pytest.mark.anyio


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await condition():  # noqa: ASYNC110  # the condition is in a file
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(
    client: Client, interval: float
) -> AsyncIterator[tuple[Engine, list[RecollectError]]]:
    warned: list[RecollectError] = []
    engine = Engine(
        client.sync_store, client.server, client.clock, interval=interval, warn=warned.append
    )
    task = asyncio.create_task(engine.run())
    try:
        yield engine, warned
    finally:
        task.cancel()
        await asyncio.wait([task])


async def nothing_waits(client: Client) -> bool:
    return (await client.sync_store.status()).waiting == 0


async def test_it_pushes_when_it_is_woken_and_pulls_on_its_interval(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(client) for client in new_clients(2)]
        async with running(one, interval=3600) as (engine, warned), running(two, interval=0.05):
            memory = await one.service.remember(Draft("the harbour"))
            engine.wake()
            await until(lambda: _has(two, memory.id))
            await until(lambda: nothing_waits(one))
            assert warned == []


async def _has(client: Client, id: object) -> bool:
    return id in await client.listed()


@pytest.mark.parametrize("turns", range(8))
async def test_it_ends_when_it_is_cancelled_while_it_wakes(
    new_clients: NewClients, turns: int
) -> None:
    """Closing a store waits for the engine, even when something was written just before."""
    async with AsyncExitStack() as stack:
        (client,) = [await stack.enter_async_context(each) for each in new_clients(1)]
        engine = Engine(client.sync_store, client.server, client.clock, interval=3600)
        task = asyncio.create_task(engine.run())
        await until(lambda: _was_synced(client))
        engine.wake()
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        async with asyncio.timeout(SECONDS):
            await asyncio.wait([task])


async def _was_synced(client: Client) -> bool:
    return (await client.sync_store.status()).last_sync_at is not None


async def test_it_notices_what_other_processes_write(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        (client,) = [await stack.enter_async_context(each) for each in new_clients(1)]
        async with (
            running(client, interval=3600),
            SqliteStore(client.path / "memories.db") as other,
        ):
            await until(lambda: nothing_waits(client))
            settings = load(home=client.path)
            elsewhere = LocalService(build_context(other, settings), "me")
            memory = await elsewhere.remember(Draft("from elsewhere"))
            await until(lambda: nothing_waits(client))
            assert (await client.remote.get(str(memory.id))).content == "from elsewhere"


async def test_a_refused_key_is_reported_once_and_its_repair_noticed(
    new_clients: NewClients, server: Running
) -> None:
    secret = server.server.settings.database_url
    assert secret is not None
    async with AsyncExitStack() as stack:
        (client,) = [await stack.enter_async_context(each) for each in new_clients(1)]
        await client.service.remember(Draft("before"))
        await client.sync()
        database = stack.enter_context(psycopg.connect(secret.get_secret_value(), autocommit=True))
        database.execute("update keys set revoked_at = now() where revoked_at is null")
        async with running(client, interval=0.05) as (engine, warned):
            memory = await client.service.remember(Draft("after"))
            engine.wake()
            await until(lambda: _key_refused(client))
            assert await _has(client, memory.id)
            asked = client.faults.total
            await until(lambda: _asked_more_than(client, asked + 5))
            assert [type(error) for error in warned] == [NotAllowed]
            assert not await nothing_waits(client)
            database.execute("update keys set revoked_at = null")
            await until(lambda: nothing_waits(client))
            await until(lambda: _no_trouble(client))


async def _asked_more_than(client: Client, number: int) -> bool:
    return client.faults.total > number


async def _no_trouble(client: Client) -> bool:
    status = await client.sync_store.status()
    return status.last_error is None and not status.key_refused


async def _key_refused(client: Client) -> bool:
    return (await client.sync_store.status()).key_refused


async def test_what_the_server_refuses_is_parked_until_it_is_edited_or_retried(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        (client,) = [await stack.enter_async_context(c) for c in new_clients(1, max_content=20_000)]
        long = await client.service.remember(Draft("x" * 9_000))
        short = await client.service.remember(Draft("the harbour"))
        await client.sync()
        status = await client.sync_store.status()
        assert [(parked.id, status.waiting) for parked in status.parked] == [(long.id, 0)]
        assert "9,000 characters" in status.parked[0].reason
        assert "RECOLLECT_MAX_CONTENT" in status.parked[0].remedy
        before = len(client.faults.pushes)
        await client.sync()
        assert len(client.faults.pushes) == before
        assert await client.sync_store.retry_parked() == 1
        await client.sync()
        assert len(client.faults.pushes) == before + 1
        assert len((await client.sync_store.status()).parked) == 1
        await client.service.update(str(long.id), {"content": "shorter"})
        await client.sync()
        assert (await client.sync_store.status()).parked == ()
        assert {(await client.remote.get(str(id))).content for id in (long.id, short.id)} == {
            "shorter",
            "the harbour",
        }


async def test_a_body_that_is_too_large_is_sent_in_parts(
    new_clients: NewClients,
) -> None:
    """The server takes a megabyte; a page that is larger is halved until it fits."""
    async with AsyncExitStack() as stack:
        (client,) = [await stack.enter_async_context(each) for each in new_clients(1)]
        client.sync_store.request_characters = 10_000_000
        for number in range(140):
            await client.service.remember(Draft(f"{number} " + "x" * 7_890))
        await client.sync()
        assert await nothing_waits(client)
        assert (await client.remote.stats()).memories == 140
        assert max(len(items) for items, _ in client.faults.pushes) == 140


HOLDER = """
import sys
from pathlib import Path
from recollect.adapters.files.file_lock import FileLock
print(FileLock(Path(sys.argv[1])).acquire(), flush=True)
sys.stdin.read()
"""


def test_one_engine_a_store_and_a_killed_one_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "memories.sync-lock"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"True\n"
        mine, other = FileLock(path), FileLock(path)
        assert not mine.acquire()
        os.kill(process.pid, signal.SIGKILL)
        process.wait(SECONDS)
        assert mine.acquire()
        assert not other.acquire()
        mine.release()
        assert other.acquire()
        other.release()


def test_a_shared_lock_is_acquired_by_the_last_who_shares_it(tmp_path: Path) -> None:
    mine, other = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    mine.share()
    other.share()
    assert not mine.acquire()
    assert other.acquire()
    assert other.acquire()
    other.release()
    other.release()
    assert mine.acquire()
    mine.release()
