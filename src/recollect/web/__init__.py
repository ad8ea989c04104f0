"""The page: plain files, no build step, nothing from another server. It speaks the REST API."""

from __future__ import annotations

from typing import Final

from starlette.routing import Route

from recollect.asgi.static import file_routes

_FILES: Final = {
    "/": "page.html",
    "/assets/page.css": "page.css",
    "/assets/page.js": "page.js",
    "/assets/view.js": "view.js",
    "/assets/icon.svg": "icon.svg",
}


def page_routes() -> list[Route]:
    return file_routes(__name__, _FILES)
