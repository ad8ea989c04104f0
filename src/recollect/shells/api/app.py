"""Build the REST API: routes, middlewares, problems, OpenAPI and the documentation pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any, Final

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import iter_route_contexts
from fastapi.security import HTTPBearer
from starlette.responses import JSONResponse

from recollect import __version__
from recollect.core.admin.admission import Admission
from recollect.core.admin.checks import Check
from recollect.core.memory.memory import Limits
from recollect.shells.api import (
    browse,
    conflicts,
    curation,
    events,
    graph,
    keys,
    memories,
    operations,
    projects,
)
from recollect.shells.api import erase as erasing
from recollect.shells.api import recall as recalling
from recollect.shells.api import sync as syncing
from recollect.shells.api.errors import add_error_handlers
from recollect.shells.api.metrics import Metrics
from recollect.shells.api.openapi import PREFIX, complete_document
from recollect.shells.asgi.identity import Identity
from recollect.shells.asgi.limits import RequestLimits
from recollect.shells.asgi.observation import Observation
from recollect.shells.asgi.probe import SharedProbe
from recollect.shells.asgi.static import file_routes
from recollect.wire.stats import ReadyOut
from recollect.wiring.server import Server

DOCS: Final = f"{PREFIX}/docs"
OPENAPI: Final = f"{PREFIX}/openapi.json"
_DOCS_FILES: Final = {
    DOCS: "docs.html",
    **{
        f"{DOCS}/{name}": name
        for name in ("docs.js", "element.js", "prose.js", "try.js", "docs.css")
    },
}
# What needs no key: health, metrics without text or owner, and the documentation.
OPEN_PATHS: Final = frozenset(
    {f"{PREFIX}/{open_path}" for open_path in operations.OPEN} | {OPENAPI, *_DOCS_FILES}
)

# Only declares the scheme for the documentation: `Identity` has already checked the key.
_documented_key = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="A key that the server printed when it was created.",
)


def create_app(
    server: Server,
    also_closed: Collection[str] = (),
    doctor: Callable[[], list[Check]] = list,
) -> FastAPI:
    """Build the API of one server, as an app that other shells are mounted on: added routes get the
    same Host check, limits, log and metrics, and need a key if their path is in `also_closed`.
    `doctor` checks the installation.
    """
    app = FastAPI(
        title="Recollect",
        version=__version__,
        summary="A long-term memory for AI agents.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    metrics = Metrics()
    app.state.server = server = replace(server, on_recall=metrics.observe_recall)
    app.state.metrics = metrics
    app.state.load_probe = SharedProbe(partial(_read_load, server, metrics))
    app.state.doctor = doctor
    app.state.stopping = asyncio.Event()
    app.state.probe = SharedProbe(partial(_read_health, server))
    closed = APIRouter(dependencies=[Depends(_documented_key)])
    for router in (
        browse.router,
        events.router,
        memories.router,
        recalling.router,
        conflicts.router,
        curation.router,
        projects.router,
        erasing.router,
        syncing.router,
        graph.router,
        keys.router,
        operations.closed,
    ):
        closed.include_router(router)
    app.include_router(closed)
    app.include_router(operations.open)
    app.router.routes.extend(file_routes("recollect.shells.api.docs", _DOCS_FILES))
    add_error_handlers(app)
    document = partial(_document, app, server.context.limits)
    app.openapi = document  # type: ignore[method-assign]  # FastAPI's way to extend it
    # Not a coroutine, so that it runs in a thread: building the document takes longer than startup.
    app.add_route(OPENAPI, lambda _: JSONResponse(document()), include_in_schema=False)
    for _ in iter_route_contexts(app.routes):
        pass  # otherwise, FastAPI resolves the routes during the first request
    # The last one added is the outermost.
    settings = server.settings
    app.add_middleware(
        RequestLimits,
        admission=Admission(settings.slots, settings.answer_within),
        body_seconds=settings.body_timeout,
        body_memory=settings.body_memory_mb * 1024 * 1024,
        on_refused=metrics.count_overload,
    )
    app.add_middleware(
        Identity,
        sign_in=server.sign_in,
        hosts=(settings.host, *settings.allowed_hosts),
        closed=(PREFIX, *also_closed),
        open_paths=OPEN_PATHS,
        on_refused=metrics.count_failed_sign_in,
    )
    app.add_middleware(
        Observation,
        observe=metrics.observe_request,
        observe_hook=metrics.observe_hook,
        logs_requests=settings.access_log == "on",
        tracer=server.tracer,
    )
    return app


def _document(app: FastAPI, limits: Limits) -> dict[str, Any]:
    """Build the document, on the first request for it."""
    return complete_document(FastAPI.openapi(app), limits)


async def _read_health(server: Server) -> ReadyOut:
    await server.context.settings.read_settings()
    find = server.find_lost_nodes
    return ReadyOut(status="ok", lost_nodes=[] if find is None else await find())


async def _read_load(server: Server, metrics: Metrics) -> None:
    if server.load is not None:
        metrics.set_load(await server.load())
