"""The remote client against a real server: the same port, exact round trips, the same errors."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

import pytest
from tests.core.privacy.addresses import ELSEWHERE, HERE, NO_ADDRESS
from tests.serving import Running, running
from tests.strategies import new_id
from tests.waiting import DEFAULT_SETTINGS, SECONDS

from recollect.adapters.http.client import RemoteService
from recollect.adapters.http.lazy import LazyServer
from recollect.adapters.http.sync import RemoteSync
from recollect.core.errors import (
    AmbiguousId,
    Conflict,
    InvalidInput,
    NotAllowed,
    NotFound,
    RecollectError,
    StoreError,
    StoreUnavailable,
)
from recollect.core.memory.memory import EVERYWHERE, Draft, Memory, Scope
from recollect.core.privacy.egress import is_loopback
from recollect.core.recall.request import RecallRequest, RerankReport
from recollect.ports.service import Service
from recollect.usecases.service import LocalService
from recollect.wire.problems import KINDS, Problem

pytestmark = pytest.mark.anyio

Answer = TypeVar("Answer")


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Running]:
    with running(database_url, tmp_path) as up:
        yield up


async def ask(url: str, key: str, question: Callable[[Service], Awaitable[Answer]]) -> Answer:
    async with RemoteService(url, key) as remote:
        return await question(remote)


async def read_both(server: Running, remote: Service, reference: str) -> tuple[Memory, Memory]:
    """Return one memory as the client reads it and as the server's own use case does."""
    there = await remote.get(reference)
    local = asyncio.wrap_future(
        asyncio.run_coroutine_threadsafe(
            LocalService(server.server.context, there.owner).get(reference), server.loop
        )
    )
    return there, await local


async def test_the_whole_port_works_and_nothing_is_lost_on_the_way(server: Running) -> None:
    async def live_through(remote: Service) -> None:
        draft = Draft(
            content="Ünïcode 🐘 \u202eright to left\n\ttab \u2028 separator",
            category="episode",
            tags=("α", "b c"),
            expanded_keywords=("elephant",),
            importance=0.1 + 0.2,
            is_sensitive=True,
            project="shop",
            session="s1",
            id=new_id(),
        )
        stored = await remote.remember(draft)
        assert await remote.remember(draft) == stored
        assert stored.importance == 0.1 + 0.2
        assert stored.created_at.tzinfo is UTC
        there, local = await read_both(server, remote, str(stored.id)[:20])
        assert there == local == stored

        changed = await remote.update(str(stored.id), {"project": None, "tags": ()}, based_on=1)
        assert (changed.project, changed.tags, changed.session) == (None, (), "s1")
        assert (changed.version, changed.created_at) == (2, stored.created_at)

        found = await remote.recall(RecallRequest("elephant"))
        assert [hit.memory for hit in found.hits] == [changed]
        assert found.hits[0].legs["lexical"].rank == 1
        assert found.hits[0].score == found.hits[0].fused * found.hits[0].prior
        assert found.legs["lexical"].status == "ran"
        assert (await remote.stats()).sensitive == 1

        assert await remote.forget(str(stored.id)) == stored.id
        assert (await remote.stats()).forgotten == 1
        assert await remote.forget(str(stored.id), forever=True) == stored.id
        assert (await remote.stats()).forgotten == 0

    await ask(server.url, server.new_key(), live_through)


async def test_pages_and_scopes_reach_the_server(server: Running) -> None:
    async def list_pages(remote: Service) -> None:
        for number in range(3):
            await remote.remember(
                Draft(f"number {number}", project="a & b=c", tags=("x", str(number)))
            )
        last = (await remote.page(EVERYWHERE, None, 1)).memories[0]
        first = await remote.page(Scope(project="a & b=c", tags=("x",)), None, 2)
        rest = await remote.page(Scope(project="a & b=c", tags=("x",)), first.next_cursor, 2)
        contents = [memory.content for page in (first, rest) for memory in page.memories]
        assert contents == ["number 2", "number 1", "number 0"]
        assert rest.next_cursor is None

        microsecond = timedelta(microseconds=1)
        until = Scope(until=last.created_at)
        assert last not in (await remote.page(until, None, 10)).memories
        since = Scope(since=last.created_at, until=last.created_at + microsecond)
        assert (await remote.page(since, None, 10)).memories == (last,)
        scoped = RecallRequest("number", scope=since, exclude=frozenset([uuid4()]))
        assert [hit.memory for hit in (await remote.recall(scoped)).hits] == [last]
        excluded = RecallRequest("number", scope=since, exclude=frozenset([last.id]))
        assert (await remote.recall(excluded)).hits == ()
        skipped = await remote.recall(RecallRequest("number", weights={"lexical": 0.0}))
        assert skipped.legs["lexical"].status == "skipped"

    await ask(server.url, server.new_key(), list_pages)


