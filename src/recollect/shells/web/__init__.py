"""The web page: plain files, no build step, nothing from other servers. It uses the REST API.

Each view has a folder; `parts` is for what they share. A view's files are loaded when it is first
opened. What the page must know in advance is filled in when it is served: the categories, which are
defined once in Python, and the command that serves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from starlette.routing import Route

from recollect.core.memory.memory import CATEGORIES
from recollect.shells.asgi.static import file_routes

_SERVED: Final = (".js", ".css", ".svg")


def page_routes(*, is_local: bool = False) -> list[Route]:
    """Return the page's routes. `is_local`: served by `recollect page`, not by a server."""
    served = {f"/assets/{name}": name for name in _assets(files(__name__))}
    command = "recollect page" if is_local else "recollect serve"
    filled = {"categories": " ".join(CATEGORIES), "command": command}
    return file_routes(__name__, {"/": "page.html", **served}, filled)


def _assets(folder: Traversable, prefix: str = "") -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _assets(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(_SERVED):
            yield prefix + entry.name
