"""Syncing revisions, the losing sides of conflicts: none is lost, none blocks the others."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from uuid import UUID

import psycopg
import pytest
from tests.serving import Running
from tests.strategies import new_id
from tests.sync.clients import Client, settle, texts
from tests.sync.conftest import NewClients
from tests.waiting import SECONDS

from recollect.adapters.sqlite.sync.claims import REQUEST_CHARACTERS
from recollect.core.errors import StoreError
from recollect.core.memory.memory import Changes, Draft, Memory
from recollect.core.sync.model import Revision
from recollect.usecases.sync.sync import pull_all

pytestmark = pytest.mark.anyio


async def open_clients(stack: AsyncExitStack, clients: list[Client]) -> list[Client]:
    return [await stack.enter_async_context(client) for client in clients]


async def make_conflicts(one: Client, two: Client, *losing: str) -> list[Memory]:
    """Change memories on both sides; the losing texts are revisions at `two`, not yet sent."""
    memories = [await one.service.remember(Draft(f"number {n}")) for n in range(len(losing))]
    await settle(one, two)
    for number, (memory, text) in enumerate(zip(memories, losing, strict=True)):
        await one.service.update(str(memory.id), {"content": f"current {number}"})
        await two.service.update(str(memory.id), {"content": text})
    await one.sync()
    await two.pull()
    assert len(await two.revisions()) == len(losing)
    return memories


def database_of(server: Running) -> str:
    secret = server.server.settings.database_url
    assert secret is not None
    return secret.get_secret_value()


async def test_more_revisions_than_a_request_holds_are_sent_in_parts(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        await make_conflicts(
            one, two, *(["é" * 7_900] * 24)
        )  # six bytes each in JSON: over a megabyte
        _, claimed = await two.sync_store.claim(200)
        sizes = [len(str(revision.fields["content"])) for revision in claimed]
        assert 0 < sum(sizes) <= REQUEST_CHARACTERS
        two.sync_store.request_characters = 10_000_000
        await two.push()
        assert len(two.faults.pushes[-1][1]) < len(two.faults.pushes[-3][1])
        await one.pull()
        assert await one.revisions() == await two.revisions()
        assert len(await one.revisions()) == 24


async def test_a_revision_that_no_request_holds_stays_and_the_others_go(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2, max_content=100_000))
        large, _ = await make_conflicts(
            one, two, "😀" * 95_000, "small"
        )  # twelve bytes each in JSON
        await two.push()
        await settle(one, two)
        assert [revision.fields["content"] for revision in (await one.revisions()).values()] == [
            "small"
        ]
        assert large.id in {revision.memory_id for revision in (await two.revisions()).values()}
        sent = len(two.faults.pushes)
        await two.push()
        assert len(two.faults.pushes) == sent


async def test_a_newcomer_gets_the_revisions_of_a_memory_that_comes_late(
    new_clients: NewClients,
) -> None:
    """The memory was changed after its conflicts, so that it is on a later page than they were."""
    async with AsyncExitStack() as stack:
        one, two, newcomer = await open_clients(stack, new_clients(3))
        (memory,) = await make_conflicts(one, two, "first")
        await settle(one, two)
        await one.service.update(str(memory.id), {"content": "current again"})
        await two.service.update(str(memory.id), {"content": "second"})
        await settle(one, two)
        for number in range(4):
            await one.service.remember(Draft(f"another {number}"))
        await one.sync()
        await one.service.update(str(memory.id), {"importance": 1.0})
        await settle(one, two)
        assert len(await one.revisions()) == 2
        await pull_all(newcomer.local, newcomer.server, page_size=1)
        assert await newcomer.revisions() == await one.revisions()
        assert await newcomer.all() == await one.all()


async def test_revisions_are_shown_when_their_memory_is_no_longer_sensitive(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        one, two, newcomer = await open_clients(stack, new_clients(3))
        (memory,) = await make_conflicts(one, two, "first")
        await settle(one, two)
        await one.remote.update(str(memory.id), {"is_sensitive": True})
        await newcomer.sync()
        assert await newcomer.revisions() == {}
        await one.remote.update(str(memory.id), {"is_sensitive": False})
        await newcomer.sync()
        assert [r.fields for r in (await newcomer.revisions()).values()] == [{"content": "first"}]


async def test_what_was_sensitive_when_it_lost_stays(new_clients: NewClients) -> None:
    """Also when its memory, which has another text now, is no longer sensitive."""
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        memory = await one.service.remember(Draft("the harbour"))
        await settle(one, two)
        await one.service.update(str(memory.id), {"content": "current"})
        changes = Changes(content="a private matter", is_sensitive=True)
        await two.service.update(str(memory.id), changes)
        await one.sync()
        await two.sync()
        assert (await two.all())[memory.id].content == "current"
        await two.service.update(str(memory.id), {"is_sensitive": False})
        await settle(one, two)
        assert await one.all() == await two.all()
        (revision,) = (await two.revisions()).values()
        assert revision.fields == {"content": "a private matter"}
        await two.service.resolve(str(revision.id), "current")
        await settle(one, two)
        assert "a private matter" not in texts(two.faults.pushes)


@pytest.mark.parametrize("way", ["pull", "push"])
async def test_an_unsent_revision_outlives_an_erasure_elsewhere(
    new_clients: NewClients, way: str
) -> None:
    """The client that erased the memory cannot have seen it, whichever of the two arrives first."""
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        (memory,) = await make_conflicts(one, two, "written on the train")
        await one.service.forget(str(memory.id), forever=True)
        await one.sync()
        await getattr(two, way)()
        await settle(one, two)
        assert await two.all() == {}
        (revision,) = (await two.revisions()).values()
        assert (revision.kind, revision.fields["content"]) == ("orphan", "written on the train")
        await two.service.resolve(str(revision.id), "other")
        await settle(one, two)
        assert [m.content for m in (await one.listed()).values()] == ["written on the train"]


async def test_an_erasure_that_waits_while_the_server_is_set_back_comes_to_an_end(
    new_clients: NewClients,
) -> None:
    """Positions are assigned a second time, so the answer about the erasure looks old."""
    async with AsyncExitStack() as stack:
        (client,) = await open_clients(stack, new_clients(1))
        memory = await client.service.remember(Draft("the harbour"))
        await client.sync()
        await client.service.forget(str(memory.id), forever=True)
        ahead = "UPDATE synced SET change = change + 1000000"
        await client.store.threads.writer.run(lambda writer: writer.execute(ahead).rowcount)
        with pytest.raises(StoreError, match="did not confirm"):
            await client.push()
        await client.sync_store.reset()
        await client.sync()
        assert (await client.sync_store.status()).waiting == 0
        assert (await client.remote.stats()).memories == 0


async def test_what_is_parked_and_then_held_is_counted_once(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        (client,) = await open_clients(stack, new_clients(1, max_content=20_000, sensitive=True))
        await client.service.remember(Draft("x" * 9_000, is_sensitive=True))
        await client.sync()
        client.sensitive = False
        await client.crash()
        status = await client.sync_store.status()
        assert (status.waiting, len(status.parked)) == (0, 1)


async def test_writing_a_revision_locks_its_memory(
    new_clients: NewClients, server: Running
) -> None:
    """Otherwise a concurrent erasure could leave the text behind, or both could deadlock."""
    async with AsyncExitStack() as stack:
        (client,) = await open_clients(stack, new_clients(1))
        memory = await client.service.remember(Draft("the harbour"))
        await client.sync()
        url = database_of(server)
        first = stack.enter_context(psycopg.connect(url))
        found = first.execute("select owner from memories where id = %s", (memory.id,)).fetchone()
        assert found is not None
        first.execute("select recollect_draw(%s, 0)", found)
        revision = Revision(new_id(), memory.id, "edit", {"content": "other"}, datetime.now(UTC))
        store = await client.sync_store.store_id()
        pushing = asyncio.create_task(client.remote.push(store, [], [revision]))
        second = stack.enter_context(psycopg.connect(url, autocommit=True))
        async with asyncio.timeout(SECONDS):
            while not _is_waited_for(second):  # noqa: ASYNC110  # only the database knows
                await asyncio.sleep(0.01)
        erase = "select id from memories where id = %s for update nowait"
        with pytest.raises(psycopg.errors.LockNotAvailable):
            second.execute(erase, (memory.id,))
        first.rollback()
        pushed = await pushing
        assert [accepted.revision.id for accepted in pushed.revisions] == [revision.id]


def _is_waited_for(connection: psycopg.Connection[tuple[UUID]]) -> bool:
    waiting = """
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'
            and query ilike '%insert into revisions%'
    """
    return connection.execute(waiting).fetchone() is not None
