"""What endpoints receive: the memories of the key's owner only, and the role check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import Depends, Path, Request

from recollect.core.admin.checks import Check
from recollect.core.privacy.keys import Key, Role, check_role
from recollect.ports.service import Service
from recollect.shells.api.metrics import Metrics
from recollect.shells.asgi.identity import CALLER, Caller
from recollect.shells.asgi.probe import SharedProbe
from recollect.wire.values import REFERENCE
from recollect.wiring import Server


def _server(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


def _load_probe(request: Request) -> SharedProbe:
    probe: SharedProbe = request.app.state.load_probe
    return probe


def _metrics(request: Request) -> Metrics:
    metrics: Metrics = request.app.state.metrics
    return metrics


def _probe(request: Request) -> SharedProbe:
    probe: SharedProbe = request.app.state.probe
    return probe


def _doctor(request: Request) -> Callable[[], list[Check]]:
    doctor: Callable[[], list[Check]] = request.app.state.doctor
    return doctor


def _shell(request: Request) -> str:
    return "page" if request.headers.get(CLIENT) == "page" else "api"


def _mine(request: Request) -> Service:
    return _server(request).for_key(_key(request), _shell(request))


def _key(request: Request) -> Key:
    caller: Caller = request.scope[CALLER]
    return caller.key


def _requires(role: Role) -> dict[str, Any]:
    """Declare a route's role: checks each request, and documents it."""

    def check(request: Request) -> None:
        check_role(_key(request), role)

    return {"dependencies": [Depends(check)], "openapi_extra": {REQUIRED_ROLE: role}}


REQUIRED_ROLE: Final = "x-required-role"
# Sent by the page, so that the history says where a change was made.
CLIENT: Final = "recollect-client"
READ: Final = _requires("read-only")
WRITE: Final = _requires("member")
ADMIN: Final = _requires("admin")

TheKey = Annotated[Key, Depends(_key)]
TheServer = Annotated[Server, Depends(_server)]
TheProbe = Annotated[SharedProbe, Depends(_probe)]
TheLoadProbe = Annotated[SharedProbe, Depends(_load_probe)]
TheDoctor = Annotated[Callable[[], list[Check]], Depends(_doctor)]
TheMetrics = Annotated[Metrics, Depends(_metrics)]
TheShell = Annotated[str, Depends(_shell)]
Mine = Annotated[Service, Depends(_mine)]
Reference = Annotated[
    str,
    Path(
        description="A memory's id, or a unique prefix of at least 4 digits.",
        examples=["0193a5f0-7c1e-7d3a-9a55-2f0e6b7c8d9e"],
        json_schema_extra={"pattern": REFERENCE},
    ),
]
