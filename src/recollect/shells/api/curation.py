"""Proposals of the curator: list, accept, reject, postpone, undo."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from recollect.core.curation.proposals import JournalEntry, Proposal
from recollect.core.errors import Conflict, InvalidInput
from recollect.shells.api.context import Mine, Reference, needs
from recollect.shells.api.openapi import OWNED, PREFIX, REFERRED, SENT, example, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.wire import curation as wire
from recollect.wire.curation import AcceptIn, UndoIn
from recollect.wire.problems import KINDS

router = APIRouter(prefix=PREFIX, tags=["Curation"])


@router.get(
    "/proposals",
    operation_id="list_proposals",
    **needs("proposals"),
    summary="List",
    response_model=wire.PROPOSALS.shape,
    responses={200: example("proposals", "The proposals."), **problems(*OWNED)},
)
async def list_proposals(mine: Mine) -> list[Proposal]:
    """List the proposals that wait for a decision, oldest first, except those about memories that
    have changed since.
    """
    return await mine.proposals()


@router.post(
    "/proposals/{reference}/accept",
    operation_id="accept_proposal",
    **needs("accept_proposal"),
    summary="Accept",
    response_model=wire.JOURNAL_ENTRY.shape,
    responses={
        200: example("journal_entry", "The acceptance."),
        **problems(*SENT, MALFORMED, *REFERRED, KINDS[Conflict]),
    },
)
async def accept_proposal(reference: Reference, sent: AcceptIn, mine: Mine) -> JournalEntry:
    """Link the memory to keep to the other one as its successor. From a duplicate or a refinement,
    it also takes over tags, keywords and the higher importance. Nothing is deleted.
    """
    return await mine.accept_proposal(reference, sent.keep)


@router.post(
    "/proposals/{reference}/reject",
    operation_id="reject_proposal",
    **needs("decide_proposal"),
    summary="Reject",
    response_model=wire.PROPOSAL.shape,
    responses={
        200: example("proposal", "The proposal."),
        **problems(*SENT, *REFERRED, KINDS[Conflict]),
    },
)
async def reject_proposal(reference: Reference, mine: Mine) -> Proposal:
    """Reject a proposal. The pair is not proposed again until one of its memories changes."""
    return await mine.decide_proposal(reference, "rejected")


@router.post(
    "/proposals/{reference}/later",
    operation_id="postpone_proposal",
    **needs("decide_proposal"),
    summary="Decide later",
    response_model=wire.PROPOSAL.shape,
    responses={
        200: example("proposal", "The proposal."),
        **problems(*SENT, *REFERRED, KINDS[Conflict]),
    },
)
async def postpone_proposal(reference: Reference, mine: Mine) -> Proposal:
    """Postpone a proposal. It stays in the list, marked `later`; a rejected one returns to it."""
    return await mine.decide_proposal(reference, "later")


@router.get(
    "/journal",
    operation_id="list_journal",
    **needs("journal"),
    summary="List acceptances",
    response_model=wire.JOURNAL.shape,
    responses={
        200: example("journal", "The acceptances."),
        **problems(*OWNED, KINDS[InvalidInput]),
    },
)
async def list_journal(
    mine: Mine,
    limit: Annotated[int, Query(ge=1, le=1_000, description="Maximum number of entries.")] = 20,
) -> list[JournalEntry]:
    """List accepted proposals that were not undone, newest first."""
    return await mine.journal(limit)


@router.post(
    "/undo",
    operation_id="undo_acceptance",
    **needs("undo"),
    summary="Undo",
    response_model=wire.JOURNAL_ENTRY.shape,
    responses={
        200: example("journal_entry", "The acceptance that was undone."),
        **problems(*SENT, MALFORMED, *REFERRED, KINDS[Conflict]),
    },
)
async def undo_acceptance(sent: UndoIn, mine: Mine) -> JournalEntry:
    """Revert an accepted proposal: the link and the changes that came with it are removed; later
    edits stay. The pair counts as rejected.
    """
    return await mine.undo(sent.id)
