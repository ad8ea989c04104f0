"""What the use cases need to store proposals and the journal of acceptances, and to ask a language
model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from recollect.core.admin.stats import CurationCounts
    from recollect.core.curation.proposals import (
        JournalEntry,
        Proposal,
        State,
        Verdict,
    )
    from recollect.core.memory.memory import Memory


@dataclass(frozen=True, slots=True)
class ChangedMemories:
    """Memories of one owner that changed since they were last examined, oldest change first; those
    that are sensitive or forgotten are left out. `position`: how far the store has read, if it
    counts that.
    """

    owner: str
    memories: tuple[Memory, ...]
    position: int = 0


class CurationStore(Protocol):
    """Proposals and the journal. A pair of memories has one proposal at most. Whatever makes a
    memory sensitive or erases it removes its proposals; only erasing removes its journal entries.
    """

    async def find_changed(self, limit: int) -> ChangedMemories | None:
        """Find up to `limit` memories to examine. They are not claimed: two workers may examine the
        same ones, with the same result.
        """

    async def mark_examined(self, changed: ChangedMemories) -> None:
        """Do not return them from `find_changed` until they change again."""

    async def count_unexamined(self) -> int:
        """Count the changes that wait, of all owners; an upper bound."""

    async def keep_proposals(self, owner: str, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Store those whose pair is new, or changed since it was last proposed; return those
        stored.
        """

    async def spend(self, most: int) -> bool:
        """Count one call to the language model; False if `most` were already made today."""

    async def proposals(self, owner: str, states: Collection[State], limit: int) -> list[Proposal]:
        """Return those in one of these states, oldest first."""

    async def proposal(self, owner: str, id: UUID) -> Proposal | None: ...

    async def decide(self, owner: str, id: UUID, verdict: Verdict) -> bool:
        """Reject or postpone a proposal; False unless it is open or postponed. A rejected one can
        be postponed, too: it then waits for a decision again.
        """

    async def accept(
        self, owner: str, entry: JournalEntry, survivor: Memory, *, based_on: int
    ) -> bool:
        """Store the survivor's next version, the decision and the journal entry in one transaction.
        False, and nothing is changed, if the proposal is void or decided, or the version is not
        current. Other proposals about the survivor stay valid.
        """

    async def journal(self, owner: str, limit: int, *, undone: bool = False) -> list[JournalEntry]:
        """Return the latest acceptances, newest first; undone ones only if requested."""

    async def journal_entry(self, owner: str, id: UUID) -> JournalEntry | None: ...

    async def undo(
        self, owner: str, entry: UUID, survivor: Memory, *, based_on: int, at: datetime
    ) -> bool:
        """Store the survivor's next version and mark the entry as undone, in one transaction; its
        proposal becomes rejected. False if it was undone before, or the version is not current.
        """

    async def counts(self, owner: str) -> CurationCounts: ...

    async def wait_for_work(self, seconds: float) -> None:
        """Return when there may be work, or after `seconds`."""


class AskedModel(Protocol):
    """A language model that answers one question at a time. `name` is the model's name, for people.
    `is_here`: no text leaves this machine.
    """

    @property
    def name(self) -> str: ...

    @property
    def is_here(self) -> bool: ...

    async def ask(self, task: str, text: str, *, schema: Mapping[str, object] | None = None) -> str:
        """Return the model's answer, following a JSON schema if it can; ModelUnavailable if there
        is none in time.
        """
