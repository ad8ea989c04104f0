"""Example answers of sync and conflicts for the documentation."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from recollect.core.sync.model import PROTOCOL, State
from recollect.shells.api.examples import MEMORY, SETTINGS
from recollect.wire.conflicts import ConflictOut, ConflictsOut
from recollect.wire.sync import AnswerOut, ChangesOut, PushedOut, RemoteOut, StateShape

_SERVER: Final = UUID("019cc2a7-0000-7000-8000-00000000bbbb")
_EPOCH: Final = UUID("6f1f8a8e-6d3c-4a53-9d0e-0c9b1c5d7e21")
_REMOTE: Final = RemoteOut(
    id=MEMORY.id,
    change=812,
    version=1,
    erased=False,
    deleted_at=None,
    edit=UUID("019cc2a7-4b5a-7d3a-9a55-2f0e6b7c8d9f"),
    edit_version=1,
    memory=StateShape.from_state(State(MEMORY.to_memory())),
)
PUSHED: Final = PushedOut(
    protocol=PROTOCOL,
    server=_SERVER,
    owner="me",
    epoch=_EPOCH,
    answers=[AnswerOut(id=MEMORY.id, current=_REMOTE, refused=None)],
    revisions=[],
)
CHANGES: Final = ChangesOut(
    protocol=PROTOCOL,
    server=_SERVER,
    owner="me",
    epoch=_EPOCH,
    memories=[_REMOTE],
    revisions=[],
    cursor=812,
    has_more=False,
    remaining=None,
    reset=False,
    settings=SETTINGS.model_dump(),
)
CONFLICT: Final = ConflictOut(
    id=UUID("019cc2a9-1111-7d3a-9a55-2f0e6b7c8d9f"),
    memory_id=MEMORY.id,
    kind="edit",
    fields={"importance": 0.2},
    made_at=MEMORY.updated_at,
    resolved_at=None,
    current=MEMORY,
)
CONFLICTS: Final = ConflictsOut(conflicts=[CONFLICT])
