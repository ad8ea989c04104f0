"""Limit what requests with a key may use of the server: memory for their bodies, and slots.

Requests without a key pass, so that health, metrics and the page stay reachable under load. They
need no body, and none is read.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.core.admin.admission import Admission, Ticket
from recollect.core.errors import Overloaded, RecollectError
from recollect.shells.asgi.identity import CALLER, Caller
from recollect.shells.asgi.problems import (
    TOO_LARGE,
    TOO_SLOW,
    error_response,
    problem,
    problem_response,
)

MAX_BODY: Final = 1024 * 1024
# One key may use 1/4 of the memory for bodies.
_SHARES: Final = 4
# After waiting longer than this for a body or a slot, the key is looked up again.
_CHECK_AGAIN_SECONDS: Final = 1.0
_STREAM: Final = "text/event-stream"

Hold = Callable[[int], None]


class RequestLimits:
    """Reads the complete body of a request before an endpoint sees it: up to a size limit, within a
    time limit, and at most `body_memory` bytes for all requests together. Then admits as many
    requests as the server can handle, by the rules in `core/admin/admission.py`: no slot is held
    while a client sends its body or reads its answer.
    """

    def __init__(
        self,
        app: ASGIApp,
        admission: Admission,
        *,
        body_seconds: float = 30.0,
        body_memory: int = 64 * MAX_BODY,
        on_refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._app = app
        self._admission = admission
        self._body_seconds = body_seconds
        self._body_memory = body_memory
        self._on_refused = on_refused
        self._held: Counter[UUID] = Counter()
        self._turns: dict[Ticket, asyncio.Future[None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller | None = scope.get(CALLER)
        if caller is None:
            await self._app(scope, receive, send)
            return
        with self._track_memory(caller.key.id) as hold:
            body = await self._read(Headers(scope=scope), receive, hold)
            if isinstance(body, Response):
                await body(scope, receive, send)
                return
            waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

            async def replay() -> Message:
                return waiting.pop() if waiting else await receive()

            await self._admit(caller, scope, replay, send)

    async def _read(self, headers: Headers, receive: Receive, hold: Hold) -> bytes | Response:
        """Return the body, or the refusal if it exceeds a limit. The rest of such a body is not
        read here: the protocol drops it.
        """
        if int(headers.get("content-length", "0")) > MAX_BODY:
            return _refuse_large_body()
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(self._body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    chunk = message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) + len(chunk) > MAX_BODY:
                        return _refuse_large_body()
                    hold(len(chunk))
                    body += chunk
        except TimeoutError:
            return _refuse_slow_body(self._body_seconds)
        except Overloaded as error:
            return error_response(error)
        return bytes(body)

    @contextmanager
    def _track_memory(self, key: UUID) -> Iterator[Hold]:
        """Count the memory that one request holds until it is answered."""
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            if (
                self._held.total() + size > self._body_memory
                or self._held[key] + size > self._body_memory // _SHARES
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

    async def _admit(self, caller: Caller, scope: Scope, receive: Receive, send: Send) -> None:
        now = asyncio.get_running_loop().time()
        ticket = self._admission.arrive(caller.key.id, caller.arrived, now)
        try:
            self._begin(now)
            if ticket.begun is None:
                await self._wait(ticket, scope, receive, send)
            else:
                await self._run(ticket, scope, receive, send)
        finally:
            self._leave(ticket)

    async def _wait(self, ticket: Ticket, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait until the request is admitted, its deadline passes, or its client disconnects: a
        hook gives up after a third of a second, and no one would read its recall.
        """
        loop = asyncio.get_running_loop()
        body = [await receive()]
        turn = self._turns[ticket] = loop.create_future()
        gone = asyncio.ensure_future(receive())
        try:
            await _wait_for_first(ticket.latest - loop.time(), turn, gone)
            if not turn.done():
                await _wait_for_first(self._admission.refuse(loop.time()), gone)
            if gone.done():
                raise ClientDisconnect
            if not turn.done():
                self._on_refused()
                await error_response(self._refusal())(scope, receive, send)
                return

            async def replay() -> Message:
                return body.pop() if body else await asyncio.shield(gone)

            await self._run(ticket, scope, replay, send)
        finally:
            gone.cancel()
            del self._turns[ticket]

    async def _run(self, ticket: Ticket, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request, unless its key was revoked or expired while it waited."""
        send = self._leave_before_sending(ticket, send)
        caller: Caller = scope[CALLER]
        if asyncio.get_running_loop().time() - caller.arrived > _CHECK_AGAIN_SECONDS:
            try:
                caller.key = await caller.find_key()
            except RecollectError as error:
                await error_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _leave_before_sending(self, ticket: Ticket, send: Send) -> Send:
        """Release the slot once the answer's body is complete, before any of it is sent, since
        sending waits for the client. For this, the head of an answer is held back until its body.
        """
        head: list[Message] = []

        async def send_later(message: Message) -> None:
            if message["type"] == "http.response.start":
                head.append(message)
                if Headers(raw=message["headers"]).get("content-type", "").startswith(_STREAM):
                    self._leave(ticket)  # a stream is open for minutes and rarely does any work
                return
            if not message.get("more_body", False):
                self._leave(ticket)
            while head:
                await send(head.pop())
            await send(message)

        return send_later

    def _leave(self, ticket: Ticket) -> None:
        now = asyncio.get_running_loop().time()
        self._admission.leave(ticket, now)
        self._begin(now)

    def _begin(self, now: float) -> None:
        for ticket in self._admission.begin(now):
            turn = self._turns.get(ticket)
            if turn is not None and not turn.done():
                turn.set_result(None)

    def _refusal(self) -> Overloaded:
        return Overloaded(
            "the server is overloaded and cannot answer this in time",
            seconds=self._admission.retry_after(),
            remedy="Try again after the number of seconds in Retry-After; nothing was changed.",
        )


async def _wait_for_first(seconds: float, *futures: asyncio.Future[Any]) -> None:
    """Wait until one of the futures is done, or until the timeout."""
    await asyncio.wait(futures, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)


def _refuse_large_body() -> Response:
    return problem_response(
        problem(
            TOO_LARGE,
            f"the request's body is larger than {MAX_BODY:,} bytes",
            "Send fewer or shorter memories in one request.",
        )
    )


def _refuse_slow_body(seconds: float) -> Response:
    return problem_response(
        problem(
            TOO_SLOW,
            f"the request's body was not received within {seconds:g} seconds",
            "Send it again over a faster connection, or send less at once.",
        ),
        {"Connection": "close"},
    )
