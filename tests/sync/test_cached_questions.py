"""What a cached store does with questions that one of its two sides cannot answer, or must not."""

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
from tests.sync.clients import impatient
from tests.sync.test_cached import cached, synced

from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import InvalidInput, NotFound, StoreUnavailable
from recollect.core.memory.memory import Draft
from recollect.core.recall.explain import WhyReport
from recollect.core.recall.request import RecallRequest, Recollection
from recollect.ports.service import Service

pytestmark = pytest.mark.anyio

AWAY = "http://127.0.0.1:9"
BY_MEANING = RecallRequest("harbour", weights={"lexical": 0.0})
SECRETLY = RecallRequest("harbour", is_sensitive=True)


class Watched:
    """A server that counts what it is asked, and may need its time for a `why`."""

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
    """The address of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def as_if_sent(home: Path) -> None:
    """The server has what is here, as far as this store knows."""
    with closing(sqlite3.connect(home / "memories.db")) as store, store:
        store.execute("DELETE FROM outbox")


async def test_a_recall_that_is_not_for_this_store_is_answered_by_the_server(
    server: Running, tmp_path: Path
) -> None:
    """There is no model here: what matters is that the server is asked, and its answer stands."""
    async with cached(tmp_path, server.url, server.new_key()) as one:
        memory = await one.service.remember(Draft("the harbour"))
        await synced(one)
        there = await one.service.remote.recall(BY_MEANING)
        answer = await one.service.recall(BY_MEANING)
        assert answer.legs["lexical"].status == "skipped"
        assert ([hit.memory.id for hit in answer.hits], answer.note) == (
            [hit.memory.id for hit in there.hits],
            None,
        )
        assert [hit.memory for hit in (await one.service.recall(SECRETLY)).hits] == [memory]


async def test_a_recall_that_is_not_for_this_store_fails_without_the_server(
    tmp_path: Path, silent: str
) -> None:
    async with cached(tmp_path / "away", AWAY, "rk_x") as one:
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await one.service.recall(BY_MEANING)
        with pytest.raises(InvalidInput, match="every available leg has weight 0"):
            await one.service.local.recall(BY_MEANING)
    async with cached(tmp_path / "silent", silent, "rk_x") as one:
        with pytest.raises(StoreUnavailable, match="did not answer in time"):
            await impatient(one.service).recall(BY_MEANING)


async def test_a_local_store_that_fails_beside_a_server_that_answers_is_named(
    server: Running, tmp_path: Path
) -> None:
    class Failing:
        def __init__(self, local: Service) -> None:
            self.settings = local.settings

        async def recall(self, request: RecallRequest) -> Recollection:
            raise StoreUnavailable("the store did not answer", remedy="Try again.")

    async with cached(tmp_path, server.url, server.new_key()) as one:
        memory = await one.service.remember(Draft("the harbour"))
        await synced(one)
        failing = replace(one.service, local=cast("Service", Failing(one.service.local)))
        answer = await failing.recall(RecallRequest("harbour"))
        assert [hit.memory for hit in answer.hits] == [memory]
        assert answer.note == "without what only the local store has: the store did not answer"


async def test_a_sensitive_query_is_asked_of_a_server_on_this_machine_alone(
    server: Running, tmp_path: Path
) -> None:
    """Recall and `why` agree."""
    key = server.new_key()
    async with (
        cached(tmp_path / "one", server.url, key) as one,
        cached(tmp_path / "two", server.url, key) as two,
    ):
        memory = await two.service.remember(Draft("the harbour"))
        await synced(two)
        watched = Watched(one.service.remote)
        here = replace(one.service, remote=cast("Service", watched))
        # Not pulled yet: only the server can know it.
        assert [hit.memory.id for hit in (await here.recall(SECRETLY)).hits] == [memory.id]
        assert (await here.why(str(memory.id), SECRETLY)).note is None
        assert watched.asked == ["recall", "why"]

        elsewhere = replace(here, is_here=False)
        await synced(one)
        answer = await elsewhere.recall(SECRETLY)
        assert [hit.memory for hit in answer.hits] == [memory]
        assert (answer.legs["dense"].status, answer.degraded) == ("skipped", ())
        assert "a sensitive query stays on this machine" in str(answer.note)
        report = await elsewhere.why(str(memory.id), SECRETLY)
        assert report.recalled
        assert report.legs["dense"].facts.status == "skipped"
        assert "a sensitive query stays on this machine" in str(report.note)
        assert watched.asked == ["recall", "why"]


async def test_why_may_take_longer_than_a_recall(server: Running, tmp_path: Path) -> None:
    async with cached(tmp_path, server.url, server.new_key()) as one:
        memory = await one.service.remember(Draft("the harbour"))
        await synced(one)
        await one.service.local.change_settings({"deadline_ms": 10})
        watched = Watched(one.service.remote)
        watched.why_takes = 0.02
        slow = replace(one.service, remote=cast("Service", watched))
        report = await slow.why(str(memory.id), RecallRequest("harbour"))
        assert (report.recalled, report.note) == (True, None)


async def test_why_says_when_the_server_did_not_answer_in_time(tmp_path: Path, silent: str) -> None:
    async with cached(tmp_path, silent, "rk_x") as one:
        memory = await one.service.remember(Draft("the harbour"))
        as_if_sent(tmp_path)
        impatiently = replace(one.service, timeouts=Timeouts(remote_why=0.05))
        report = await impatiently.why(str(memory.id), RecallRequest("quay"))
        assert (report.recalled, report.memory) == (False, memory)
        assert report.note == (
            "answered by the local store, by words alone: the server did not answer in time"
        )
        assert report.legs["dense"].facts.status == "late"
        told = [one.what for one in report.kept_out]
        assert "the dense leg did not answer in time" in told
        assert not [what for what in told if "there is no" in what]


async def test_why_says_when_the_server_cannot_be_reached(tmp_path: Path) -> None:
    async with cached(tmp_path, AWAY, "rk_x") as one:
        memory = await one.service.remember(Draft("the harbour"))
        as_if_sent(tmp_path)
        report = await one.service.why(str(memory.id), RecallRequest("harbour"))
        assert report.recalled
        assert "by words alone: the server at http://127.0.0.1:9 cannot be reached" in str(
            report.note
        )
        with pytest.raises(NotFound):
            await one.service.why("0190abcd", RecallRequest("harbour"))


async def test_why_of_what_the_server_does_not_have_as_it_is_here(
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
        await synced(one)
        assert (await one.service.why(str(memory.id), RecallRequest("harbour"))).note is None
        await one.service.update(str(memory.id), {"content": "the quay"})
        edited = await one.service.why(str(memory.id), RecallRequest("harbour"))
        assert (edited.recalled, edited.memory.content) == (False, "the quay")
        assert note in str(edited.note)
        assert (await two.service.why(str(memory.id), RecallRequest("harbour"))).note is None


async def test_legs_that_were_not_to_be_asked_are_not_missed(tmp_path: Path) -> None:
    async with cached(tmp_path, AWAY, "rk_x") as one:
        await one.service.remember(Draft("the harbour"))
        answer = await one.service.recall(RecallRequest("harbour", weights={"dense": 0.0}))
        assert answer.legs["dense"].status == "skipped"
        assert answer.degraded == ("graph",)
