"""What an operator looks at: embedding models, their progress, and what needs attention."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter

from recollect import __version__
from recollect.core.admin.checks import Check
from recollect.core.admin.machine import HookRecall, LastBackup, Machine, StorageSize
from recollect.core.privacy.keys import check_all_projects
from recollect.core.recall.space import EmbeddingProgress, Space, StoredSpace
from recollect.shells.api import examples
from recollect.shells.api.context import ADMIN, READ, Mine, TheDoctor, TheKey, TheServer
from recollect.shells.api.openapi import OWNED, PREFIX, problems
from recollect.usecases.admin.findings import find_problems
from recollect.wire.page import DOCTOR, STATUS, SpaceProgress, Status

_AT: Final = datetime(2026, 3, 4, 12, 30, tzinfo=UTC)
_SPACE: Final = StoredSpace(1, "minilm", Space("all-MiniLM-L6-v2", "", 384), "active")
_STATUS: Final = STATUS.encode(
    Status(
        version=__version__,
        database="the embedded Postgres",
        spaces=(SpaceProgress(_SPACE, EmbeddingProgress(embedded=120, waiting=3, parked=0)),),
        checks=(Check("meaning", "ok", "3 memories waiting"),),
        machine=Machine(
            storage=StorageSize(total=48_300_000, vectors=12_500_000),
            backup=LastBackup(made_at=_AT, is_verified=True),
            hook_recalls=(HookRecall(at=_AT, memories=3),),
            benchmark=None,
            sync=None,
        ),
    )
)
_DOCTOR: Final = DOCTOR.encode([Check("room", "ok", "19.6 GB free")])

router = APIRouter(prefix=PREFIX, tags=["Operations"])


@router.get(
    "/status",
    operation_id="status",
    **READ,
    summary="Models and findings",
    response_model=STATUS.shape,
    responses={200: examples.of(_STATUS, "The status."), **problems(*OWNED)},
)
async def status(server: TheServer, key: TheKey, mine: Mine) -> Status:
    """The embedding models with their progress, and what needs attention. An admin key also sees
    what the machine records: storage, the last backup, recalls by hooks, the last benchmark and
    what waits for sync. Needs a key that is not limited to a project.
    """
    check_all_projects(key)
    queue = server.context.queue
    spaces = [] if queue is None else await queue.spaces()
    machine = None
    if server.machine is not None and key.role == "admin":
        machine = await server.machine()
    sync = None if machine is None else machine.sync
    notes = {"vectors": server.vector_note, "row-level security": server.barrier_note}
    return Status(
        version=__version__,
        database=server.database,
        spaces=tuple(
            [
                SpaceProgress(space, await queue.progress(space, key.owner))
                for space in spaces
                if queue is not None
            ]
        ),
        checks=tuple(find_problems(await mine.stats(), notes, sync)),
        machine=machine,
    )


@router.get(
    "/doctor",
    operation_id="doctor",
    **ADMIN,
    summary="Check the installation",
    response_model=DOCTOR.shape,
    responses={200: examples.of(_DOCTOR, "The findings."), **problems(*OWNED)},
)
async def doctor(examine: TheDoctor) -> list[Check]:
    """Run the checks of `recollect doctor` on the server's machine. It takes a few seconds."""
    return await asyncio.to_thread(examine)
