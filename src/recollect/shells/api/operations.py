"""Statistics, health and metrics for operators."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from fastapi import APIRouter, Request, Response

from recollect.core.admin.stats import Stats
from recollect.core.errors import StoreError, StoreUnavailable
from recollect.shells.api import examples
from recollect.shells.api.context import Mine, TheLoadProbe, TheMetrics, TheProbe, needs
from recollect.shells.api.metrics import CONTENT_TYPE
from recollect.shells.api.openapi import OWNED, PREFIX, problems
from recollect.wire.problems import KINDS
from recollect.wire.stats import STATS, HealthOut

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
        200: examples.of("stats", "The statistics."),
        **problems(*OWNED),
    },
)
async def stats(mine: Mine) -> Stats:
    """Count what the key's owner has stored."""
    return await mine.stats()


@open.get(
    "/health/live",
    operation_id="live",
    summary="Is the process alive?",
    responses={200: examples.of("health", "It answers."), **problems()},
)
async def live() -> HealthOut:
    """Check only that the process answers: if this fails, restart it."""
    return HealthOut(status="ok")


@open.get(
    "/health/ready",
    operation_id="ready",
    summary="Can it serve?",
    responses={
        200: examples.of("health", "The store answers."),
        **problems(KINDS[StoreUnavailable]),
    },
)
async def ready(request: Request, probe: TheProbe) -> HealthOut:
    """Check the store, at most once a second. If this fails, route requests elsewhere until it
    succeeds again. It also fails while a server that is stopping still answers requests.
    """
    if request.app.state.stopping.is_set():
        raise StoreUnavailable("this server is stopping", remedy="Send requests to another one.")
    await probe()
    return HealthOut(status="ok")


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
