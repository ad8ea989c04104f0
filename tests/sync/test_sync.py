"""Two clients and a real server: the outcome of every kind of concurrent change."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.serving import Running
from tests.sync.clients import Client, Crashed, settle
from tests.sync.conftest import NewClients

from recollect.adapters.http.client import RemoteService
from recollect.core.errors import Conflict, NotFound
from recollect.core.memory.memory import Draft, Memory
from recollect.core.recall.request import RecallRequest
from recollect.core.sync.model import SyncStatus

pytestmark = pytest.mark.anyio


async def open_clients(stack: AsyncExitStack, clients: list[Client]) -> list[Client]:
    return [await stack.enter_async_context(client) for client in clients]


async def share(one: Client, two: Client, content: str = "the harbour") -> Memory:
    """Create a memory that both clients have."""
    memory = await one.service.remember(Draft(content))
    await settle(one, two)
    return memory


async def test_what_one_writes_the_other_gets(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        stored = await one.service.remember(Draft("the harbour", tags=("a", "b"), importance=0.1))
        await settle(one, two)
        assert await two.listed() == {stored.id: stored}
        changed = await two.service.update(str(stored.id), {"content": "the old harbour"})
        await settle(one, two)
        assert await one.listed() == {stored.id: changed}
        await one.service.forget(str(stored.id))
        await settle(one, two)
        assert await two.listed() == {}
        assert (await two.all())[stored.id].deleted_at is not None
        assert await one.sync_store.status() == SyncStatus(
            last_sync_at=(await one.sync_store.status()).last_sync_at
        )


async def test_changes_of_different_fields_are_both_kept(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        memory = await share(one, two)
        await one.service.update(str(memory.id), {"importance": 0.9})
        await two.service.update(str(memory.id), {"tags": ("sea",)})
        await settle(one, two)
        (merged,) = (await one.listed()).values()
        assert (merged.importance, merged.tags) == (0.9, ("sea",))
        assert await one.all() == await two.all()
        assert await one.revisions() == {}


async def test_of_two_values_of_a_field_the_server_wins_and_the_other_is_saved(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        memory = await share(one, two)
        await one.service.update(str(memory.id), {"content": "first"})
        await two.service.update(str(memory.id), {"content": "second", "importance": 1.0})
        await settle(one, two)
        (current,) = (await two.listed()).values()
        assert (current.content, current.importance) == ("first", 1.0)
        assert await one.all() == await two.all()
        (revision,) = (await one.revisions()).values()
        assert (revision.kind, revision.fields) == ("edit", {"content": "second"})
        assert await one.revisions() == await two.revisions()
        await one.service.resolve(str(revision.id), "other")
        await settle(one, two)
        (current,) = (await two.listed()).values()
        assert current.content == "second"
        assert await one.revisions() == await two.revisions() == {}


async def test_forgetting_against_an_edit_is_a_conflict(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        memory = await share(one, two)
        other = await share(one, two, "the bridge")
        await one.service.forget(str(memory.id))
        await two.service.update(str(memory.id), {"content": "a change"})
        await one.service.update(str(other.id), {"content": "the new bridge"})
        await two.service.forget(str(other.id))
        await settle(one, two)
        assert await one.all() == await two.all()
        assert [m.content for m in (await one.listed()).values()] == ["the new bridge"]
        by_memory = {revision.memory_id: revision for revision in (await two.revisions()).values()}
        assert by_memory[memory.id].kind == "edit"
        assert by_memory[memory.id].fields["content"] == "a change"
        assert by_memory[other.id].kind == "forget"
        await two.service.resolve(str(memory.id), "other")
        await two.service.resolve(str(other.id), "other")
        await settle(one, two)
        assert [m.content for m in (await one.listed()).values()] == ["a change"]


async def test_erasing_travels_without_content(new_clients: NewClients, server: Running) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        memory = await share(one, two, "xyloquartz")
        await one.service.forget(str(memory.id), forever=True)
        await settle(one, two)
        assert await two.all() == {}
        await two.close()
        text = b"".join(file.read_bytes() for file in two.path.iterdir())
        assert b"xyloquartz" not in text
        await two.open()
        remote = await stack.enter_async_context(RemoteService(server.url, one.key))
        with pytest.raises(NotFound):
            await remote.get(str(memory.id))


async def test_an_edit_of_what_was_erased_elsewhere_is_kept_here_alone(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        memory = await share(one, two)
        await two.service.update(str(memory.id), {"content": "written on the train"})
        await one.service.forget(str(memory.id), forever=True)
        await settle(one, two)
        assert await one.all() == await two.all() == {}
        (revision,) = (await two.revisions()).values()
        assert (revision.kind, revision.fields["content"]) == ("orphan", "written on the train")
        assert await one.revisions() == {}
        await two.service.resolve(str(revision.id), "other")
        await settle(one, two)
        (anew,) = (await one.listed()).values()
        assert (anew.content, anew.id != memory.id) == ("written on the train", True)
        assert await two.revisions() == {}


async def test_erasing_what_was_edited_elsewhere_is_a_conflict(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        memory = await share(one, two)
        await one.service.update(str(memory.id), {"content": "an edit"})
        await two.service.forget(str(memory.id), forever=True)
        await one.sync()
        await settle(two, one)
        assert (await two.listed())[memory.id].content == "an edit"
        (revision,) = (await one.revisions()).values()
        assert (revision.kind, revision.fields) == ("erase", {})
        await one.service.resolve(str(revision.id), "other")
        await settle(one, two)
        assert await one.all() == await two.all() == {}
        assert await one.revisions() == await two.revisions() == {}


async def test_sensitive_memories_stay_unless_allowed(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        secret = await one.service.remember(Draft("a private matter", is_sensitive=True))
        open_ = await share(one, two)
        assert set(await two.all()) == {open_.id}
        assert (await one.sync_store.status()).held == 1
        changes = {"content": "another private matter", "is_sensitive": True}
        await one.service.update(str(open_.id), changes)  # type: ignore[arg-type]  # as named
        await settle(one, two)
        there = (await two.all())[open_.id]
        assert (there.content, there.is_sensitive) == ("the harbour", True)
        assert (await one.all())[open_.id].content == "another private matter"
        assert set(await two.all()) == {open_.id}
        assert secret.id in await one.all()


async def test_sensitive_memories_travel_when_allowed(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2, sensitive=True))
        secret = await one.service.remember(Draft("a private matter", is_sensitive=True))
        await settle(one, two)
        assert await two.listed() == {secret.id: secret}


async def test_another_owners_key_is_refused_before_anything_is_mixed(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        (client,) = await open_clients(stack, new_clients(1))
        (other,) = new_clients(1)
        await client.service.remember(Draft("mine"))
        await client.sync()
        client.key = other.key
        await client.service.remember(Draft("mine alone"))
        await client.crash()
        with pytest.raises(Conflict, match="belongs to another"):
            await client.sync()
        await stack.enter_async_context(other)
        await other.sync()
        assert await other.all() == {}
        await client.sync_store.reset(relink=True)
        await settle(client, other)
        contents = [m.content for m in (await other.listed()).values()]
        assert sorted(contents) == ["mine", "mine alone"]  # another owner's ids are no conflict


async def test_memories_of_a_store_that_was_local_are_sent(new_clients: NewClients) -> None:
    """The outbox is also filled in local mode."""
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        stored = [await one.service.remember(Draft(f"number {n}")) for n in range(5)]
        await one.service.forget(str(stored[0].id), forever=True)
        await one.service.update(str(stored[1].id), {"content": "changed"})
        await settle(one, two)
        assert set(await two.all()) == {memory.id for memory in stored[1:]}


async def test_a_first_sync_is_paged_and_resumes_where_it_was_interrupted(
    new_clients: NewClients, server: Running
) -> None:
    """Meanwhile recall works on what has arrived."""
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        for number in range(450):
            await one.service.remember(Draft(f"number {number} of the harbour"))
        await one.sync()
        assert max(len(items) for items, _ in one.faults.pushes) == 200
        two.faults.at, two.faults.after = 10, True
        with pytest.raises(Crashed):
            await two.pull()
        await two.crash()
        there = len(await two.listed())
        assert 0 < there < 450
        found = await two.service.recall(RecallRequest("harbour", limit=5))
        assert len(found.hits) == 5
        two.faults.at, two.faults.calls = None, 0
        await two.pull()
        assert await two.listed() == await one.listed()
        pages = -(-(450 - there) // 200)
        assert two.faults.calls <= 6 * pages + 1  # the former names of projects, with the last


async def test_a_read_only_key_pulls_although_it_cannot_push(
    server: Running, tmp_path: Path
) -> None:
    owner = "ada, who reads"
    async with AsyncExitStack() as stack:
        one, reader = await open_clients(
            stack,
            [
                Client(tmp_path / role, server.url, server.new_key(owner, role=role))
                for role in ("member", "read-only")
            ],
        )
        stored = [await one.service.remember(Draft(f"ship {n} is in")) for n in range(3)]
        await one.sync()
        waiting = await reader.service.remember(Draft("the harbour is closed"))
        await reader.sync()
        assert set(await reader.listed()) == {waiting.id, *(each.id for each in stored)}
        status = await reader.sync_store.status()
        assert status.waiting == 1
        assert status.last_sync_at is not None
        assert "read-only" in str(status.last_error)
        assert status.remedy
        assert not status.key_refused
