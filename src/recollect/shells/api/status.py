"""What an operator looks at: embedding models, their progress, and what needs attention."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter

from recollect import __version__
from recollect.shells.api import examples
from recollect.shells.api.context import Mine, TheDoctor, TheKey, TheServer, needs
from recollect.shells.api.openapi import OWNED, PREFIX, problems
from recollect.usecases.admin.findings import find_problems
from recollect.wire.status import (
    CheckOut,
    DoctorOut,
    MachineOut,
    SpaceOut,
    StatusOut,
)

router = APIRouter(prefix=PREFIX, tags=["Operations"])


@router.get(
    "/status",
    operation_id="status",
    **needs("status"),
    summary="Models and findings",
    responses={200: examples.of("status", "The status."), **problems(*OWNED)},
)
async def status(server: TheServer, key: TheKey, mine: Mine) -> StatusOut:
    """The embedding models with their progress, and what needs attention. An admin key also sees
    what the machine records: storage, the last backup, recalls by hooks, the last benchmark and
    what waits for sync. Needs a key that is not limited to a project.
    """
    queue = mine.context_for("status").queue
    spaces = [] if queue is None else await queue.spaces()
    machine = None
    if server.machine is not None and key.role == "admin":
        machine = await server.machine()
    sync = None if machine is None else machine.sync
    notes = {"vectors": server.vector_note, "row-level security": server.barrier_note}
    return StatusOut(
        version=__version__,
        database=server.database,
        spaces=[
            SpaceOut.from_space(space, await queue.progress(space, key.owner))
            for space in spaces
            if queue is not None
        ],
        checks=[
            CheckOut.from_check(check) for check in find_problems(await mine.stats(), notes, sync)
        ],
        machine=None if machine is None else MachineOut.from_machine(machine),
    )


@router.get(
    "/doctor",
    operation_id="doctor",
    **needs("doctor"),
    summary="Check the installation",
    responses={200: examples.of("doctor", "The findings."), **problems(*OWNED)},
)
async def doctor(examine: TheDoctor) -> DoctorOut:
    """Run the checks of `recollect doctor` on the server's machine. It takes a few seconds."""
    found = await asyncio.to_thread(examine)
    return DoctorOut(checks=[CheckOut.from_check(check) for check in found])
