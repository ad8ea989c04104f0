"""How long the remote client waits for what, and what it makes of a server of another version."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

import httpx
import pytest
from tests.adapters.test_remote import answering, ask

from recollect.adapters import remote as remote_module
from recollect.adapters.remote import RemoteRecollect
from recollect.core.errors import StoreUnavailable
from recollect.core.memory import EVERYWHERE, Draft
from recollect.core.recall import RecallRequest
from recollect.core.recall_settings import RecallSettings

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
        async with RemoteRecollect("http://127.0.0.1:1", "rk_x") as remote:
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


_REFUSED = httpx.ConnectTimeout("nobody there")
_SILENT = httpx.ReadTimeout("no answer")
_LOST = httpx.RemoteProtocolError("the connection ended")


@pytest.mark.parametrize(
    ("asked", "error", "told"),
    [
        (lambda remote: remote.change_settings({"depth": 80}), _SILENT, True),
        (lambda remote: remote.change_settings({"depth": 80}), _LOST, True),
        (lambda remote: remote.change_settings({"depth": 80}), _REFUSED, False),
        (lambda remote: remote.remember(Draft("x")), _SILENT, True),
        (lambda remote: remote.update(str(UUID(int=1)), {"importance": 1.0}), _SILENT, True),
        (lambda remote: remote.forget(str(UUID(int=1))), _SILENT, True),
        (lambda remote: remote.settings(), _SILENT, False),
        (lambda remote: remote.recall(RecallRequest("x")), _SILENT, False),
    ],
)
def test_a_change_without_an_answer_may_be_made(
    asked: Callable[[RemoteRecollect], Awaitable[object]],
    error: httpx.TransportError,
    *,
    told: bool,
) -> None:
    def fails(_: httpx.Request) -> httpx.Response:
        raise error

    async def asking() -> None:
        async with RemoteRecollect("http://127.0.0.1:1", "rk_x") as remote:
            remote._client._transport = httpx.MockTransport(fails)
            await asked(remote)

    with pytest.raises(StoreUnavailable) as caught:
        asyncio.run(asking())
    assert ("may be made all the same" in str(caught.value)) is told
    assert ("See whether it is made" in caught.value.remedy) is told


def test_settings_are_read_whatever_the_version_of_the_server() -> None:
    said = b'{"lexical_weight": 2.0, "fusion": "of a newer one", "unheard_of": [1]}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said)
    with answering(answer) as (url, _):
        found = ask(url, "rk_x", lambda remote: remote.settings())
    assert found == RecallSettings(lexical_weight=2.0)
    nothing = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with answering(nothing) as (url, _), pytest.raises(StoreUnavailable, match="not a Recollect"):
        ask(url, "rk_x", lambda remote: remote.settings())
