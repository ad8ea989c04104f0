"""Proposals of the curator: list, accept, reject, put off, undo."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from recollect.core.errors import Conflict, InvalidInput
from recollect.shells.api import examples
from recollect.shells.api.context import Mine, Reference, needs
from recollect.shells.api.openapi import OWNED, PREFIX, REFERRED, SENT, problems
from recollect.shells.asgi.problems import MALFORMED
from recollect.wire.curation import (
    AcceptIn,
    JournalEntryOut,
    JournalOut,
    ProposalOut,
    ProposalsOut,
    UndoIn,
)
from recollect.wire.problems import KINDS

router = APIRouter(prefix=PREFIX, tags=["Curation"])


@router.get(
    "/proposals",
    operation_id="list_proposals",
    **needs("proposals"),
    summary="List",
    responses={200: examples.of("proposals", "The proposals."), **problems(*OWNED)},
)
async def list_proposals(mine: Mine) -> ProposalsOut:
    """The proposals that wait for a decision, oldest first. Those about memories that changed since
    are left out.
    """
    found = await mine.proposals()
    return ProposalsOut(proposals=[ProposalOut.from_proposal(each) for each in found])


@router.post(
    "/proposals/{reference}/accept",
    operation_id="accept_proposal",
    **needs("accept_proposal"),
    summary="Accept",
    responses={
        200: examples.of("journal_entry", "The acceptance."),
        **problems(*SENT, MALFORMED, *REFERRED, KINDS[Conflict]),
    },
)
async def accept_proposal(reference: Reference, sent: AcceptIn, mine: Mine) -> JournalEntryOut:
    """Link the memory to keep to the other one as its successor. Of a duplicate or a refinement it
    also takes over tags, keywords and the higher importance. Nothing is deleted.
    """
    return JournalEntryOut.from_entry(await mine.accept_proposal(reference, sent.keep))


@router.post(
    "/proposals/{reference}/reject",
    operation_id="reject_proposal",
    **needs("decide_proposal"),
    summary="Reject",
    responses={
        200: examples.of("proposal", "The proposal."),
        **problems(*SENT, *REFERRED, KINDS[Conflict]),
    },
)
async def reject_proposal(reference: Reference, mine: Mine) -> ProposalOut:
    """The pair is not proposed again until one of its memories changes."""
    return ProposalOut.from_proposal(await mine.decide_proposal(reference, "rejected"))


@router.post(
    "/proposals/{reference}/later",
    operation_id="postpone_proposal",
    **needs("decide_proposal"),
    summary="Decide later",
    responses={
        200: examples.of("proposal", "The proposal."),
        **problems(*SENT, *REFERRED, KINDS[Conflict]),
    },
)
async def postpone_proposal(reference: Reference, mine: Mine) -> ProposalOut:
    """The proposal stays in the list, marked `later`; a rejected one returns to it."""
    return ProposalOut.from_proposal(await mine.decide_proposal(reference, "later"))


@router.get(
    "/journal",
    operation_id="list_journal",
    **needs("journal"),
    summary="List acceptances",
    responses={
        200: examples.of("journal", "The acceptances."),
        **problems(*OWNED, KINDS[InvalidInput]),
    },
)
async def list_journal(
    mine: Mine,
    limit: Annotated[int, Query(ge=1, le=1_000, description="At most so many.")] = 20,
) -> JournalOut:
    """Accepted proposals that were not undone, newest first."""
    found = await mine.journal(limit)
    return JournalOut(entries=[JournalEntryOut.from_entry(entry) for entry in found])


@router.post(
    "/undo",
    operation_id="undo_acceptance",
    **needs("undo"),
    summary="Undo",
    responses={
        200: examples.of("journal_entry", "The acceptance that was undone."),
        **problems(*SENT, MALFORMED, *REFERRED, KINDS[Conflict]),
    },
)
async def undo_acceptance(sent: UndoIn, mine: Mine) -> JournalEntryOut:
    """Revert an accepted proposal: the link and what came with it are removed, later edits stay.
    Its pair counts as rejected.
    """
    return JournalEntryOut.from_entry(await mine.undo(sent.id))
