"""Example answers of sync and conflicts for the documentation."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from recollect.core.recall.settings import RecallSettings
from recollect.core.sync.model import (
    Answer,
    ChangePage,
    ConflictReport,
    Peer,
    Pushed,
    Remote,
    Revision,
    State,
)
from recollect.shells.api.examples import A_MEMORY
from recollect.wire import sync

_PEER: Final = Peer(
    server=UUID("019cc2a7-0000-7000-8000-00000000bbbb"),
    owner="me",
    epoch=UUID("6f1f8a8e-6d3c-4a53-9d0e-0c9b1c5d7e21"),
)
_REMOTE: Final = Remote(
    id=A_MEMORY.id,
    change=812,
    version=1,
    state=State(A_MEMORY),
    edit=UUID("019cc2a7-4b5a-7d3a-9a55-2f0e6b7c8d9f"),
    edit_version=1,
)
_CONFLICT: Final = ConflictReport(
    Revision(
        id=UUID("019cc2a9-1111-7d3a-9a55-2f0e6b7c8d9f"),
        memory_id=A_MEMORY.id,
        kind="edit",
        fields={"importance": 0.2},
        made_at=A_MEMORY.updated_at,
    ),
    A_MEMORY,
)
PUSHED: Final = sync.PUSHED.encode(Pushed(_PEER, (Answer(A_MEMORY.id, _REMOTE),)))
CHANGES: Final = sync.CHANGES.encode(
    ChangePage(_PEER, (_REMOTE,), cursor=812, settings=RecallSettings().as_dict())
)
CONFLICT: Final = sync.CONFLICT.encode(_CONFLICT)
CONFLICTS: Final = sync.CONFLICTS.encode([_CONFLICT])
