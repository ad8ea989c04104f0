"""Sync conflicts: list them, show one, resolve it."""

from __future__ import annotations

from fastapi import APIRouter

from recollect.core.errors import Conflict
from recollect.core.sync.model import ConflictReport
from recollect.shells.api.context import Mine, Reference, needs
from recollect.shells.api.openapi import OWNED, PREFIX, REFERRED, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.wire import sync as wire
from recollect.wire.problems import KINDS
from recollect.wire.sync import ResolveIn

router = APIRouter(prefix=PREFIX, tags=["Conflicts"])


@router.get(
    "/conflicts",
    operation_id="list_conflicts",
    **needs("conflicts"),
    summary="List",
    response_model=wire.CONFLICTS.shape,
    responses={
        200: example("conflicts", "The open conflicts."),
        **problems(*OWNED),
    },
)
async def list_conflicts(mine: Mine) -> list[ConflictReport]:
    """List the unresolved conflicts, oldest first."""
    return await mine.conflicts()


@router.post(
    "/conflicts/{reference}/resolve",
    operation_id="resolve_conflict",
    **needs("resolve"),
    summary="Resolve",
    response_model=wire.CONFLICT.shape,
    responses={
        200: example("conflict", "The conflict, resolved."),
        **problems(*SENT, MALFORMED, *REFERRED, KINDS[Conflict]),
    },
)
async def resolve_conflict(reference: Reference, sent: ResolveIn, mine: Mine) -> ConflictReport:
    """Resolve a conflict. `current` leaves the memory unchanged; `other` gives it the values of the
    other side, as an ordinary change. The conflict is named by its own id, or by that of its memory
    if the memory has only one conflict.
    """
    return await mine.resolve(reference, sent.keep)
