"""How long the remote client waits for each request, and how it reads newer settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import httpx
import pytest
from tests.adapters.http.test_client import ask, serve_answer

from recollect.adapters.http.client import RemoteService
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import StoreUnavailable
from recollect.core.memory.memory import EVERYWHERE, Draft
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.settings import RecallSettings

pytestmark = pytest.mark.anyio


async def test_short_requests_have_a_short_timeout() -> None:
    """Checked with a transport that never answers and records each request's timeout."""
    limits: dict[str, float] = {}

    def time_out(request: httpx.Request) -> httpx.Response:
        place = f"{request.method} {request.url.path.removeprefix('/api/v1/')}"
        limits[place] = request.extensions["timeout"]["read"]
        raise httpx.ReadTimeout("no answer")

    async with RemoteService(
        "http://127.0.0.1:1",
        "rk_x",
        timeouts=Timeouts(short_request=7.0),
        transport=httpx.MockTransport(time_out),
    ) as remote:
        query, id = RecallRequest("x"), str(UUID(int=1))
        for question in (
            remote.settings(),
            remote.change_settings({"depth": 80}),
            remote.settings_log(1),
            remote.stats(),
            remote.get(id),
            remote.page(EVERYWHERE, None, 1),
            remote.conflicts(),
            remote.recall(query),
            remote.why(id, query),
            remote.erase_owner("me"),
        ):
            with pytest.raises(StoreUnavailable, match="did not answer in time"):
                await question
    assert limits == {
        **dict.fromkeys(("GET settings", "PATCH settings", "GET settings/audit"), 7.0),
        **dict.fromkeys(("GET stats", f"GET memories/{UUID(int=1)}", "GET memories"), 7.0),
        "GET conflicts": 7.0,
        **dict.fromkeys(("POST recall", "POST why", "POST erase"), 65.0),
    }


@asynccontextmanager
async def serve_without_answer(
    until: Callable[[asyncio.StreamReader], Awaitable[object]],
) -> AsyncIterator[str]:
    """Run a server that closes the connection without an answer after `until`; its address."""
    ended = asyncio.Event()

    async def read_and_go(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await until(reader)
        writer.close()
        await writer.wait_closed()
        ended.set()

    async with await asyncio.start_server(read_and_go, "127.0.0.1", 0) as server:
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            async with asyncio.timeout(60):
                await ended.wait()


@pytest.mark.parametrize(
    ("asked", "may_be_applied"),
    [
        (lambda remote: remote.change_settings({"depth": 80}), True),
        (lambda remote: remote.remember(Draft("x")), True),
        (lambda remote: remote.update(str(UUID(int=1)), {"importance": 1.0}), True),
        (lambda remote: remote.forget(str(UUID(int=1))), True),
        (lambda remote: remote.settings(), False),
        (lambda remote: remote.recall(RecallRequest("x")), False),
    ],
)
async def test_a_change_without_an_answer_may_have_been_applied(
    asked: Callable[[RemoteService], Awaitable[object]], *, may_be_applied: bool
) -> None:
    """The server goes away after it has read the request."""
    with pytest.raises(StoreUnavailable) as caught:
        async with (
            serve_without_answer(lambda reader: reader.readuntil(b"\r\n\r\n")) as address,
            RemoteService(address, "rk_x") as remote,
        ):
            await asked(remote)
    assert ("may have been applied anyway" in str(caught.value)) is may_be_applied
    assert ("Check whether it was applied" in caught.value.remedy) is may_be_applied


async def test_a_change_that_was_never_sent_is_not_applied() -> None:
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as gone:
        port = gone.sockets[0].getsockname()[1]
    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        async with RemoteService(f"http://127.0.0.1:{port}", "rk_x") as remote:
            await remote.change_settings({"depth": 80})
    assert "may have been" not in str(caught.value)


async def test_a_change_that_is_not_answered_in_time_may_have_been_applied() -> None:
    timeouts = Timeouts(short_request=0.2, connect=30.0)

    with pytest.raises(StoreUnavailable, match="did not answer in time; the change may have been"):
        async with (
            # Read until the client gives up.
            serve_without_answer(lambda reader: reader.read()) as address,
            RemoteService(address, "rk_x", timeouts=timeouts) as remote,
        ):
            await remote.change_settings({"depth": 80})


async def test_settings_are_read_whatever_the_version_of_the_server() -> None:
    body = b'{"lexical_weight": 2.0, "fusion": "of a newer one", "unheard_of": [1]}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with serve_answer(answer) as (url, _):
        found = await ask(url, "rk_x", lambda remote: remote.settings())
    assert found == RecallSettings(lexical_weight=2.0)
    nothing = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with (
        serve_answer(nothing) as (url, _),
        pytest.raises(StoreUnavailable, match="not a Recollect"),
    ):
        await ask(url, "rk_x", lambda remote: remote.settings())
