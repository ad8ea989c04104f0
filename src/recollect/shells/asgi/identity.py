"""Check who a request is for and who sent it: the Host and Origin headers, and the key."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.core.errors import NotAllowed, RecollectError
from recollect.core.privacy.keys import Key, digest
from recollect.shells.asgi.problems import (
    WRONG_HOST,
    WRONG_ORIGIN,
    error_response,
    problem,
    problem_response,
)
from recollect.usecases.tasks import exception_of

log = structlog.get_logger("recollect")

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
CALLER: Final = "recollect.caller"
"""The name under which a request's scope holds its `Caller`, if it needs a key."""
_LOOKUPS: Final = 4
_MAX_KNOWN: Final = 10_000

SignIn = Callable[[str], Awaitable[Key]]
"""Return the valid key with this text; raise NotAllowed if there is none."""


@dataclass(slots=True)
class Caller:
    """The key of a request, and when the request arrived, by the clock of the event loop.
    `find_key` looks the key up again and raises NotAllowed if it is no longer valid.
    """

    key: Key
    arrived: float
    find_key: Callable[[], Awaitable[Key]]


class Identity:
    """Passes on requests that are meant for this server and have a valid key if they need one:
    everything at or below a `closed` path does, except the `open_paths`. Never reads a body.

    The server answers only to its own names. Otherwise, any web page could point its own name at
    this machine and read its memories through the visitor's browser (DNS rebinding). Browsers also
    send the page's site in `Origin`, which must be one of these names too.
    """

    def __init__(
        self,
        app: ASGIApp,
        sign_in: SignIn,
        *,
        hosts: Iterable[str],
        closed: Collection[str],
        open_paths: Collection[str] = (),
        on_refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._app = app
        self._keys = KeyLookups(sign_in)
        self._hosts = LOOPBACK_NAMES | {_add_brackets(name.lower()) for name in hosts}
        self._closed = tuple(closed)
        self._open = frozenset(open_paths)
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = self._app
        if scope["type"] in ("http", "websocket"):
            headers = Headers(scope=scope)
            refusal = self._check_site(headers)
            if refusal is None and self._needs_key(scope["path"]):
                refusal = await self._sign_in(scope, headers)
            answer = refusal or answer
        await answer(scope, receive, send)

    def _check_site(self, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _strip_port(hosts[0].lower()) not in self._hosts:
            return _refuse_host()
        if any(_host_of(origin.lower()) not in self._hosts for origin in headers.getlist("origin")):
            return _refuse_origin()
        return None

    def _needs_key(self, path: str) -> bool:
        is_closed = any(path == closed or path.startswith(f"{closed}/") for closed in self._closed)
        return is_closed and path not in self._open

    async def _sign_in(self, scope: Scope, headers: Headers) -> Response | None:
        arrived = asyncio.get_running_loop().time()
        try:
            find_key = partial(self._keys.find, _read_key(headers))
            scope[CALLER] = Caller(await find_key(), arrived, find_key)
        except RecollectError as error:
            if isinstance(error, NotAllowed):
                self._on_refused()
                log.warning("sign-in failed", client=client_of(scope), reason=str(error))
            return error_response(error)
        return None


class KeyLookups:
    """Looks up keys with few database connections. Each server has one.

    Every request looks up its key, and nothing is cached, since a revoked key must not work again.
    But requests with the same key that arrive during a lookup share the next one: a key that floods
    the server costs no more than any other. And keys that were never valid here are looked up one
    at a time, so that guesses do not take connections from everyone else.
    """

    def __init__(self, sign_in: SignIn) -> None:
        self._sign_in = sign_in
        self._pending: dict[bytes, asyncio.Task[Key]] = {}
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._known_lane = asyncio.Semaphore(_LOOKUPS)
        self._unknown_lane = asyncio.Semaphore(1)

    async def find(self, text: str) -> Key:
        """Return the valid key with this text, by a lookup that starts after this call. Raise
        NotAllowed if there is none.
        """
        hashed = digest(text)
        pending = self._pending.get(hashed)
        if pending is None:
            pending = asyncio.create_task(self._look_up(hashed, text), name="key lookup")
            # If all waiting callers are gone, nothing else would retrieve its error.
            pending.add_done_callback(exception_of)
            self._pending[hashed] = pending
        return await asyncio.shield(pending)

    async def _look_up(self, hashed: bytes, text: str) -> Key:
        async with self._known_lane if hashed in self._known else self._unknown_lane:
            del self._pending[hashed]  # later callers need a later lookup
            key = await self._sign_in(text)
        self._known[hashed] = None
        self._known.move_to_end(hashed)
        if len(self._known) > _MAX_KNOWN:
            self._known.popitem(last=False)
        return key


def client_of(scope: Scope) -> str:
    """Return the client's address, as reported by a trusted proxy, else that of the connection."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


def _read_key(headers: Headers) -> str:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise NotAllowed(
            "no key was sent",
            remedy="Send the header `Authorization: Bearer KEY` with a key of this server.",
        )
    return key.strip()


def _strip_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and (port.isdecimal() or not port) and not host.endswith("]") else host


def _host_of(origin: str) -> str:
    """Return the host of an Origin; empty for `null`, which sandboxed pages send."""
    return _strip_port(origin.partition("://")[2])


def _add_brackets(name: str) -> str:
    """Write an IPv6 address as in a Host header."""
    return f"[{name}]" if ":" in name and not name.startswith("[") else name


def _refuse_host() -> Response:
    return problem_response(
        problem(
            WRONG_HOST,
            "the Host header names a host that this server does not accept",
            "Use the address that the server printed, or add the name you use to "
            "RECOLLECT_ALLOWED_HOSTS and restart the server.",
        )
    )


def _refuse_origin() -> Response:
    return problem_response(
        problem(
            WRONG_ORIGIN,
            "the Origin header names a site that this server does not accept",
            "Open the page at the address that the server printed, or add the site's host to "
            "RECOLLECT_ALLOWED_HOSTS and restart the server.",
        )
    )
