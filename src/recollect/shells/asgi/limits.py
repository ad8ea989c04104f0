"""What requests with a key may take of the server: memory for their bodies, and slots.

Requests without a key pass: health, metrics and the page stay reachable under load. They need no
body, and none is read.
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
# After a longer wait, for a body or for a slot, a key is looked up again.
_CHECK_AGAIN_SECONDS: Final = 1.0
_STREAM: Final = "text/event-stream"

Hold = Callable[[int], None]


class RequestLimits:
    """Reads the complete body of a request before an endpoint sees it: up to a limit, in limited
    time, and at most `body_memory` bytes for all requests together. Then admits as many requests as
    the server can handle, by the rules in `core/admin/admission.py`: a slot is not held while a
    client sends its body, nor while it reads its answer.
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
        with self._holding(caller.key.id) as hold:
            body = await self._read(Headers(scope=scope), receive, hold)
            if isinstance(body, Response):
                await body(scope, receive, send)
                return
            waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

            async def replay() -> Message:
                return waiting.pop() if waiting else await receive()

            await self._admit(caller, scope, replay, send)

    async def _read(self, headers: Headers, receive: Receive, hold: Hold) -> bytes | Response:
        """The body, or the refusal of one that exceeds a limit. The rest of such a body is not read
        here: the protocol drops it.
        """
        if int(headers.get("content-length", "0")) > MAX_BODY:
            return _too_large()
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
                        return _too_large()
                    hold(len(chunk))
                    body += chunk
        except TimeoutError:
            return _too_slow(self._body_seconds)
        except Overloaded as error:
            return error_response(error)
        return bytes(body)

    @contextmanager
    def _holding(self, key: UUID) -> Iterator[Hold]:
        """Count what one request holds until it is answered."""
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
        """Wait for its turn, its deadline, or its client's disconnect: a hook gives up after a
        third of a second, and no one would read its recall.
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
        """Start the work, unless the key was revoked or expired while the request waited."""
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
        """Release the slot once the body is complete, before any of it is sent: sending waits for
        the client. So the head of an answer is held back until its body comes.
        """
        head: list[Message] = []

        async def send_later(message: Message) -> None:
            if message["type"] == "http.response.start":
                head.append(message)
                if Headers(raw=message["headers"]).get("content-type", "").startswith(_STREAM):
                    self._leave(ticket)  # it is open for minutes, and rarely does any work
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


async def _wait_for_first(seconds: float, *waited_for: asyncio.Future[Any]) -> None:
    """Wait until one of them is done, or until the timeout."""
    await asyncio.wait(waited_for, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)


def _too_large() -> Response:
    return problem_response(
        problem(
            TOO_LARGE,
            f"the request's body is larger than {MAX_BODY:,} bytes",
            "Send fewer or shorter memories in one request.",
        )
    )


def _too_slow(seconds: float) -> Response:
    return problem_response(
        problem(
            TOO_SLOW,
            f"the request's body was not received within {seconds:g} seconds",
            "Send it again over a faster connection, or send less at once.",
        ),
        {"Connection": "close"},
    )
