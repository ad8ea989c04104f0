"""Clients and servers of different versions: unknown fields survive, another protocol is reported
clearly, and a server that was set back loses nothing that a client has.
"""

from __future__ import annotations

import sqlite3
from contextlib import AsyncExitStack
from dataclasses import replace
from uuid import UUID, uuid4

import psycopg
import pytest
from tests.serving import Running
from tests.sync.clients import OWNER, Client, settle
from tests.sync.conftest import NewClients

from recollect.adapters.sqlite.sync import rows as sync_rows
from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Draft
from recollect.core.sync.model import PROTOCOL, ChangePage, check_protocol

pytestmark = pytest.mark.anyio


async def extra_of(client: Client, id: UUID) -> object:
    def look(reader: sqlite3.Connection) -> object:
        local = sync_rows.read_known(reader, OWNER, [id])[id].local
        return None if local is None else local.extra

    return await client.store.threads.reader.run(look)


async def give_extra(client: Client, id: object, text: str) -> None:
    """Store an unknown field, as a newer client would."""
    await client.store.threads.writer.run(
        lambda connection: connection.execute(
            "UPDATE memories SET extra = ?, version = version + 1 WHERE id = ?", (text, str(id))
        )
    )


async def test_fields_of_a_newer_client_come_through_an_older_server_and_client(
    new_clients: NewClients,
) -> None:
    """This server and the second client do not know `mood`; neither loses nor changes it."""
    async with AsyncExitStack() as stack:
        newer, older = [await stack.enter_async_context(client) for client in new_clients(2)]
        memory = await newer.service.remember(Draft("the harbour"))
        await give_extra(newer, memory.id, '{"mood": {"is": ["calm", null, 0.1]}}')
        await settle(newer, older)
        known = {"mood": {"is": ["calm", None, 0.1]}}
        assert await extra_of(older, memory.id) == known
        await older.service.update(str(memory.id), {"content": "the old harbour"})
        await settle(older, newer)
        assert await extra_of(newer, memory.id) == known
        assert (await newer.listed())[memory.id].content == "the old harbour"
        await give_extra(newer, memory.id, '{"mood": "wild"}')
        await older.service.update(str(memory.id), {"importance": 1.0})
        await settle(newer, older)
        assert await extra_of(older, memory.id) == {"mood": "wild"}
        assert (await newer.all()) == (await older.all())
        assert await newer.revisions() == {}


async def test_a_field_that_cannot_be_stored_is_refused_and_parked(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        (client,) = [await stack.enter_async_context(each) for each in new_clients(1)]
        memory = await client.service.remember(Draft("the harbour"))
        await give_extra(client, memory.id, '{"mood": "a\\u0000b"}')
        await client.service.remember(Draft("the bridge"))
        await client.sync()
        (parked,) = (await client.sync_store.status()).parked
        assert parked.id == memory.id
        assert "NUL" in parked.reason


@pytest.mark.parametrize("protocol", [PROTOCOL - 1, PROTOCOL + 1])
def test_another_protocol_is_reported_clearly(server: Running, protocol: int) -> None:
    older = "client" if protocol < PROTOCOL else "this side"
    with server.client() as client:
        query: dict[str, int | str] = {"protocol": protocol, "store": str(uuid4())}
        answers = [
            client.get("sync/pull", params=query),
            client.post("sync/push", json={**query}),
        ]
    for answer in answers:
        assert answer.status_code == 422
        problem = answer.json()
        assert f"the client speaks sync protocol {protocol}" in problem["detail"]
        assert f"the older side, which is {older}" in problem["remedy"]
    with pytest.raises(InvalidInput, match=f"the server speaks sync protocol {protocol}"):
        check_protocol(protocol, by="server")


async def test_a_client_of_another_protocol_parks_nothing(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        (client,) = [await stack.enter_async_context(each) for each in new_clients(1)]
        await client.service.remember(Draft("the harbour"))
        client.remote.protocol = PROTOCOL + 1
        for work in (client.sync, client.push):
            with pytest.raises(InvalidInput, match="sync protocol"):
                await work()
        status = await client.sync_store.status()
        assert (status.waiting, status.parked) == (1, ())


async def test_a_server_set_back_gets_what_it_lost(
    new_clients: NewClients, server: Running
) -> None:
    """As after restoring an old backup: newer memories and positions are gone."""
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(client) for client in new_clients(2)]
        old = await one.service.remember(Draft("old"))
        await settle(one, two)
        late = await one.service.remember(Draft("late"))
        changed = await one.service.update(str(old.id), {"content": "old, but changed"})
        await settle(one, two)
        secret = server.server.settings.database_url
        assert secret is not None
        with psycopg.connect(secret.get_secret_value(), autocommit=True) as database:
            database.execute("delete from memories where id = %s", (late.id,))
            database.execute("delete from changes where memory_id = %s", (late.id,))
            database.execute(
                "update memories set content = 'old', version = 1 where id = %s", (old.id,)
            )
            database.execute("update changes set edits = '{}' where memory_id = %s", (old.id,))
            high = database.execute("select max(position) from owners").fetchone()
            assert high is not None
            for client in (one, two):  # as if the positions were lower
                far = _page(await client.remote.pull(uuid4(), 0, 1, count=False))
                await client.sync_store.apply_page(replace(far, cursor=high[0] + 1000))
        await settle(one, two)
        assert await one.all() == await two.all()
        revisions = [r.fields.get("content") for r in (await one.revisions()).values()]
        contents = [m.content for m in (await one.listed()).values()]
        assert "late" in contents
        assert changed.content in [*contents, *revisions]


def _page(page: ChangePage) -> ChangePage:
    return replace(page, memories=(), revisions=())
