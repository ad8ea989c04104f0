"""For operators: statistics, embedding models and their progress, what needs attention, health and
metrics.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from fastapi import APIRouter, Request, Response

from recollect import __version__
from recollect.core.admin.checks import Check
from recollect.core.admin.stats import Stats
from recollect.core.errors import StoreError, StoreUnavailable
from recollect.shells.api.context import (
    Mine,
    TheDoctor,
    TheKey,
    TheLoadProbe,
    TheMetrics,
    TheProbe,
    TheServer,
    needs,
)
from recollect.shells.api.metrics import CONTENT_TYPE
from recollect.shells.api.openapi import OWNED, PREFIX, example, problems
from recollect.usecases.admin.findings import find_problems
from recollect.wire.page import DOCTOR, STATUS, SpaceProgress, Status
from recollect.wire.problems import KINDS
from recollect.wire.stats import STATS, HealthOut, ReadyOut

OPEN: Final = ("health/live", "health/ready", "metrics")

closed = APIRouter(prefix=PREFIX, tags=["Operations"])
open = APIRouter(prefix=PREFIX, tags=["Operations"])


@closed.get(
    "/stats",
    operation_id="stats",
    **needs("stats"),
    summary="Count",
    response_model=STATS.shape,
    responses={
        200: example("stats", "The statistics."),
        **problems(*OWNED),
    },
)
async def stats(mine: Mine) -> Stats:
    """Count what the key's owner has stored."""
    return await mine.stats()


@closed.get(
    "/status",
    operation_id="status",
    **needs("status"),
    summary="Models and findings",
    response_model=STATUS.shape,
    responses={200: example("status", "The status."), **problems(*OWNED)},
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


@closed.get(
    "/doctor",
    operation_id="doctor",
    **needs("doctor"),
    summary="Check the installation",
    response_model=DOCTOR.shape,
    responses={200: example("doctor", "The findings."), **problems(*OWNED)},
)
async def doctor(examine: TheDoctor) -> list[Check]:
    """Run the checks of `recollect doctor` on the server's machine. It takes a few seconds."""
    return await asyncio.to_thread(examine)


@open.get(
    "/health/live",
    operation_id="live",
    summary="Is the process alive?",
    responses={200: example("health", "It answers."), **problems()},
)
async def live() -> HealthOut:
    """Check only that the process answers: if this fails, restart it."""
    return HealthOut(status="ok")


@open.get(
    "/health/ready",
    operation_id="ready",
    summary="Can it serve?",
    responses={
        200: example("ready", "The store answers."),
        **problems(KINDS[StoreUnavailable]),
    },
)
async def ready(request: Request, probe: TheProbe) -> ReadyOut:
    """Check the store, at most once a second. If this fails, route requests elsewhere until it
    succeeds again. It also fails while a server that is stopping still answers requests.
    """
    if request.app.state.stopping.is_set():
        raise StoreUnavailable("this server is stopping", remedy="Send requests to another one.")
    return await probe()


@open.get(
    "/metrics",
    operation_id="metrics",
    summary="Numbers for Prometheus",
    response_class=Response,
    responses={
        200: {
            "description": "The Prometheus text format.",
            "content": {
                "text/plain": {
                    "schema": {"type": "string"},
                    "example": 'recollect_recall_legs_total{leg="lexical",status="ran"} 12.0\n',
                }
            },
        },
        **problems(),
    },
)
async def metrics(metrics: TheMetrics, load: TheLoadProbe) -> Response:
    """Read the metrics. This needs no key: they contain no text and no owner. While the database
    does not answer, its numbers stay as they were.
    """
    with suppress(StoreError):
        await load()
    return Response(metrics.text(), media_type=CONTENT_TYPE)
