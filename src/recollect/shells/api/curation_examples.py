"""Example answers of curation for the documentation."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from recollect.shells.api.examples import MEMORY
from recollect.wire.curation import JournalEntryOut, JournalOut, ProposalOut, ProposalsOut

_OLDER: Final = UUID("019cc2a1-0f3c-7a10-8d1e-5b2f4c6d8e01")
PROPOSAL: Final = ProposalOut(
    id=UUID("019cc2aa-2222-7d3a-9a55-2f0e6b7c8d9f"),
    kind="supersedes",
    newer=MEMORY.id,
    older=_OLDER,
    newer_version=1,
    older_version=1,
    newer_quote="The API moved to port 9000.",
    older_quote="The API runs on port 8000.",
    reason="8000 became 9000",
    confidence=0.74,
    decided_by="rules",
    created_at=MEMORY.updated_at,
    state="open",
    project=MEMORY.project,
)
PROPOSALS: Final = ProposalsOut(proposals=[PROPOSAL])
JOURNAL_ENTRY: Final = JournalEntryOut(
    id=UUID("019cc2ab-3333-7d3a-9a55-2f0e6b7c8d9f"),
    proposal=PROPOSAL.id,
    kind="supersedes",
    survivor=MEMORY.id,
    superseded=_OLDER,
    tags=[],
    expanded_keywords=[],
    importance=None,
    by="me",
    at=MEMORY.updated_at,
    undone_at=None,
    project=MEMORY.project,
)
JOURNAL: Final = JournalOut(entries=[JOURNAL_ENTRY])
