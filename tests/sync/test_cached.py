"""A cached store as an agent sees it: immediate answers, and recall from the server if possible."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.serving import Running
from tests.sync.clients import with_short_timeout

from recollect import settings
from recollect.core.errors import NotFound, StoreUnavailable
from recollect.core.memory.memory import Draft, Scope
from recollect.core.recall.request import RecallRequest, Recollection
from recollect.ports.service import Service
from recollect.usecases.sync.sync import sync
from recollect.wiring.local import Cached, open_cached

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def cached(home: Path, url: str, key: str) -> AsyncIterator[Cached]:
    async with open_cached(settings.load(home=home, api_url=url, api_key=key)) as opened:
        yield opened


async def sync_once(client: Cached) -> None:
    await sync(client.sync, client.server, client.clock)


async def recall_texts(client: Cached, query: str) -> list[str]:
    answer = await client.service.recall(RecallRequest(query))
    return [hit.memory.content for hit in answer.hits]


async def test_recall_merges_the_server_with_what_only_the_client_has(
    server: Running, tmp_path: Path
) -> None:
    key = server.new_key()
    async with (
        cached(tmp_path / "one", server.url, key) as one,
        cached(tmp_path / "two", server.url, key) as two,
    ):
        await two.service.remember(Draft("the harbour of two"))
        forgotten = await two.service.remember(Draft("the harbour that was"))
        old = await two.service.remember(Draft("the harbour is small"))
        await sync_once(two)
        # Not pulled yet, and still found: by the server.
        assert set(await recall_texts(one, "harbour")) == {
            "the harbour of two",
            "the harbour that was",
            "the harbour is small",
        }
        assert (await one.service.get(str(forgotten.id))).content == "the harbour that was"
        await sync_once(one)
        await one.service.forget(str(forgotten.id))
        await one.service.update(str(old.id), {"content": "the harbour is large"})
        await one.service.remember(Draft("the harbour of one"))
        await one.service.remember(Draft("the secret harbour", is_sensitive=True))
        answer = await one.service.recall(RecallRequest("harbour"))
        assert {hit.memory.content for hit in answer.hits} == {
            "the harbour of two",
            "the harbour is large",
            "the harbour of one",
            "the secret harbour",
        }
        assert answer.note is None
        # What only this store has is ranked as this store, which has everything, ranks it.
        here = await one.service.local.recall(RecallRequest("harbour"))
        own = {
            place: hit.memory.content
            for place, hit in enumerate(here.hits)
            if hit.memory.content in ("the harbour of one", "the secret harbour")
        }
        assert len(own) == 2
        assert own == {place: answer.hits[place].memory.content for place in own}


async def test_without_the_server_recall_answers_by_words_and_says_so(tmp_path: Path) -> None:
    async with cached(tmp_path, "http://127.0.0.1:9", "rk_x") as client:
        memory = await client.service.remember(Draft("the harbour"))
        answer = await client.service.recall(RecallRequest("harbour"))
        assert [hit.memory for hit in answer.hits] == [memory]
        assert answer.note is not None
        assert "by words alone: the server at http://127.0.0.1:9 cannot be reached" in answer.note
        assert answer.degraded == ("dense", "graph")
        assert (await client.service.why(str(memory.id), RecallRequest("harbour"))).recalled
        with pytest.raises(NotFound):
            await client.service.get("0190abcd")
        with pytest.raises(StoreUnavailable):
            await client.service.settings()
        assert (await client.service.status()).waiting == 1


async def test_recall_answers_without_a_server_that_times_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with cached(tmp_path, url, "rk_x") as client:
            await client.service.remember(Draft("the harbour"))
            answer = await with_short_timeout(client.service).recall(RecallRequest("harbour"))
            assert len(answer.hits) == 1
            assert answer.note is not None
            assert "did not answer in time" in answer.note
            assert answer.legs["dense"].status == "late"


async def test_a_sensitive_query_does_not_leave(server: Running, tmp_path: Path) -> None:
    async with cached(tmp_path, server.url, server.new_key()) as client:
        remote = client.service.remote

        class Watched:
            asked = 0

            async def recall(self, request: RecallRequest) -> object:
                self.asked += 1
                return await remote.recall(request)

        watched = Watched()
        elsewhere = replace(client.service, is_here=False)
        recollect = replace(elsewhere, remote=watched)  # type: ignore[arg-type]  # recalls only
        await recollect.remember(Draft("the harbour"))
        answer = await recollect.recall(RecallRequest("harbour", is_sensitive=True))
        assert (len(answer.hits), watched.asked) == (1, 0)
        await recollect.recall(RecallRequest("harbour"))
        assert watched.asked == 1


async def test_the_engine_inside_sends_what_is_written(server: Running, tmp_path: Path) -> None:
    key = server.new_key()
    async with (
        cached(tmp_path / "one", server.url, key) as one,
        cached(tmp_path / "two", server.url, key) as two,
        one.syncing(),
    ):
        memory = await one.service.remember(Draft("the harbour"))
        async with asyncio.timeout(60):
            while True:
                await sync_once(two)
                try:
                    assert await two.service.local.get(str(memory.id)) == memory
                except NotFound:
                    await asyncio.sleep(0.02)
                else:
                    break


async def test_a_memory_that_is_sent_while_the_server_searches_is_still_found(
    server: Running, tmp_path: Path
) -> None:
    async with cached(tmp_path / "one", server.url, server.new_key()) as client:

        class SentMeanwhile:
            """A server that receives the write just after it has searched."""

            async def recall(self, request: RecallRequest) -> Recollection:
                answer = await client.service.remote.recall(request)
                await sync_once(client)
                return answer

        await client.service.remember(Draft("the harbour of one"))
        between = replace(client.service, remote=cast("Service", SentMeanwhile()))
        answer = await between.recall(RecallRequest("harbour"))
        assert [hit.memory.content for hit in answer.hits] == ["the harbour of one"]


async def test_what_was_not_pulled_yet_is_changed_on_the_server(
    server: Running, tmp_path: Path
) -> None:
    async with cached(tmp_path, server.url, server.new_key()) as client:
        there, here = client.service.remote, client.service
        id = str((await there.remember(Draft("the harbour"))).id)
        other = str((await there.remember(Draft("the lighthouse"))).id)
        await here.update(id, {"content": "the old harbour"})
        assert [former.content for former in await here.history(id)] == [
            "the old harbour",
            "the harbour",
        ]
        assert (await here.restore(id, 1)).content == "the harbour"
        assert (await here.link(id, "see_also", other)).links
        assert not (await here.unlink(id, "see_also", other)).links
        await here.forget(id)
        with pytest.raises(NotFound):
            await there.get(id)
        with pytest.raises(NotFound):
            await client.service.local.get(other)


async def test_a_version_from_before_the_first_sync_is_restored_on_the_server(
    server: Running, tmp_path: Path
) -> None:
    async with cached(tmp_path, server.url, server.new_key()) as client:
        id = str((await client.service.remote.remember(Draft("the harbour"))).id)
        await client.service.remote.update(id, {"content": "the old harbour"})
        await sync_once(client)
        assert (await client.service.restore(id, 1)).content == "the harbour"
        await sync_once(client)
        assert (await client.service.get(id)).content == "the harbour"


async def test_a_new_machine_lists_what_the_server_has(server: Running, tmp_path: Path) -> None:
    key = server.new_key()
    async with cached(tmp_path / "one", server.url, key) as one:
        for number in range(5):
            await one.service.remember(Draft(f"fact {number}", project="github.com/ada/shop"))
        await sync_once(one)
    async with cached(tmp_path / "two", server.url, key) as two:
        await two.service.remember(Draft("written here", project="github.com/ada/shop"))
        assert await two.service.resolve_project("shop") == "github.com/ada/shop"
        assert (await two.service.stats()).memories == 5
        listed: list[str] = []
        cursor: str | None = None
        while cursor is not None or not listed:
            page = await two.service.page(Scope(project="shop"), cursor, 2)
            listed += [memory.content for memory in page.memories]
            cursor = page.next_cursor
        assert listed == ["written here", *(f"fact {number}" for number in (4, 3, 2, 1, 0))]
        assert await two.run.push_briefly() is None
        page = await two.service.page(Scope(), None, 50)
        assert len(page.memories) == 6
    async with cached(tmp_path / "three", "http://127.0.0.1:1", key) as three:
        with pytest.raises(StoreUnavailable):
            await three.service.page(Scope(), None, 50)
        await three.service.remember(Draft("alone"))
        page = await three.service.page(Scope(), None, 50)
        assert [memory.content for memory in page.memories] == ["alone"]


async def test_a_renamed_project_is_known_by_both_names_everywhere(
    server: Running, tmp_path: Path
) -> None:
    key = server.new_key()
    old, new = "shop-0a1b2c3d", "github.com/ada/shop"

    async def named(one: Cached, project: str) -> set[str]:
        page = await one.service.page(Scope(project=project), None, 50)
        assert page.scope.project == new
        return {memory.content for memory in page.memories}

    async with (
        cached(tmp_path / "one", server.url, key) as one,
        cached(tmp_path / "two", server.url, key) as two,
    ):
        await one.service.remember(Draft("fact of one", project=old))
        await sync_once(one)
        await sync_once(two)
        # Written while it does not know yet.
        late = await two.service.remember(Draft("fact of two", project=old))
        assert (await one.service.rename_project(old, new)).memories == 1
        assert await named(one, old) == {"fact of one"}
        await sync_once(one)
        await sync_once(two)
        assert await named(two, old) == {"fact of one", "fact of two"}
        assert (await two.service.remember(Draft("fact three", project=old))).project == new
        await sync_once(two)
        await sync_once(one)
        assert await named(one, old) == {"fact of one", "fact of two", "fact three"}
        for side in (one, two):
            assert (await side.service.stats()).former_names == {old: new}
            assert (await side.service.status()).waiting == 0
            assert await side.service.conflicts() == []
        assert (await one.service.get(str(late.id))).project == new
        found = await one.service.recall(RecallRequest("fact", scope=Scope(project=old)))
        assert len(found.hits) == 3
        # Back again, from the other machine.
        await two.service.rename_project(new, old)
        await sync_once(two)
        await sync_once(one)
        for side in (one, two):
            assert (await side.service.stats()).by_project == {old: 3}
            assert (await side.service.stats()).former_names == {new: old}
