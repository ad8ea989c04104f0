"""Proposals of the curator, and what became of them."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from recollect.core.curation.pairs import Kind
from recollect.core.curation.proposals import Addition, JournalEntry, Proposal, State
from recollect.wire.values import REFERENCE, Input, Moment, Shape


class ProposalOut(Shape):
    """What the newer of two memories is to the older one, with the versions that were compared and
    a quote of each. `decided_by`: the rules, or the name of a model.
    """

    id: UUID
    kind: Kind
    newer: UUID
    older: UUID
    newer_version: int
    older_version: int
    newer_quote: str
    older_quote: str
    reason: str
    confidence: float = Field(description="From 0 to 1.")
    decided_by: str
    created_at: Moment
    state: State
    project: str | None

    @classmethod
    def from_proposal(cls, proposal: Proposal) -> ProposalOut:
        return cls(**{name: getattr(proposal, name) for name in cls.model_fields})

    def to_proposal(self) -> Proposal:
        return Proposal(**dict(self))


class ProposalsOut(Shape):
    """The proposals that wait for a decision, oldest first."""

    proposals: list[ProposalOut]


class JournalEntryOut(Shape):
    """An accepted proposal. `survivor` supersedes `superseded`; besides the link it gained these
    tags and keywords, and its importance changed from the first number to the second.
    """

    id: UUID
    proposal: UUID
    kind: Kind
    survivor: UUID
    superseded: UUID
    tags: list[str]
    expanded_keywords: list[str]
    importance: tuple[float, float] | None
    by: str = Field(description="The owner, or `curator` if it was applied by itself.")
    at: Moment
    undone_at: Moment | None
    project: str | None

    @classmethod
    def from_entry(cls, entry: JournalEntry) -> JournalEntryOut:
        return cls(
            id=entry.id,
            proposal=entry.proposal,
            kind=entry.kind,
            survivor=entry.survivor,
            superseded=entry.superseded,
            tags=[*entry.addition.tags],
            expanded_keywords=[*entry.addition.expanded_keywords],
            importance=entry.addition.importance,
            by=entry.by,
            at=entry.at,
            undone_at=entry.undone_at,
            project=entry.project,
        )

    def to_entry(self) -> JournalEntry:
        return JournalEntry(
            self.id,
            self.proposal,
            self.kind,
            self.survivor,
            self.superseded,
            Addition(tuple(self.tags), tuple(self.expanded_keywords), self.importance),
            self.by,
            self.at,
            self.undone_at,
            self.project,
        )


class JournalOut(Shape):
    """Accepted proposals that were not undone, newest first."""

    entries: list[JournalEntryOut]


class PairOut(Shape):
    """A proposal as an agent puts it to its user."""

    id: UUID
    kind: Kind
    newer: UUID
    older: UUID
    newer_quote: str
    older_quote: str
    reason: str

    @classmethod
    def from_proposal(cls, proposal: Proposal) -> PairOut:
        return cls(**{name: getattr(proposal, name) for name in cls.model_fields})


class ReviewOut(Shape):
    """What waits after this. `accepted` or `undone`: the acceptance that was made or reverted."""

    proposals: list[PairOut]
    accepted: UUID | None = None
    undone: UUID | None = None


class AcceptIn(Input):
    """Which of the two memories stays in recall."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"keep": "newer"}]})

    keep: Literal["newer", "older"] = "newer"


class UndoIn(Input):
    """Which acceptance to revert, by its id or its proposal's; without one, the last."""

    model_config = ConfigDict(json_schema_extra={"examples": [{}]})

    id: Annotated[str, Field(json_schema_extra={"pattern": REFERENCE})] | None = None
