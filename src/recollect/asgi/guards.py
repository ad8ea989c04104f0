"""Guards that stand in front of an app: the Host check, the body limit, the key.

Each is one ASGI middleware that either answers with a problem or lets the request through.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.asgi.problems import (
    TOO_LARGE,
    WRONG_HOST,
    WRONG_ORIGIN,
    error_response,
    problem,
    problem_response,
)
from recollect.core.errors import NotAllowed, RecollectError
from recollect.ports import KeyStore
from recollect.usecases.keys import owner_of

MAX_BODY: Final = 1024 * 1024
# A client hears the answer only after it has sent its body: so much of it is read and dropped.
_MAX_DRAINED: Final = 16 * MAX_BODY
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
OWNER: Final = "recollect.owner"


class HostCheck:
    """Answers only to names this server is known by. Otherwise a web page anywhere could point its
    own name at this machine and read its memories through the visitor's browser (DNS rebinding).
    A browser also says in `Origin` which site's page is asking: that must be one of these names.
    """

    def __init__(self, app: ASGIApp, allowed: Iterable[str]) -> None:
        self._app = app
        self._allowed = LOOPBACK_NAMES | {_bracketed(name.lower()) for name in allowed}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        named = headers.getlist("host")
        if len(named) == 1 and _without_port(named[0].lower()) in self._allowed:
            origins = headers.getlist("origin")
            if all(_site(origin.lower()) in self._allowed for origin in origins):
                await self._app(scope, receive, send)
                return
            answer = problem_response(
                problem(
                    WRONG_ORIGIN,
                    "the Origin header names a site that this server is not known as",
                    "Open the page that the server printed, or add the site's host to "
                    "RECOLLECT_ALLOWED_HOSTS and start the server again.",
                )
            )
            await answer(scope, receive, send)
            return
        answer = problem_response(
            problem(
                WRONG_HOST,
                "the Host header names a server that this one is not known as",
                "Use the address that the server printed, or add the name you use to "
                "RECOLLECT_ALLOWED_HOSTS and start the server again.",
            )
        )
        await answer(scope, receive, send)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and (port.isdecimal() or not port) and not host.endswith("]") else host


def _site(origin: str) -> str:
    """The host of an Origin; nothing where it is `null`, as a sandboxed page says."""
    return _without_port(origin.partition("://")[2])


def _bracketed(name: str) -> str:
    """An IPv6 address as it stands in a Host header."""
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


class BodyLimit:
    """Reads a body whole, up to a limit, before anything else looks at the request."""

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await self._read(receive)
        if body is None:
            answer = problem_response(
                problem(
                    TOO_LARGE,
                    f"the request's body is over {self._limit:,} bytes",
                    "Send less at once: split the memory, or name fewer ids.",
                )
            )
            await answer(scope, receive, send)
            return
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, replay, send)

    async def _read(self, receive: Receive) -> bytes | None:
        """The body; None when it is over the limit."""
        body, size, more = bytearray(), 0, True
        while more and size <= _MAX_DRAINED:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            chunk = message.get("body", b"")
            size += len(chunk)
            more = message.get("more_body", False)
            if size <= self._limit:
                body += chunk
        return bytes(body) if size <= self._limit else None


class KeyRequired:
    """Lets through who shows a known key, and notes whose it is; everything that is not named as
    open is closed. `prefix` limits the guard to one part of an app.
    """

    def __init__(
        self, app: ASGIApp, keys: KeyStore, prefix: str = "/", open_paths: Collection[str] = ()
    ) -> None:
        self._app = app
        self._keys = keys
        self._prefix = prefix
        self._open = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or not scope["path"].startswith(self._prefix)
            or scope["path"] in self._open
        ):
            await self._app(scope, receive, send)
            return
        try:
            scope[OWNER] = await owner_of(self._keys, _shown_key(Headers(scope=scope)))
        except RecollectError as error:
            await error_response(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _shown_key(headers: Headers) -> str:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise NotAllowed(
            "no key was sent",
            remedy="Send the header `Authorization: Bearer KEY` with the key of this server.",
        )
    return key.strip()
