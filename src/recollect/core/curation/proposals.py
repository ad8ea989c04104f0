"""Proposals that wait for a decision, and the journal of those that were accepted.

Accepting a proposal changes one memory, the survivor: it gets a `supersedes` link to the other one
and, for a duplicate or a refinement, its tags, keywords and importance too. The journal records
what was added, so that undoing removes exactly that and keeps later edits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Literal, Self, get_args
from uuid import UUID

from recollect.core.curation.pairs import Kind
from recollect.core.memory.links import SUPERSEDES, Link
from recollect.core.memory.memory import Limits, Memory, check_memory

State = Literal["open", "later", "accepted", "rejected", "void"]
"""`void`: one of the memories was changed or forgotten before there was a decision."""
STATES: Final[tuple[State, ...]] = get_args(State)
Verdict = Literal["rejected", "later"]
Survivor = Literal["newer", "older"]

UNDECIDED: Final[tuple[State, ...]] = ("open", "later")
CURATOR: Final = "curator"
"""Who accepted what `apply` accepted."""
RULES: Final = "rules"
# In a contradiction it is unclear which memory is true: a person has to decide.
APPLICABLE: Final[tuple[Kind, ...]] = ("duplicate_of", "refines", "supersedes")
_MERGED: Final[tuple[Kind, ...]] = ("duplicate_of", "refines")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the newer of two memories is to the older one, with the versions that were compared."""

    id: UUID
    kind: Kind
    newer: UUID
    older: UUID
    newer_version: int
    older_version: int
    newer_quote: str
    older_quote: str
    reason: str
    confidence: float
    decided_by: str
    created_at: datetime
    state: State = "open"
    project: str | None = None


@dataclass(frozen=True, slots=True)
class Addition:
    """What a survivor gained besides its link. `importance`: before and after."""

    tags: tuple[str, ...] = ()
    expanded_keywords: tuple[str, ...] = ()
    importance: tuple[float, float] | None = None

    def as_values(self) -> dict[str, Any]:
        return {
            "tags": [*self.tags],
            "expanded_keywords": [*self.expanded_keywords],
            "importance": None if self.importance is None else [*self.importance],
        }

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        importance = values["importance"]
        return cls(
            tuple(values["tags"]),
            tuple(values["expanded_keywords"]),
            None if importance is None else (float(importance[0]), float(importance[1])),
        )


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One acceptance: who accepted which proposal, and what the survivor gained by it."""

    id: UUID
    proposal: UUID
    kind: Kind
    survivor: UUID
    superseded: UUID
    addition: Addition
    by: str
    at: datetime
    undone_at: datetime | None = None
    project: str | None = None


def merge(survivor: Memory, other: Memory, kind: Kind, limits: Limits) -> tuple[Memory, Addition]:
    """Return the survivor with a link to the other memory and with what it takes over; or raise
    InvalidInput if it has no room for another link.
    """
    addition = Addition()
    if kind in _MERGED:
        importance = max(survivor.importance, other.importance)
        addition = Addition(
            _select_missing(survivor.tags, other.tags, limits.words),
            _select_missing(survivor.expanded_keywords, other.expanded_keywords, limits.words),
            None
            if importance == survivor.importance
            else (float(survivor.importance), float(importance)),
        )
    changed = replace(
        survivor,
        links=(*survivor.links, Link(SUPERSEDES, other.id)),
        tags=(*survivor.tags, *addition.tags),
        expanded_keywords=(*survivor.expanded_keywords, *addition.expanded_keywords),
        importance=survivor.importance if addition.importance is None else addition.importance[1],
    )
    return check_memory(changed, limits), addition


def revert(survivor: Memory, entry: JournalEntry) -> Memory:
    """Return the survivor without what the acceptance added; later edits stay."""
    added = entry.addition
    importance = survivor.importance
    if added.importance is not None and importance == added.importance[1]:
        importance = added.importance[0]
    link = Link(SUPERSEDES, entry.superseded)
    return replace(
        survivor,
        links=tuple(kept for kept in survivor.links if kept != link),
        tags=tuple(tag for tag in survivor.tags if tag not in added.tags),
        expanded_keywords=tuple(
            word for word in survivor.expanded_keywords if word not in added.expanded_keywords
        ),
        importance=importance,
    )


def _select_missing(mine: tuple[str, ...], others: tuple[str, ...], most: int) -> tuple[str, ...]:
    """Return what the other has and I lack, as far as there is room."""
    return tuple(word for word in others if word not in mine)[: max(0, most - len(mine))]
