"""Example answers of curation for the documentation."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from recollect.core.curation.proposals import Addition, JournalEntry, Proposal
from recollect.shells.api.examples import A_MEMORY
from recollect.wire import curation

_OLDER: Final = UUID("019cc2a1-0f3c-7a10-8d1e-5b2f4c6d8e01")
_PROPOSAL: Final = Proposal(
    id=UUID("019cc2aa-2222-7d3a-9a55-2f0e6b7c8d9f"),
    kind="supersedes",
    newer=A_MEMORY.id,
    older=_OLDER,
    newer_version=1,
    older_version=1,
    newer_quote="The API moved to port 9000.",
    older_quote="The API runs on port 8000.",
    reason="8000 became 9000",
    confidence=0.74,
    decided_by="rules",
    created_at=A_MEMORY.updated_at,
    project=A_MEMORY.project,
)
_JOURNAL_ENTRY: Final = JournalEntry(
    id=UUID("019cc2ab-3333-7d3a-9a55-2f0e6b7c8d9f"),
    proposal=_PROPOSAL.id,
    kind="supersedes",
    survivor=A_MEMORY.id,
    superseded=_OLDER,
    addition=Addition(),
    by="me",
    at=A_MEMORY.updated_at,
    project=A_MEMORY.project,
)
PROPOSAL: Final = curation.PROPOSAL.encode(_PROPOSAL)
PROPOSALS: Final = curation.PROPOSALS.encode([_PROPOSAL])
JOURNAL_ENTRY: Final = curation.JOURNAL_ENTRY.encode(_JOURNAL_ENTRY)
JOURNAL: Final = curation.JOURNAL.encode([_JOURNAL_ENTRY])
