"""Sync conflicts: list them, show one, resolve it."""

from __future__ import annotations

from fastapi import APIRouter

from recollect.core.errors import Conflict
from recollect.shells.api import examples
from recollect.shells.api.context import Mine, Reference, needs
from recollect.shells.api.openapi import OWNED, PREFIX, REFERRED, SENT, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.wire.conflicts import ConflictOut, ConflictsOut, ResolveIn
from recollect.wire.problems import KINDS

router = APIRouter(prefix=PREFIX, tags=["Conflicts"])


@router.get(
    "/conflicts",
    operation_id="list_conflicts",
    **needs("conflicts"),
    summary="List",
    responses={
        200: examples.of("conflicts", "The open conflicts."),
        **problems(*OWNED),
    },
)
async def list_conflicts(mine: Mine) -> ConflictsOut:
    """The unresolved conflicts, oldest first."""
    reports = await mine.conflicts()
    return ConflictsOut(conflicts=[ConflictOut.from_report(report) for report in reports])


@router.post(
    "/conflicts/{reference}/resolve",
    operation_id="resolve_conflict",
    **needs("resolve"),
    summary="Resolve",
    responses={
        200: examples.of("conflict", "The conflict, resolved."),
        **problems(*SENT, MALFORMED, *REFERRED, KINDS[Conflict]),
    },
)
async def resolve_conflict(reference: Reference, sent: ResolveIn, mine: Mine) -> ConflictOut:
    """Resolve a conflict. `current` leaves the memory unchanged; `other` gives it the values that
    were kept, as an ordinary change. Identified by its own id, or by the memory's if that has only
    one.
    """
    return ConflictOut.from_report(await mine.resolve(reference, sent.keep))
