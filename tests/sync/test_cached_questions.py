"""Queries to a cached store that one of its two sides cannot or must not answer."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.serving import Running
from tests.sync.clients import with_short_timeout
from tests.sync.test_cached import cached, sync_once

from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import InvalidInput, NotFound, StoreUnavailable
from recollect.core.memory.memory import Draft
from recollect.core.recall.explain import WhyReport
from recollect.core.recall.request import RecallRequest, Recollection
from recollect.ports.service import Service

pytestmark = pytest.mark.anyio

AWAY = "http://127.0.0.1:9"
BY_MEANING = RecallRequest("harbour", weights={"lexical": 0.0})
SENSITIVE_QUERY = RecallRequest("harbour", is_sensitive=True)


class Watched:
    """A server that records its calls, and may take its time for a `why`."""

    def __init__(self, server: Service) -> None:
        self._server = server
        self.asked: list[str] = []
        self.why_takes = 0.0

    async def recall(self, request: RecallRequest) -> Recollection:
        self.asked.append("recall")
        return await self._server.recall(request)

    async def why(self, reference: str, request: RecallRequest) -> WhyReport:
        self.asked.append("why")
        await asyncio.sleep(self.why_takes)
        return await self._server.why(reference, request)


@pytest.fixture
def silent() -> Iterator[str]:
    """Return the URL of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def mark_all_sent(home: Path) -> None:
    """Mark everything as sent, as if the server had what is here."""
    with closing(sqlite3.connect(home / "memories.db")) as store, store:
        store.execute("DELETE FROM outbox")


async def test_a_recall_that_is_not_for_this_store_is_answered_by_the_server(
    server: Running, tmp_path: Path
) -> None:
    """There is no model here: what matters is that the server is asked, and its answer is used."""
    async with cached(tmp_path, server.url, server.new_key()) as client:
        memory = await client.service.remember(Draft("the harbour"))
        await sync_once(client)
        there = await client.service.remote.recall(BY_MEANING)
        answer = await client.service.recall(BY_MEANING)
        assert answer.legs["lexical"].status == "skipped"
        assert ([hit.memory.id for hit in answer.hits], answer.note) == (
            [hit.memory.id for hit in there.hits],
            None,
        )
        assert [hit.memory for hit in (await client.service.recall(SENSITIVE_QUERY)).hits] == [
            memory
        ]


async def test_a_recall_that_is_not_for_this_store_fails_without_the_server(
    tmp_path: Path, silent: str
) -> None:
    async with cached(tmp_path / "away", AWAY, "rk_x") as client:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await client.service.recall(BY_MEANING)
        with pytest.raises(InvalidInput, match="every available leg has weight 0"):
            await client.service.local.recall(BY_MEANING)
    async with cached(tmp_path / "silent", silent, "rk_x") as client:
        with pytest.raises(StoreUnavailable, match="did not answer in time"):
            await with_short_timeout(client.service).recall(BY_MEANING)


async def test_a_failing_local_store_is_named_although_the_server_answers(
    server: Running, tmp_path: Path
) -> None:
    class Failing:
        def __init__(self, local: Service) -> None:
            self.settings = local.settings

        async def recall(self, request: RecallRequest) -> Recollection:
            raise StoreUnavailable("the store did not answer", remedy="Try again.")

    async with cached(tmp_path, server.url, server.new_key()) as client:
        memory = await client.service.remember(Draft("the harbour"))
        await sync_once(client)
        failing = replace(client.service, local=cast("Service", Failing(client.service.local)))
        answer = await failing.recall(RecallRequest("harbour"))
        assert [hit.memory for hit in answer.hits] == [memory]
        assert answer.note == "without what only the local store has: the store did not answer"


