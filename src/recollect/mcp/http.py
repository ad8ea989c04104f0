"""MCP over HTTP, as one path of the server: who shows a key works on its owner's memories.

Each request stands alone and is answered with JSON: there is no session that a second key could
take over, and any process can answer any request.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.asgi.guards import MAX_BODY, OWNER, KeyRequired
from recollect.asgi.problems import WRONG_METHOD, problem, problem_response
from recollect.mcp.server import Context, build_server
from recollect.ports import Recollect
from recollect.wiring import Server


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """`app` answers at whatever path it is put; `running` must be entered while it serves."""

    app: ASGIApp
    manager: StreamableHTTPSessionManager

    def running(self) -> AbstractAsyncContextManager[None]:
        return self.manager.run()


def mcp_endpoint(server: Server) -> McpEndpoint:
    """The endpoint of one server; it can run once."""

    async def recollect_of(context: Context) -> Recollect:
        if context.request is None:
            raise RuntimeError("a call over HTTP carries its request")
        return server.for_owner(context.request.scope[OWNER])

    manager = StreamableHTTPSessionManager(
        build_server(recollect_of, shows_sensitive=lambda: server.settings.mcp_sensitive == "show"),
        json_response=True,
        stateless=True,
        max_request_body_size=MAX_BODY,
        # The Host header is checked once for the whole process, by `asgi.guards.HostCheck`; a
        # second list of names beside it would only be a second thing to get wrong.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return McpEndpoint(KeyRequired(_only_post(manager.asgi_app), server.keys), manager)


def _only_post(app: ASGIApp) -> ASGIApp:
    """Without sessions there is nothing to listen to (GET) and nothing to end (DELETE)."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST":
            refused = problem(
                WRONG_METHOD, "MCP is spoken here by POST alone", "Send the message with POST."
            )
            await problem_response(refused, {"Allow": "POST"})(scope, receive, send)
            return
        await app(scope, receive, send)

    return guarded
