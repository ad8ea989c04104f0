"""Guards in front of an app: the Host check, the key, the body limit.

Each is an ASGI middleware that either answers with a problem or passes the request on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final
from uuid import UUID

import structlog
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.core.errors import NotAllowed, Overloaded, RecollectError
from recollect.shells.asgi.lookups import KeyLookups, SignIn
from recollect.shells.asgi.problems import (
    TOO_LARGE,
    TOO_SLOW,
    WRONG_HOST,
    WRONG_ORIGIN,
    error_response,
    problem,
    problem_response,
)

log = structlog.get_logger("recollect")

MAX_BODY: Final = 1024 * 1024
# One key may use 1/4 of the memory for bodies.
_SHARES: Final = 4
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
KEY: Final = "recollect.key"
"""Where a request's scope holds the `Key` that was sent with it."""

ARRIVED: Final = "recollect.arrived"
"""When the request arrived, by the clock of the event loop."""

FIND_KEY: Final = "recollect.find_key"
"""A function that looks the key up again; NotAllowed if it is no longer valid."""

Hold = Callable[[int], None]


class HostCheck:
    """Answers only to the server's own names. Otherwise any web page could point its own name at
    this machine and read its memories through the visitor's browser (DNS rebinding). A browser also
    sends the page's site in `Origin`: that must be one of these names too.
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
                    "the Origin header names a site that this server does not accept",
                    "Open the page at the address that the server printed, or add the site's host "
                    "to RECOLLECT_ALLOWED_HOSTS and restart the server.",
                )
            )
            await answer(scope, receive, send)
            return
        answer = problem_response(
            problem(
                WRONG_HOST,
                "the Host header names a host that this server does not accept",
                "Use the address that the server printed, or add the name you use to "
                "RECOLLECT_ALLOWED_HOSTS and restart the server.",
            )
        )
        await answer(scope, receive, send)


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and (port.isdecimal() or not port) and not host.endswith("]") else host


def _site(origin: str) -> str:
    """The host of an Origin; empty for `null`, which sandboxed pages send."""
    return _without_port(origin.partition("://")[2])


def _bracketed(name: str) -> str:
    """An IPv6 address as written in a Host header."""
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


class BodyLimit:
    """Reads the complete body of a request before an endpoint sees it: up to a limit, in limited
    time, and at most `total` bytes for all requests together, of which one key may use a quarter.
    Without a key no body is needed, and none is read.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: int = MAX_BODY,
        seconds: float = 30.0,
        total: int = 64 * MAX_BODY,
    ) -> None:
        self._app = app
        self._limit = limit
        self._seconds = seconds
        self._total = total
        self._held: Counter[UUID] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or KEY not in scope:
            await self._app(scope, receive, send)
            return
        with self._holding(scope[KEY].id) as hold:
            try:
                async with asyncio.timeout(self._seconds):
                    body = await self._read(Headers(scope=scope), receive, hold)
            except TimeoutError:
                await _too_slow(self._seconds)(scope, receive, send)
                return
            except Overloaded as error:
                await error_response(error)(scope, receive, send)
                return
            if body is None:
                await _too_large(self._limit)(scope, receive, send)
                return
            waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

            async def replay() -> Message:
                return waiting.pop() if waiting else await receive()

            await self._app(scope, replay, send)

    async def _read(self, headers: Headers, receive: Receive, hold: Hold) -> bytes | None:
        """The body; None if it exceeds the limit. The rest of such a body is not read here: the
        protocol drops it.
        """
        if int(headers.get("content-length", "0")) > self._limit:
            return None
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            chunk = message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) + len(chunk) > self._limit:
                return None
            hold(len(chunk))
            body += chunk
        return bytes(body)

    @contextmanager
    def _holding(self, key: UUID) -> Iterator[Hold]:
        """Count what one request holds until it is answered."""
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            if (
                self._held.total() + size > self._total
                or self._held[key] + size > self._total // _SHARES
            ):
                raise Overloaded(
                    "the server has no memory left for request bodies",
                    remedy="Try again in a moment, with fewer large requests at once.",
                )
            self._held[key] += size
            held += size

        try:
            yield hold
        finally:
            self._held[key] -= held
            if not self._held[key]:
                del self._held[key]


def _too_large(limit: int) -> ASGIApp:
    return problem_response(
        problem(
            TOO_LARGE,
            f"the request's body is larger than {limit:,} bytes",
            "Send fewer or shorter memories in one request.",
        )
    )


def _too_slow(seconds: float) -> ASGIApp:
    return problem_response(
        problem(
            TOO_SLOW,
            f"the request's body was not received within {seconds:g} seconds",
            "Send it again over a faster connection, or send less at once.",
        ),
        {"Connection": "close"},
    )


class KeyRequired:
    """Passes requests with a known key on, and records the key in the scope. Everything at or below
    a `closed` path needs one, except the `open_paths`. The key is checked before any of the body is
    read.
    """

    def __init__(
        self,
        app: ASGIApp,
        sign_in: SignIn,
        closed: Collection[str],
        open_paths: Collection[str] = (),
        on_refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._app = app
        self._on_refused = on_refused
        self._keys = KeyLookups(sign_in)
        self._closed = tuple(closed)
        self._open = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._needs_key(scope["path"]):
            await self._app(scope, receive, send)
            return
        scope[ARRIVED] = asyncio.get_running_loop().time()
        try:
            scope[FIND_KEY] = partial(self._keys.find, _shown_key(Headers(scope=scope)))
            scope[KEY] = await scope[FIND_KEY]()
        except RecollectError as error:
            if isinstance(error, NotAllowed):
                self._on_refused()
                log.warning("sign-in failed", client=client_of(scope), reason=str(error))
            await error_response(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _needs_key(self, path: str) -> bool:
        is_closed = any(path == closed or path.startswith(f"{closed}/") for closed in self._closed)
        return is_closed and path not in self._open


def client_of(scope: Scope) -> str:
    """The client's address: as reported by a trusted proxy, else that of the connection."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def _shown_key(headers: Headers) -> str:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise NotAllowed(
            "no key was sent",
            remedy="Send the header `Authorization: Bearer KEY` with a key of this server.",
        )
    return key.strip()