async def test_a_sensitive_query_is_sent_only_to_a_server_on_this_machine(
    server: Running, tmp_path: Path
) -> None:
    """Recall and `why` agree."""
    key = server.new_key()
    async with (
        cached(tmp_path / "one", server.url, key) as one,
        cached(tmp_path / "two", server.url, key) as two,
    ):
        memory = await two.service.remember(Draft("the harbour"))
        await sync_once(two)
        watched = Watched(one.service.remote)
        here = replace(one.service, remote=cast("Service", watched))
        # Not pulled yet: only the server can know it.
        assert [hit.memory.id for hit in (await here.recall(SENSITIVE_QUERY)).hits] == [memory.id]
        assert (await here.why(str(memory.id), SENSITIVE_QUERY)).note is None
        assert watched.asked == ["recall", "why"]

        elsewhere = replace(here, is_here=False)
        await sync_once(one)
        answer = await elsewhere.recall(SENSITIVE_QUERY)
        assert [hit.memory for hit in answer.hits] == [memory]
        assert (answer.legs["dense"].status, answer.degraded) == ("skipped", ())
        assert "a sensitive query stays on this machine" in str(answer.note)
        report = await elsewhere.why(str(memory.id), SENSITIVE_QUERY)
        assert report.recalled
        assert report.legs["dense"].facts.status == "skipped"
        assert "a sensitive query stays on this machine" in str(report.note)
        assert watched.asked == ["recall", "why"]


async def test_why_may_take_longer_than_a_recall(server: Running, tmp_path: Path) -> None:
    async with cached(tmp_path, server.url, server.new_key()) as client:
        memory = await client.service.remember(Draft("the harbour"))
        await sync_once(client)
        await client.service.local.change_settings({"deadline_ms": 10})
        watched = Watched(client.service.remote)
        watched.why_takes = 0.02
        slow = replace(client.service, remote=cast("Service", watched))
        report = await slow.why(str(memory.id), RecallRequest("harbour"))
        assert (report.recalled, report.note) == (True, None)


async def test_why_says_when_the_server_did_not_answer_in_time(tmp_path: Path, silent: str) -> None:
    async with cached(tmp_path, silent, "rk_x") as client:
        memory = await client.service.remember(Draft("the harbour"))
        mark_all_sent(tmp_path)
        impatiently = replace(client.service, timeouts=Timeouts(remote_why=0.05))
        report = await impatiently.why(str(memory.id), RecallRequest("quay"))
        assert (report.recalled, report.memory) == (False, memory)
        assert report.note == (
            "answered by the local store, by words alone: the server did not answer in time"
        )
        assert report.legs["dense"].facts.status == "late"
        reasons = [reason.what for reason in report.kept_out]
        assert "the dense leg did not answer in time" in reasons
        assert not [what for what in reasons if "there is no" in what]


async def test_why_says_when_the_server_cannot_be_reached(tmp_path: Path) -> None:
    async with cached(tmp_path, AWAY, "rk_x") as client:
        memory = await client.service.remember(Draft("the harbour"))
        mark_all_sent(tmp_path)
        report = await client.service.why(str(memory.id), RecallRequest("harbour"))
        assert report.recalled
        assert "by words alone: the server at http://127.0.0.1:9 cannot be reached" in str(
            report.note
        )
        with pytest.raises(NotFound):
            await client.service.why("0190abcd", RecallRequest("harbour"))


async def test_why_notes_a_memory_that_differs_on_the_server(
    server: Running, tmp_path: Path
) -> None:
    key = server.new_key()
    async with (
        cached(tmp_path / "one", server.url, key) as one,
        cached(tmp_path / "two", server.url, key) as two,
    ):
        memory = await one.service.remember(Draft("the harbour"))
        note = "by words alone: the server does not have it as it is here"
        new = await one.service.why(str(memory.id), RecallRequest("harbour"))
        assert new.recalled
        assert note in str(new.note)
        await sync_once(one)
        assert (await one.service.why(str(memory.id), RecallRequest("harbour"))).note is None
        await one.service.update(str(memory.id), {"content": "the quay"})
        edited = await one.service.why(str(memory.id), RecallRequest("harbour"))
        assert (edited.recalled, edited.memory.content) == (False, "the quay")
        assert note in str(edited.note)
        assert (await two.service.why(str(memory.id), RecallRequest("harbour"))).note is None


async def test_legs_with_weight_0_are_not_reported_as_missing(tmp_path: Path) -> None:
    async with cached(tmp_path, AWAY, "rk_x") as client:
        await client.service.remember(Draft("the harbour"))
        answer = await client.service.recall(RecallRequest("harbour", weights={"dense": 0.0}))
        assert answer.legs["dense"].status == "skipped"
        assert answer.degraded == ("graph",)
