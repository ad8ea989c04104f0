"""How long the remote client waits for what, and what it makes of a server of another version."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import httpx
import pytest
from tests.adapters.http.test_client import answering, ask

from recollect.adapters.http import client as remote_module
from recollect.adapters.http.client import RemoteService
from recollect.core.errors import StoreUnavailable
from recollect.core.memory.memory import EVERYWHERE, Draft
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.settings import RecallSettings

# As it is when nobody has made it longer for a busy machine.
SOON = remote_module._SOON


def test_what_is_soon_done_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of each request, told by a transport that then gives up."""
    monkeypatch.setattr(remote_module, "_SOON", httpx.Timeout(7.0))
    limits: dict[str, float] = {}

    def gives_up(request: httpx.Request) -> httpx.Response:
        place = f"{request.method} {request.url.path.removeprefix('/api/v1/')}"
        limits[place] = request.extensions["timeout"]["read"]
        raise httpx.ReadTimeout("no answer")

    async def asking() -> None:
        async with RemoteService("http://127.0.0.1:1", "rk_x") as remote:
            remote._client._transport = httpx.MockTransport(gives_up)
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

    asyncio.run(asking())
    assert limits == {
        **dict.fromkeys(("GET settings", "PATCH settings", "GET settings/audit"), 7.0),
        **dict.fromkeys(("GET stats", f"GET memories/{UUID(int=1)}", "GET memories"), 7.0),
        "GET conflicts": 7.0,
        **dict.fromkeys(("POST recall", "POST why", "POST erase"), 65.0),
    }
    assert SOON.read == 15.0


@asynccontextmanager
async def unanswering(
    until: Callable[[asyncio.StreamReader], Awaitable[object]],
) -> AsyncIterator[str]:
    """The address of a server that reads so far, and ends the connection without a word."""
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
    ("asked", "told"),
    [
        (lambda remote: remote.change_settings({"depth": 80}), True),
        (lambda remote: remote.remember(Draft("x")), True),
        (lambda remote: remote.update(str(UUID(int=1)), {"importance": 1.0}), True),
        (lambda remote: remote.forget(str(UUID(int=1))), True),
        (lambda remote: remote.settings(), False),
        (lambda remote: remote.recall(RecallRequest("x")), False),
    ],
)
def test_a_change_without_an_answer_may_be_made(
    asked: Callable[[RemoteService], Awaitable[object]], *, told: bool
) -> None:
    """Of a server that goes away after it has read what was asked."""

    async def asking() -> None:
        async with (
            unanswering(lambda reader: reader.readuntil(b"\r\n\r\n")) as address,
            RemoteService(address, "rk_x") as remote,
        ):
            await asked(remote)

    with pytest.raises(StoreUnavailable) as caught:
        asyncio.run(asking())
    assert ("may be made all the same" in str(caught.value)) is told
    assert ("See whether it is made" in caught.value.remedy) is told


def test_a_change_that_nobody_received_is_not_made() -> None:
    async def asking() -> None:
        async with await asyncio.start_server(
            lambda _, writer: writer.close(), "127.0.0.1", 0
        ) as gone:
            port = gone.sockets[0].getsockname()[1]
        async with RemoteService(f"http://127.0.0.1:{port}", "rk_x") as remote:
            await remote.change_settings({"depth": 80})

    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        asyncio.run(asking())
    assert "may be made" not in str(caught.value)


def test_a_change_that_is_not_answered_in_time_may_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote_module, "_SOON", httpx.Timeout(0.2, connect=30.0))

    async def asking() -> None:
        async with (
            # All that comes, until the client has given up.
            unanswering(lambda reader: reader.read()) as address,
            RemoteService(address, "rk_x") as remote,
        ):
            await remote.change_settings({"depth": 80})

    with pytest.raises(StoreUnavailable, match="did not answer in time; the change may be made"):
        asyncio.run(asking())


def test_settings_are_read_whatever_the_version_of_the_server() -> None:
    said = b'{"lexical_weight": 2.0, "fusion": "of a newer one", "unheard_of": [1]}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said)
    with answering(answer) as (url, _):
        found = ask(url, "rk_x", lambda remote: remote.settings())
    assert found == RecallSettings(lexical_weight=2.0)
    nothing = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with answering(nothing) as (url, _), pytest.raises(StoreUnavailable, match="not a Recollect"):
        ask(url, "rk_x", lambda remote: remote.settings())
