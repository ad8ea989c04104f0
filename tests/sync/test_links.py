"""Links between memories over sync: the links of both sides are merged, older versions lose none,
and a target may arrive later or be erased.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.serving import Running
from tests.strategies import MOMENT, new_id
from tests.sync.clients import Client, settle
from tests.sync.conftest import NewClients
from tests.sync.test_cached import cached, sync_once

from recollect.adapters.http.client import RemoteService
from recollect.core.memory.links import MAX_LINKS, Link
from recollect.core.memory.memory import Draft
from recollect.core.recall.request import RecallRequest

pytestmark = pytest.mark.anyio


async def open_clients(stack: AsyncExitStack, clients: list[Client]) -> list[Client]:
    return [await stack.enter_async_context(client) for client in clients]


async def links_of(client: Client, id: UUID) -> tuple[Link, ...]:
    return (await client.all())[id].links


async def test_both_sides_add_links_and_both_have_all(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        base, left, right = [
            await one.service.remember(Draft(text)) for text in ("base", "left", "right")
        ]
        await one.service.link(str(base.id), "see_also", str(left.id))
        await settle(one, two)
        await one.service.link(str(base.id), "part_of", str(right.id))
        await two.service.unlink(str(base.id), "see_also", str(left.id))
        await two.service.link(str(base.id), "supersedes", str(left.id))
        await settle(one, two)
        assert await links_of(one, base.id) == (
            Link("part_of", right.id),
            Link("supersedes", left.id),
        )
        assert await one.all() == await two.all()
        assert await one.revisions() == {}


async def test_links_do_not_hide_a_conflict_of_texts(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        base = await one.service.remember(Draft("base"))
        other = await one.service.remember(Draft("other"))
        await settle(one, two)
        await one.service.update(str(base.id), {"content": "first"})
        await two.service.update(
            str(base.id), {"content": "second", "links": (Link("see_also", other.id),)}
        )
        await settle(one, two)
        assert await links_of(one, base.id) == (Link("see_also", other.id),)
        (revision,) = (await one.revisions()).values()
        assert revision.fields == {"content": "second"}


async def test_too_many_links_are_a_conflict_that_can_be_resolved(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        base = await one.service.remember(Draft("base"))
        await settle(one, two)
        many = tuple(sorted(Link("see_also", new_id()) for _ in range(MAX_LINKS)))
        few = (Link("part_of", new_id()),)
        await one.service.update(str(base.id), {"links": few})
        await two.service.update(str(base.id), {"links": many})
        await settle(one, two)
        assert await links_of(two, base.id) == few
        (revision,) = (await two.revisions()).values()
        await two.service.resolve(str(revision.id), "other")
        await settle(one, two)
        assert await links_of(one, base.id) == many
        assert (await one.sync_store.status()).parked == ()


async def test_a_link_outlives_its_target_and_comes_before_it(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        later = new_id()
        memory = await one.service.remember(
            Draft("the harbour floods", links=(Link("resolved_by", later),))
        )
        await settle(one, two)
        (hit,) = (await two.service.recall(RecallRequest("floods"))).hits
        assert [(pointer.target, pointer.is_dangling) for pointer in hit.pointers] == [
            (later, True)
        ]
        await one.service.remember(Draft("a wall was built", id=later))
        await settle(one, two)
        (hit,) = (await two.service.recall(RecallRequest("floods"))).hits
        assert [memory.content for memory in hit.attached] == ["a wall was built"]
        await one.service.forget(str(later), forever=True)
        await settle(one, two)
        (hit,) = (await two.service.recall(RecallRequest("floods"))).hits
        assert (hit.memory.id, hit.attached) == (memory.id, ())
        assert hit.pointers[0].is_dangling


async def test_an_orphan_is_restored_with_its_links_and_lifetime(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        base = await one.service.remember(Draft("base", valid_from=MOMENT))
        other = await one.service.remember(Draft("other"))
        await settle(one, two)
        await one.service.forget(str(base.id), forever=True)
        await two.service.link(str(base.id), "see_also", str(other.id))
        await settle(one, two)
        (revision,) = (await two.revisions()).values()
        assert revision.kind == "orphan"
        await two.service.resolve(str(revision.id), "other")
        again = [memory for memory in (await two.listed()).values() if memory.content == "base"]
        assert [memory.links for memory in again] == [(Link("see_also", other.id),)]
        assert [memory.valid_from for memory in again] == [MOMENT]


async def test_links_of_this_store_alone_are_followed_in_what_the_server_finds(
    server: Running, tmp_path: Path
) -> None:
    """A sensitive successor stays here; still, the superseded text is not served."""
    async with cached(tmp_path, server.url, server.new_key()) as client:
        old = await client.service.remember(Draft("the harbour is shallow"))
        await sync_once(client)
        new = await client.service.remember(
            Draft("dredged for the navy", is_sensitive=True, links=(Link("supersedes", old.id),))
        )
        (hit,) = (await client.service.recall(RecallRequest("harbour"))).hits
        assert (hit.memory.id, hit.stands_for) == (new.id, (old.id,))
        await client.service.forget(str(new.id))
        (hit,) = (await client.service.recall(RecallRequest("harbour"))).hits
        assert hit.memory.id == old.id


async def test_links_through_the_remote_client(server: Running) -> None:
    async with RemoteService(server.url, server.new_key()) as there:
        old = await there.remember(Draft("the harbour is shallow"))
        new = await there.remember(Draft("dredged", links=(Link("supersedes", old.id),)))
        assert new.links == (Link("supersedes", old.id),)
        (hit,) = (await there.recall(RecallRequest("harbour"))).hits
        assert (hit.memory, hit.stands_for, hit.ranked_as) == (new, (old.id,), old.id)
        report = await there.why(str(old.id), RecallRequest("harbour"))
        assert report.superseded_by == new.id
        bare = await there.unlink(str(new.id), "supersedes", str(old.id)[:30])
        assert bare.links == ()
        again = await there.link(str(new.id), "resolved_by", str(old.id))
        assert await there.link(str(new.id), "resolved_by", str(old.id)) == again
        changed = await there.update(str(new.id), {"links": (Link("part_of", old.id),)})
        assert changed.links == (Link("part_of", old.id),)
        assert await there.get(str(new.id)) == changed


async def test_synced_changes_are_versions_and_erasing_removes_all_of_them(
    new_clients: NewClients,
) -> None:
    """Each side stores the versions it saw; a tombstone leaves none on either side."""
    async with AsyncExitStack() as stack:
        one, two = await open_clients(stack, new_clients(2))
        memory = await one.service.remember(Draft("the harbour"))
        await settle(one, two)
        changed = await one.service.update(str(memory.id), {"content": "the port"})
        await settle(one, two)
        then = RecallRequest("harbour port", as_of=changed.updated_at - timedelta(microseconds=1))
        for recollect in (one.service, two.service, one.remote):
            (hit,) = (await recollect.recall(then)).hits
            assert (hit.memory.content, hit.memory.version) == ("the harbour", 1)
        await one.service.forget(str(memory.id), forever=True)
        await settle(one, two)
        for recollect in (one.service, two.service, one.remote):
            assert (await recollect.recall(then)).hits == ()
        assert b"the harbour" not in (two.path / "memories.db").read_bytes()


async def test_a_cached_recall_as_of_a_moment_shows_the_texts_of_then(
    server: Running, tmp_path: Path
) -> None:
    async with cached(tmp_path, server.url, server.new_key()) as client:
        sent = await client.service.remember(Draft("the harbour is shallow"))
        held = await client.service.remember(Draft("the harbour guard", is_sensitive=True))
        await sync_once(client)
        await client.service.update(str(sent.id), {"content": "the port is deep"})
        await sync_once(client)
        await client.service.update(str(held.id), {"content": "the port guard"})
        then = RecallRequest("harbour", as_of=held.updated_at)
        found = await client.service.recall(then)
        assert {hit.memory.content for hit in found.hits} == {
            "the harbour is shallow",
            "the harbour guard",
        }
        assert (await client.service.recall(RecallRequest("harbour"))).hits == ()
