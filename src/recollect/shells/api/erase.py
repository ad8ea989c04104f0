"""Erase everything that the key's owner has stored."""

from __future__ import annotations

from fastapi import APIRouter

from recollect.core.errors import Forbidden
from recollect.core.privacy.erasure import ErasureReport
from recollect.shells.api.context import Mine, TheServer, needs
from recollect.shells.api.openapi import PREFIX, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.usecases.admin.erase import erase_owner
from recollect.wire.admin import ERASED, EraseIn

router = APIRouter(prefix=PREFIX, tags=["Memories"])


@router.post(
    "/erase",
    operation_id="erase_owner",
    **needs("erase_owner"),
    summary="Erase everything",
    response_model=ERASED.shape,
    responses={
        200: example("erased", "What was erased, and what a search found afterwards."),
        **problems(*SENT, MALFORMED),
    },
)
async def erase(sent: EraseIn, server: TheServer, mine: Mine) -> ErasureReport:
    """Erase all memories of the key's owner, who must be named, and search the database for
    anything that remains. Synced clients are notified. The database files may still contain the
    bytes: `unsearched` then names the operator's command that removes them.
    """
    if sent.owner != mine.owner or server.light_eraser is None:
        raise Forbidden(
            "the key does not belong to that owner",
            remedy="Name the owner of the key. To erase another owner's memories, an operator "
            "runs `recollect erase --server`.",
        )
    store = mine.context_for("erase_owner").store
    return await erase_owner(store, server.light_eraser, mine.owner)
