"""Proposals of the curator, and their outcome."""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple
from uuid import UUID

from pydantic import ConfigDict, Field

from recollect.core.curation.proposals import JournalEntry, Proposal
from recollect.wire.codec import codec, listing
from recollect.wire.values import REFERENCE, Input

PROPOSAL: Final = codec(
    Proposal,
    "ProposalOut",
    """What the newer of two memories is to the older one, with the versions that were compared and
    a quote of each. `decided_by`: the rules, or the name of a model.
    """,
    confidence={"description": "From 0 to 1."},
)
PROPOSALS: Final = listing(
    PROPOSAL,
    "proposals",
    "ProposalsOut",
    """The proposals that wait for a decision, oldest first.""",
)
JOURNAL_ENTRY: Final = codec(
    JournalEntry,
    "JournalEntryOut",
    """An accepted proposal. `survivor` supersedes `superseded`; besides the link it gained these
    tags and keywords, and its importance changed from the first number to the second.
    """,
    flat=("addition",),
    by={"description": "The owner, or `curator` if it was applied by itself."},
)
JOURNAL: Final = listing(
    JOURNAL_ENTRY,
    "entries",
    "JournalOut",
    """Accepted proposals that were not undone, newest first.""",
)
PAIR: Final = codec(
    Proposal,
    "PairOut",
    """A proposal as an agent puts it to its user.""",
    only=("id", "kind", "newer", "older", "newer_quote", "older_quote", "reason"),
)


class Review(NamedTuple):
    """What waits after a decision, and which acceptance that made or reverted."""

    proposals: tuple[Proposal, ...]
    accepted: UUID | None = None
    undone: UUID | None = None


REVIEW: Final = codec(
    Review,
    "ReviewOut",
    """What waits after this. `accepted` or `undone`: the acceptance that was made or reverted.""",
    later=("accepted", "undone"),
    proposals={"of": PAIR},
)


class AcceptIn(Input):
    """Which of the two memories stays in recall."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"keep": "newer"}]})

    keep: Literal["newer", "older"] = "newer"


class UndoIn(Input):
    """Which acceptance to revert, by its id or its proposal's; without one, the last."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})

    id: Annotated[str, Field(json_schema_extra={"pattern": REFERENCE})] | None = None