async def test_settings_typed_as_text_are_sent_as_numbers(server: Running) -> None:
    async def change_settings(remote: Service) -> None:
        assert await remote.settings() == DEFAULT_SETTINGS
        changed = await remote.change_settings({"rrf_k": "10", "fusion": "convex"})
        assert changed == replace(DEFAULT_SETTINGS, rrf_k=10, fusion="convex")
        assert await remote.settings() == changed
        await remote.change_settings({"second_stage": "off"})
        log = await remote.settings_log(10)
        assert [(entry.name, entry.old, entry.new) for entry in log] == [
            ("second_stage", None, "off"),
            ("rrf_k", None, 10),
            ("fusion", None, "convex"),
        ]
        assert log[0].at.tzinfo is UTC

    await ask(server.url, server.new_key(), change_settings)


async def test_why_returns_the_servers_report(server: Running) -> None:
    async def use_service(remote: Service) -> None:
        stored = await remote.remember(Draft("lunch is at noon", project="kitchen"))
        request = RecallRequest("lunch", scope=Scope(project="garden"), is_sensitive=True)
        there = await remote.why(str(stored.id)[:20], request)
        here = await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(
                LocalService(server.server.context, stored.owner).why(str(stored.id), request),
                server.loop,
            )
        )
        assert there == here
        assert there.kept_out[0].kind == "out_of_scope"
        found = await remote.recall(RecallRequest("lunch"))
        assert found.hits[0].rerank is None
        assert found.rerank == RerankReport(
            "skipped", note="the query was not embedded", stage="late"
        )

    await ask(server.url, server.new_key(), use_service)


@pytest.mark.parametrize("text", ["a \x00 b", "🐘" * 100_001, "x" * 1_000_000])
async def test_any_text_can_be_asked_and_what_cannot_be_stored_is_refused_in_words(
    server: Running, text: str
) -> None:
    async def use_service(remote: Service) -> None:
        await remote.recall(RecallRequest(text, expanded_query=text))
        with pytest.raises(InvalidInput) as caught:
            await remote.remember(Draft(text))
        assert caught.value.remedy
        with pytest.raises(InvalidInput):
            await remote.get(text)

    await ask(server.url, server.new_key(), use_service)


async def test_errors_are_those_of_the_server(server: Running) -> None:
    async def cause_errors(remote: Service) -> None:
        one, other = [await remote.remember(Draft(text)) for text in ("one", "other")]

        async def expect_error(kind: type[RecollectError], question: Awaitable[object]) -> str:
            with pytest.raises(kind) as caught:
                await question
            assert type(caught.value) is kind
            assert caught.value.remedy
            return str(caught.value)

        assert "there is no memory" in await expect_error(NotFound, remote.get(str(uuid4())))
        assert "matches several" in await expect_error(AmbiguousId, remote.get(str(one.id)[:4]))
        late = remote.update(str(one.id), {"content": "x"}, based_on=7)
        assert "version 1 is current" in await expect_error(Conflict, late)
        await expect_error(Conflict, remote.remember(Draft("third", id=other.id)))
        await expect_error(InvalidInput, remote.update(str(one.id), {}))
        with pytest.raises(InvalidInput) as caught:
            await remote.remember(Draft("x", importance=7))
        assert caught.value.field == "importance"
        with pytest.raises(InvalidInput) as caught:
            await remote.recall(RecallRequest("x", scope=Scope(categories=("rumour",))))
        assert caught.value.field == "category"

    await ask(server.url, server.new_key(), cause_errors)
    with pytest.raises(NotAllowed):
        await ask(server.url, "rk_unknown", lambda remote: remote.stats())


def test_every_error_survives_the_way_through_a_problem() -> None:
    for cls in KINDS:
        made = (
            cls("what", field="which", remedy="how")
            if issubclass(cls, InvalidInput)
            else cls("what", remedy="how")
        )
        back = Problem.model_validate_json(Problem.from_error(made).model_dump_json()).to_error()
        assert (type(back), str(back), back.remedy) == (cls, "what", "how")
        assert getattr(back, "field", None) == getattr(made, "field", None)


def test_problems_of_an_unknown_kind_are_mapped_by_status() -> None:
    def convert_back(status: int) -> RecollectError:
        problem = Problem(type="urn:new", title="t", status=status, detail="d", remedy="r")
        return problem.to_error()

    assert type(convert_back(418)) is InvalidInput
    assert type(convert_back(500)) is StoreError


async def test_an_unreachable_server_is_reported_with_how_to_start_one() -> None:
    with socket.socket() as taken:  # bound but not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StoreUnavailable) as caught:
            await ask(url, "rk_x", lambda remote: remote.stats())
    assert "recollect serve" in caught.value.remedy


