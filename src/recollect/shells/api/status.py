"""For operators: embedding models, their progress, and what needs attention."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from recollect import __version__
from recollect.core.admin.checks import Check
from recollect.shells.api import examples
from recollect.shells.api.context import Mine, TheDoctor, TheKey, TheServer, needs
from recollect.shells.api.openapi import OWNED, PREFIX, problems
from recollect.usecases.admin.findings import find_problems
from recollect.wire.page import DOCTOR, STATUS, SpaceProgress, Status

router = APIRouter(prefix=PREFIX, tags=["Operations"])


@router.get(
    "/status",
    operation_id="status",
    **needs("status"),
    summary="Models and findings",
    response_model=STATUS.shape,
    responses={200: examples.of("status", "The status."), **problems(*OWNED)},
)
async def status(server: TheServer, key: TheKey, mine: Mine) -> Status:
    """Show the embedding models with their progress, and what needs attention. An admin key also
    sees what is recorded on the machine: storage, the last backup, recalls by hooks, the last
    benchmark and what waits for sync. Needs a key that is not limited to a project.
    """
    queue = mine.context_for("status").queue
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
    **needs("doctor"),
    summary="Check the installation",
    response_model=DOCTOR.shape,
    responses={200: examples.of("doctor", "The findings."), **problems(*OWNED)},
)
async def doctor(examine: TheDoctor) -> list[Check]:
    """Run the checks of `recollect doctor` on the server's machine. It takes a few seconds."""
    return await asyncio.to_thread(examine)
