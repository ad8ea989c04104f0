"""The outermost middleware: a log line and a measurement per request, and an answer to any error.

The log has the method, the route's template, the status, the time, the client's address, and the id
and owner of the key. It never contains a query string, a body, a header, a requested path, or the
text of an unexpected error: any of them may quote a memory or a key.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.core.privacy.redaction import locations
from recollect.ports.tracing import NO_TRACER, Span, Tracer
from recollect.shells.asgi.identity import CALLER, Caller, client_of
from recollect.shells.asgi.problems import UNEXPECTED, problem, problem_response
from recollect.wire.fast_recall import HOOK_HEADER

log = structlog.get_logger("recollect")
Observe = Callable[[str, str, int, float], None]
ObserveHook = Callable[[int, float, float], None]

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# The status that nginx logs when the client has disconnected.
CLIENT_GONE: Final = 499
# Responses must not be cached, nor interpreted as another type.
_HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Observation:
    """Wraps an app. Calls `observe` with (method, route, status, seconds) and, for requests of
    hooks, `observe_hook` with (status, seconds, seconds that the hook waits).
    """

    def __init__(
        self,
        app: ASGIApp,
        observe: Observe,
        *,
        observe_hook: ObserveHook = lambda _status, _seconds, _waits: None,
        logs_requests: bool = True,
        tracer: Tracer = NO_TRACER,
    ) -> None:
        self._app = app
        self._observe = observe
        self._observe_hook = observe_hook
        self._logs_requests = logs_requests
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        status = 0

        async def send_recording(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        with self._tracer.span("request") as span:
            try:
                await self._app(scope, receive, send_recording)
            except ClientDisconnect:
                status = status or CLIENT_GONE
            except Exception as error:  # noqa: BLE001  # bugs must still be answered
                log.error(  # noqa: TRY400  # `exception` would log the error's text
                    "unexpected error", kind=type(error).__name__, at=locations(error)
                )
                if status == 0:
                    await _answer_unexpected()(scope, receive, send_recording)
            finally:
                self._report(scope, status, perf_counter() - started, span)

    def _report(self, scope: Scope, status: int, seconds: float, span: Span) -> None:
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = _route(scope)
        self._observe(method, route, status, seconds)
        if (waits := _hook_seconds(scope)) is not None:
            self._observe_hook(status, seconds, waits)
        described = {"http.request.method": method, "http.route": route}
        span.describe(f"{method} {route}", **described, **{"http.response.status_code": status})
        if self._logs_requests:
            log.info(
                "request",
                method=method,
                route=route,
                status=status,
                ms=round(seconds * 1000, 1),
                client=client_of(scope),
                **_key_of(scope),
            )


def _hook_seconds(scope: Scope) -> float | None:
    """Return how long the calling hook waits for the answer; None if the caller is not a hook."""
    milliseconds = Headers(scope=scope).get(HOOK_HEADER, "")
    is_number = milliseconds.isascii() and milliseconds.isdecimal() and len(milliseconds) < 8
    return int(milliseconds) / 1000 if is_number else None


def _key_of(scope: Scope) -> dict[str, str]:
    caller: Caller | None = scope.get(CALLER)
    return {} if caller is None else {"key": str(caller.key.id), "owner": caller.key.owner}


def _route(scope: Scope) -> str:
    """Return the template of the route that answered: the requested path may contain anything."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return path
    # A route without parameters is its own template.
    is_literal = "endpoint" in scope and not scope.get("path_params")
    return str(scope["path"]) if is_literal else "unmatched"


def _answer_unexpected() -> ASGIApp:
    return problem_response(
        problem(
            UNEXPECTED,
            "the server could not finish this request",
            "Try again; if it happens again, report it with the server's log of that time.",
        )
    )
