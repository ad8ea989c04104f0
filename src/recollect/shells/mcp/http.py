"""MCP over HTTP, at one path of the server: a key works on its owner's memories.

Requests are independent and answered with JSON: there is no session that a second key could take
over, and any process can answer any request.
"""

from __future__ import annotations

import re
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.ports.service import Service
from recollect.shells.asgi.identity import CALLER
from recollect.shells.asgi.limits import MAX_BODY
from recollect.shells.asgi.problems import WRONG_METHOD, problem, problem_response
from recollect.shells.mcp.broken_text import repair_json
from recollect.shells.mcp.server import Context, build_server
from recollect.wiring.server import Server

_HALF_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """`app` answers at any path it is mounted on; `running` must be entered while it serves."""

    app: ASGIApp
    manager: StreamableHTTPSessionManager

    def running(self) -> AbstractAsyncContextManager[None]:
        return self.manager.run()


def mcp_endpoint(server: Server) -> McpEndpoint:
    """Create the endpoint of one server; it can run once. Its path must be behind `Identity`."""

    async def service_of(context: Context) -> Service:
        if context.request is None:
            raise RuntimeError("a call over HTTP carries its request")
        return server.for_key(context.request.scope[CALLER].key, "mcp")

    manager = StreamableHTTPSessionManager(
        build_server(service_of, shows_sensitive=lambda: server.settings.mcp_sensitive == "show"),
        json_response=True,
        stateless=True,
        max_request_body_size=MAX_BODY,
        # `asgi.identity.Identity` checks the Host header for the whole process; a second list of
        # names would be one more thing to get wrong.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return McpEndpoint(_PostOnly(manager.asgi_app), manager)


class _PostOnly:
    """Refuses GET and DELETE: without sessions, there is nothing to listen to and nothing to end.
    It is a class because routes expect a plain function to return its response.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST":
            refused = problem(
                WRONG_METHOD, "MCP accepts only POST here", "Send the message with POST."
            )
            await problem_response(refused, {"Allow": "POST"})(scope, receive, send)
            return
        await self._app(scope, partial(_receive_repaired, receive), send)


async def _receive_repaired(receive: Receive) -> Message:
    """Repair the body, which comes in one piece since `RequestLimits` has read it."""
    message = await receive()
    body = message.get("body", b"")
    if _HALF_SURROGATE.search(body) is None or (text := repair_json(body)) is None:
        return message
    return {**message, "body": text.encode()}
