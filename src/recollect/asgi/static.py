"""The few files of a page, kept in memory and served with the headers that fence a page in."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

# Scripts and styles from this server only, no frames, and no way to send a key elsewhere.
SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


def file_routes(package: str, served: Mapping[str, str]) -> list[Route]:
    """A route for each path, answering with the package's file of that name."""
    return [_route(package, path, name) for path, name in served.items()]


def _route(package: str, path: str, name: str) -> Route:
    body = files(package).joinpath(name).read_bytes()
    media_type = _TYPES[name.rpartition(".")[2]]

    async def answer(_: Request) -> Response:
        return Response(body, headers=SECURITY_HEADERS, media_type=media_type)

    return Route(path, answer)
