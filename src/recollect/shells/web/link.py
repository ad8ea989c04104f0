"""A link that signs in once: after it is exchanged for the key, it is invalid."""

from __future__ import annotations

import json
from http import HTTPStatus
from secrets import compare_digest, token_urlsafe
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recollect.shells.asgi.problems import problem, problem_response
from recollect.shells.asgi.static import SECURITY_HEADERS
from recollect.wire.problems import Kind

PATH: Final = "/page/key"
_USED: Final = Kind("link-used", HTTPStatus.GONE, "This link can no longer be used")


class OneTimeLink:
    """Exchanges `code`, which the link carries, for a key, once."""

    def __init__(self) -> None:
        self.code = token_urlsafe(32)
        self._key: str | None = None

    def open_with(self, key: str) -> None:
        """Give this key to the next request that sends the code."""
        self._key = key

    def route(self) -> Route:
        return Route(PATH, self._exchange, methods=["POST"])

    async def _exchange(self, request: Request) -> Response:
        sent = (await request.body())[:200]
        if self._key is None or not compare_digest(sent, self.code.encode()):
            return problem_response(
                problem(
                    _USED,
                    "this link was already used, or its command was stopped",
                    "Run `recollect page` again for a new link.",
                ),
                SECURITY_HEADERS,
            )
        key, self._key = self._key, None
        headers = {**SECURITY_HEADERS, "Cache-Control": "no-store"}
        return Response(json.dumps({"key": key}), headers=headers, media_type="application/json")
