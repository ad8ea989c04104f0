"""Admits as many requests with a key as the server can handle; the rules are in
`core/admin/admission.py`.

Requests without a key pass: health, metrics and the page stay reachable under load.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.core.admin.admission import Admission, Ticket
from recollect.core.errors import Overloaded, RecollectError
from recollect.shells.asgi.guards import ARRIVED, FIND_KEY, KEY
from recollect.shells.asgi.problems import error_response

# After a longer wait, for a body or for a slot, a key is looked up again.
_CHECK_AGAIN_SECONDS: Final = 1.0
_STREAM: Final = "text/event-stream"


class Admitted:
    """Runs behind `BodyLimit`: a slot is not held while a client sends its body, nor while it reads
    its answer.
    """

    def __init__(
        self, app: ASGIApp, admission: Admission, on_refused: Callable[[], None] = lambda: None
    ) -> None:
        self._app = app
        self._admission = admission
        self._on_refused = on_refused
        self._turns: dict[Ticket, asyncio.Future[None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or KEY not in scope:
            await self._app(scope, receive, send)
            return
        now = asyncio.get_running_loop().time()
        ticket = self._admission.arrive(scope[KEY].id, scope[ARRIVED], now)
        try:
            self._begin(now)
            if ticket.begun is None:
                await self._wait(ticket, scope, receive, send)
            else:
                await self._run(ticket, scope, receive, send)
        finally:
            self._leave(ticket)

    async def _run(self, ticket: Ticket, scope: Scope, receive: Receive, send: Send) -> None:
        """Start the work, unless the key was revoked or expired while the request waited."""
        send = self._leaving(ticket, send)
        if asyncio.get_running_loop().time() - scope[ARRIVED] > _CHECK_AGAIN_SECONDS:
            try:
                scope[KEY] = await scope[FIND_KEY]()
            except RecollectError as error:
                await error_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _leaving(self, ticket: Ticket, send: Send) -> Send:
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

    async def _wait(self, ticket: Ticket, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait for its turn, its deadline, or its client's disconnect: a hook gives up after a
        third of a second, and no one would read its recall.
        """
        loop = asyncio.get_running_loop()
        body = [await receive()]
        turn = self._turns[ticket] = loop.create_future()
        gone = loop.create_task(_message(receive))
        try:
            await _first(ticket.latest - loop.time(), turn, gone)
            if not turn.done():
                await _first(self._admission.refuse(loop.time()), gone)
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

    def _refusal(self) -> Overloaded:
        return Overloaded(
            "the server is overloaded and cannot answer this in time",
            seconds=self._admission.retry_after(),
            remedy="Try again after the number of seconds in Retry-After; nothing was changed.",
        )


async def _first(seconds: float, *waited_for: asyncio.Future[Any]) -> None:
    """Wait until one of them is done, or until the timeout."""
    await asyncio.wait(waited_for, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)


async def _message(receive: Receive) -> Message:
    return await receive()
