"""The fast recall of hooks answers as the use case does, in every mode."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from threading import Thread

import pytest
from tests.serving import Running, running
from tests.shells.cli.commands import unhurried_home
from tests.usecases.agents.injecting import inject

from recollect.adapters.http.client import RemoteService
from recollect.adapters.http.fast_recall import recall as recall_there
from recollect.core.errors import InvalidInput, StoreUnavailable
from recollect.core.memory.links import RESOLVED_BY, SUPERSEDES, Link
from recollect.core.memory.memory import Draft, Scope
from recollect.core.recall.request import ORDERS, Hit, RecallRequest
from recollect.ports.service import Service
from recollect.settings import load
from recollect.wiring.fast_recall import FastRecall
from recollect.wiring.local import open_cached, open_service

pytestmark = pytest.mark.anyio

TEXTS = (
    "the staging database is read-only",
    "the staging database moves on Friday",
    "lunch is at noon",
    "database backups are kept for a week",
    "the harbour master keeps a database of ships",
)
QUESTIONS = (
    "staging database",
    "which database is read-only on Friday?",
    'ships AND "harbour"',
    "yellow crane",
    "",
)
LATER = time.monotonic() + 1_000_000


def scores_and_places(hits: list[Hit]) -> list[tuple[object, ...]]:
    return [
        (hit.memory, hit.score, hit.fused, hit.prior, hit.legs, hit.attached, hit.duplicates)
        for hit in hits
    ]


async def fill(recollect: Service) -> None:
    for number, text in enumerate(TEXTS):
        project = ("shop", None, "example.org/ada/harbour")[number % 3]
        await recollect.remember(Draft(text, importance=number / 10, project=project))
    for project in ("shop", None):
        await recollect.remember(Draft("the crane is painted yellow", project=project))


async def supersede_and_resolve(recollect: Service) -> None:
    """Store a chain of two, both of whose ends are found, and a memory that another resolves."""
    old, *_, ships = (await recollect.recall(RecallRequest("database", limit=10))).hits
    for text in ("no database is read-only any more", "every database is read-only again"):
        successor = Link(SUPERSEDES, old.memory.id)
        draft = Draft(text, project=old.memory.project, links=(successor,))
        old = replace(old, memory=await recollect.remember(draft))
    answer = await recollect.remember(Draft("ask the pilot", project=ships.memory.project))
    await recollect.link(str(ships.memory.id), RESOLVED_BY, str(answer.id))


@pytest.mark.parametrize("has_links", [False, True])
@pytest.mark.parametrize("changes", [{}, {"prior_strength": 1.0}, {"fusion": "rrf"}])
async def test_fast_recall_answers_as_the_use_case_on_the_local_store(
    tmp_path: Path, changes: dict[str, object], *, has_links: bool
) -> None:
    short = Scope(project="harbour")
    scopes = (Scope(), Scope(project="shop"), Scope(project="shop", with_global=True), short)
    async with open_service(load(home=tmp_path)) as recollect:
        await fill(recollect)
        if has_links:
            await supersede_and_resolve(recollect)
        if changes:
            await recollect.change_settings(changes)
        find = FastRecall(load({"RECOLLECT_HOME": str(tmp_path)}), LATER)
        for question, scope, sort_by in product(QUESTIONS, scopes, ORDERS):
            request = RecallRequest(question, limit=3, scope=scope, sort_by=sort_by)
            long = await recollect.recall(request)
            assert scores_and_places(find(request)) == scores_and_places([*long.hits])


async def test_fast_recall_injects_no_memory_outside_its_lifetime(tmp_path: Path) -> None:
    past, future = (datetime(year, 1, 1, tzinfo=UTC) for year in (2020, 2999))
    now = "the staging database is copied at night"
    drafts = (
        Draft("the staging database is read-only", valid_until=past),
        Draft("the staging database moves to Porto", valid_from=future),
        Draft(now, valid_from=past, valid_until=future),
    )
    async with open_service(load(home=tmp_path)) as recollect:
        for draft in drafts:
            await recollect.remember(draft)
        find = FastRecall(load({"RECOLLECT_HOME": str(tmp_path)}), LATER)
        request = RecallRequest("staging database")
        assert scores_and_places(find(request)) == scores_and_places(
            [*(await recollect.recall(request)).hits]
        )
    injected = inject(find, "what about the staging database?").memories
    assert [memory.content for memory in injected] == [now]


async def test_fast_recall_injects_successors_and_resolutions(tmp_path: Path) -> None:
    async with open_service(load(home=tmp_path)) as recollect:
        port = await recollect.remember(Draft("the staging port is 7000"))
        link = Link(SUPERSEDES, port.id)
        await recollect.remember(Draft("the staging port is 7001", links=(link,)))
        slow = await recollect.remember(Draft("the nightly export of invoices is slow"))
        index = await recollect.remember(Draft("create the missing index by hand"))
        secret = await recollect.remember(Draft("the door code", is_sensitive=True))
        await recollect.link(str(slow.id), RESOLVED_BY, str(index.id))
        await recollect.link(str(slow.id), RESOLVED_BY, str(secret.id))
    find = FastRecall(load({"RECOLLECT_HOME": str(tmp_path)}), LATER)

    def injected_texts(prompt: str) -> list[str]:
        return [memory.content for memory in inject(find, prompt).memories]

    assert injected_texts("which port does staging have?") == ["the staging port is 7001"]
    assert injected_texts("why is the nightly export of invoices slow?") == [
        slow.content,
        index.content,
    ]


@pytest.fixture(scope="module")
def server(cluster: object, open_folder: Path) -> Iterator[Running]:
    from tests.conftest import Cluster

    assert isinstance(cluster, Cluster)
    url = cluster.create("quick")
    with running(url, unhurried_home(open_folder / "quick")) as answering:
        yield answering
    cluster.drop("quick")


async def test_fast_recall_answers_as_the_client_on_a_server(server: Running) -> None:
    key = server.new_key()
    async with RemoteService(server.url, key) as remote:
        await fill(remote)
        await supersede_and_resolve(remote)
        scope = Scope(project="shop", with_global=True)
        for question in QUESTIONS:
            request = RecallRequest(question, limit=5, scope=scope)
            long = await remote.recall(request)
            assert scores_and_places(
                recall_there(server.url, key, request, 60.0)
            ) == scores_and_places([*long.hits])
            assert {hit.memory.project for hit in long.hits} <= {"shop", None}
        request = RecallRequest("yellow crane", scope=scope)
        (crane,) = recall_there(server.url, key, request, 60.0)
        assert len(crane.duplicates) == 1
    with pytest.raises(StoreUnavailable):
        recall_there(server.url, "rk_wrong", RecallRequest("x"), 60.0)


async def test_fast_recall_merges_the_server_with_what_only_the_store_has(
    server: Running, tmp_path: Path
) -> None:
    key = server.new_key()
    async with RemoteService(server.url, key) as remote:
        await remote.remember(Draft("the staging database is read-only"))
    async with open_cached(load(home=tmp_path, api_url=server.url, api_key=key)) as cached:
        await cached.service.remember(Draft("the staging database moves on Friday"))
    environ = {
        "RECOLLECT_HOME": str(tmp_path),
        "RECOLLECT_API_URL": server.url,
        "RECOLLECT_API_KEY": key,
    }
    request = RecallRequest("staging database")
    found = FastRecall(load(environ), LATER)(request)
    assert {hit.memory.content for hit in found} == {
        "the staging database is read-only",
        "the staging database moves on Friday",
    }
    environ["RECOLLECT_API_URL"] = "http://127.0.0.1:9"
    alone = FastRecall(load(environ), LATER)
    assert [hit.memory.content for hit in alone(request)] == [
        "the staging database moves on Friday"
    ]
    assert (alone.note, alone.by_words) == ("without the server: StoreUnavailable", True)


async def test_fast_recall_keeps_a_memory_that_is_sent_while_the_server_searches(
    tmp_path: Path,
) -> None:
    """The server does not have it while it searches, and afterwards it is no longer unsent."""

    class Sending(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            with closing(sqlite3.connect(tmp_path / "memories.db")) as connection, connection:
                connection.execute("DELETE FROM outbox")
            body = b'{"hits": []}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Sending) as server:
        Thread(target=server.serve_forever, args=(0.01,)).start()
        environ = {
            "RECOLLECT_HOME": str(tmp_path),
            "RECOLLECT_API_URL": f"http://127.0.0.1:{server.server_port}",
            "RECOLLECT_API_KEY": "rk_x",
        }
        try:
            url, key = environ["RECOLLECT_API_URL"], environ["RECOLLECT_API_KEY"]
            async with open_cached(load(home=tmp_path, api_url=url, api_key=key)) as cached:
                await cached.service.remember(Draft("the staging database is read-only"))
            find = FastRecall(load(environ), LATER)
            found = await asyncio.to_thread(find, RecallRequest("staging database"))
        finally:
            server.shutdown()
    assert [hit.memory.content for hit in found] == ["the staging database is read-only"]
    assert find.note == ""


def test_fast_recall_sends_no_sensitive_query_and_no_key_in_the_clear() -> None:
    secret = RecallRequest("is ghp_0123456789abcdefghijABCDEFGHIJ012345 still valid?")
    with pytest.raises(InvalidInput):
        recall_there("https://memory.example.org", "rk_x", secret, 1.0)
    with pytest.raises(InvalidInput) as caught:
        recall_there("http://memory.example.org", "rk_x", RecallRequest("x"), 1.0)
    with pytest.raises(InvalidInput) as refused:
        RemoteService("http://memory.example.org", "rk_x")
    assert caught.value.remedy == refused.value.remedy
