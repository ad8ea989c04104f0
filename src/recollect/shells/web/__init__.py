"""The web page: plain files, no build step, nothing from other servers. It uses the REST API.

The categories, which the page must know in advance, are filled in when it is served, so that they
are listed in one place.
"""

from __future__ import annotations

from typing import Final

from starlette.routing import Route

from recollect.core.memory.memory import CATEGORIES
from recollect.shells.asgi.static import file_routes

_FILES: Final = {
    "/": "page.html",
    "/assets/page.css": "page.css",
    "/assets/page.js": "page.js",
    "/assets/view.js": "view.js",
    "/assets/icon.svg": "icon.svg",
}


_CATEGORIES: Final = "".join(f"<option>{name}</option>" for name in CATEGORIES)


def page_routes() -> list[Route]:
    return file_routes(__name__, _FILES, {"categories": _CATEGORIES})
