"""Serve the files of a page from memory, with headers that isolate the page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

# Scripts and styles only from this server, no frames, and no way to send a key elsewhere.
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


def file_routes(
    package: str, served: Mapping[str, str], filled: Mapping[str, str] | None = None
) -> list[Route]:
    """Return a route for each path, which answers with the package's file of that name.
    `{{ name }}` in a page is replaced by the HTML of that name in `filled`.
    """
    return [_route(package, path, name, filled or {}) for path, name in served.items()]


def _route(package: str, path: str, name: str, filled: Mapping[str, str]) -> Route:
    text = files(package).joinpath(name).read_text("utf-8")
    if name.endswith(".html"):
        for gap, html in filled.items():
            text = text.replace("{{ " + gap + " }}", html)
    body = text.encode()
    media_type = _TYPES[name.rpartition(".")[2]]

    async def answer(_: Request) -> Response:
        return Response(body, headers=SECURITY_HEADERS, media_type=media_type)

    return Route(path, answer)