@pytest.mark.parametrize(
    "url",
    ["http://192.0.2.1:8420", "http://memory.example", "http://127.0.0.1.evil.example/"],
)
def test_a_key_is_never_sent_unencrypted_over_a_network(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        RemoteService(url, "rk_x")
    assert "https" in caught.value.remedy
    assert "A tunnel counts as this machine" in caught.value.remedy


@pytest.mark.parametrize(
    "url",
    ["", "ftp://x", "localhost:8420", "http://", "http://[::1", "x\0y"]
    + ["http://127.0.0.1:99999", "https://memory.example:0"]
    + [f"http://127.0.0.1:8420/{part}" for part in ("mcp", "api/v1", "api/v1/", "api/v1/docs")]
    + ["https://memory.example/team/api/v1/"],
)
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        RemoteService(url, "rk_x")
    assert caught.value.field == "RECOLLECT_API_URL"


@pytest.mark.parametrize("url", [*HERE, *ELSEWHERE, *NO_ADDRESS])
def test_the_client_and_the_egress_rule_agree_on_loopback(url: str) -> None:
    """Over http only this machine is accepted, and an https address is this machine only where the
    rule says so: nothing sensitive is sent to an address that the rule considers remote.
    """
    is_here = is_loopback(url.strip())
    try:
        client = RemoteSync(url, "rk_x", owner="ada")
    except InvalidInput:
        assert not is_here
    else:
        assert client.is_here == is_here
        assert LazyServer(url, "rk_x", lambda: client).is_here == is_here


@pytest.mark.parametrize("key", ["", "two words", "новый", "line\nbreak"])
def test_what_cannot_be_a_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        RemoteService("http://127.0.0.1:1", key)
    assert caught.value.field == "RECOLLECT_API_KEY"


@contextmanager
def serve_answer(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Run something on loopback that is not Recollect and answers every connection alike."""
    import threading

    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(SECONDS)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    received.append(connection.recv(65_536))
                    connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", received
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbroken",
        b"SSH-2.0-OpenSSH_9.2\r\n",
    ],
)
async def test_another_service_is_reported_as_not_recollect(answer: bytes) -> None:
    with serve_answer(answer) as (url, _), pytest.raises(StoreUnavailable) as caught:
        await ask(url, "rk_x", lambda remote: remote.stats())
    assert "RECOLLECT_API_URL" in caught.value.remedy


async def test_a_redirect_is_not_followed_with_the_key() -> None:
    with serve_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") as (elsewhere, received):
        redirect = f"HTTP/1.1 307 Go\r\nLocation: {elsewhere}/x\r\nContent-Length: 0\r\n\r\n"
        with serve_answer(redirect.encode()) as (url, asked), pytest.raises(StoreUnavailable):
            await ask(url, "rk_secret", lambda remote: remote.stats())
    assert b"Bearer rk_secret" in asked[0]
    assert received == []


async def test_the_time_of_a_memory_keeps_its_microseconds(server: Running) -> None:
    async def use_service(remote: Service) -> None:
        stored = await remote.remember(Draft("when"))
        assert abs(datetime.now(UTC) - stored.created_at) < timedelta(minutes=5)
        there, local = await read_both(server, remote, str(stored.id))
        assert there.created_at == local.created_at == stored.created_at

    await ask(server.url, server.new_key(), use_service)


@pytest.mark.parametrize(
    "question",
    [
        lambda remote: remote.remember(Draft("the safe's code", is_sensitive=True)),
        lambda remote: remote.update(
            str(uuid4()), {"content": "the safe's code", "is_sensitive": True}
        ),
        lambda remote: remote.update(
            str(uuid4()), {"project": "the safe's code", "is_sensitive": True}
        ),
        lambda remote: remote.recall(RecallRequest("the safe's code", is_sensitive=True)),
        lambda remote: remote.why(str(uuid4()), RecallRequest("the safe", is_sensitive=True)),
    ],
)
async def test_a_sensitive_text_is_not_sent_to_another_machine(
    question: Callable[[Service], Awaitable[object]],
) -> None:
    """The rejection comes before any connection: the name does not even resolve."""
    with pytest.raises(InvalidInput, match="stays on this machine") as raised:
        await ask("https://recollect.invalid", "rk_x", question)
    assert raised.value.field == "is_sensitive"


async def test_a_sensitive_memory_may_go_to_a_server_on_this_machine(server: Running) -> None:
    draft = Draft("the safe's code", is_sensitive=True)
    assert (
        await ask(server.url, server.new_key(), lambda remote: remote.remember(draft))
    ).is_sensitive
