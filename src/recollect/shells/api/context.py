"""The dependencies of endpoints: the caller's key, and the service for its owner's memories.

Dependencies are coroutines, since FastAPI runs plain functions in a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import Depends, Path, Request

from recollect.core.admin.checks import Check
from recollect.core.memory.standing import PERSONAL_SHELLS
from recollect.core.privacy.keys import Key
from recollect.core.privacy.policy import POLICIES, check_operation
from recollect.shells.api.metrics import Metrics
from recollect.shells.asgi.identity import CALLER, Caller
from recollect.shells.asgi.probe import SharedProbe
from recollect.usecases.service import LocalService
from recollect.wire.plain import CLIENT_HEADER
from recollect.wire.stats import ReadyOut
from recollect.wire.values import REFERENCE
from recollect.wiring.server import Server


def _from_app(name: str) -> Any:  # noqa: ANN401  # FastAPI's own `Depends` is one
    """Return a dependency on what `create_app` stored in the state of the app."""

    async def read(request: Request) -> object:
        return getattr(request.app.state, name)

    return Depends(read)


async def _mine(request: Request) -> LocalService:
    client = request.headers.get(CLIENT_HEADER, "")
    shell = client if client in PERSONAL_SHELLS else "api"
    server: Server = request.app.state.server
    return server.for_key(await _key(request), shell)


async def _key(request: Request) -> Key:
    caller: Caller = request.scope[CALLER]
    return caller.key


def needs(operation: str) -> dict[str, Any]:
    """Declare the operation of a route, by its name in `core/privacy/policy.py`: a key that may not
    do it is refused before the request is validated, and the OpenAPI document names the role.
    """

    async def check(request: Request) -> None:
        check_operation(await _key(request), operation)

    role = POLICIES[operation].role
    return {"dependencies": [Depends(check)], "openapi_extra": {REQUIRED_ROLE: role}}


REQUIRED_ROLE: Final = "x-required-role"
TheKey = Annotated[Key, Depends(_key)]
TheServer = Annotated[Server, _from_app("server")]
TheProbe = Annotated[SharedProbe[ReadyOut], _from_app("probe")]
TheLoadProbe = Annotated[SharedProbe[None], _from_app("load_probe")]
TheDoctor = Annotated[Callable[[], list[Check]], _from_app("doctor")]
TheMetrics = Annotated[Metrics, _from_app("metrics")]
Mine = Annotated[LocalService, Depends(_mine)]
Reference = Annotated[
    str,
    Path(
        description="A memory's id, or at least 4 digits of its end.",
        examples=["0193a5f0-7c1e-7d3a-9a55-2f0e6b7c8d9e"],
        json_schema_extra={"pattern": REFERENCE},
    ),
]
