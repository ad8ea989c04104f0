"""Erase everything that the key's owner has stored."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter

from recollect.core.errors import Forbidden
from recollect.core.privacy.erasure import Erased, ErasureReport
from recollect.core.privacy.keys import check_all_projects
from recollect.shells.api import examples
from recollect.shells.api.context import WRITE, TheKey, TheServer
from recollect.shells.api.openapi import PREFIX, SENT, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.usecases.admin.erase import erase_owner
from recollect.wire.admin import ERASED, EraseIn

_EXAMPLE: Final = ERASED.encode(
    ErasureReport("ada", Erased(memories=12, notified=12, keys=1), ("memories.content",))
)

router = APIRouter(prefix=PREFIX, tags=["Memories"])


@router.post(
    "/erase",
    operation_id="erase_owner",
    **WRITE,
    summary="Erase everything",
    response_model=ERASED.shape,
    responses={
        200: examples.of(_EXAMPLE, "What was erased, and what a search found afterwards."),
        **problems(*SENT, MALFORMED),
    },
)
async def erase(sent: EraseIn, server: TheServer, key: TheKey) -> ErasureReport:
    """Erase all memories of the key's owner, who must be named, and search the database for
    anything that remains. Synced clients are notified. The database files may still contain the
    bytes: `unsearched` says so, and which command of the operator removes them.
    """
    check_all_projects(key)
    if sent.owner != key.owner or server.light_eraser is None:
        raise Forbidden(
            "the key does not belong to that owner",
            remedy="Name the owner of the key. To erase another owner's memories, an operator "
            "runs `recollect erase --server`.",
        )
    server.spend_writes(key)
    return await erase_owner(server.context.store, server.light_eraser, key.owner)
