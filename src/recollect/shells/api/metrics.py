"""Metrics for Prometheus. They are public, so they contain no text, owner or address."""

from __future__ import annotations

from http import HTTPStatus

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from recollect import __version__
from recollect.core.admin.stats import Load
from recollect.core.recall.request import Recollection

CONTENT_TYPE = CONTENT_TYPE_LATEST
# From a local recall by words (1 ms) to the longest sensible deadline.
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """The metrics of one app, in its own registry, so that several apps can run in one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "recollect_http_request_seconds",
            "Time to answer a request, by route template and status.",
            ("method", "route", "status"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._recalls = Histogram(
            "recollect_recall_seconds",
            "Time a recall took inside the server.",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._legs = Counter(
            "recollect_recall_legs",
            "Outcomes of each leg in recalls so far.",
            ("leg", "status"),
            registry=self._registry,
        )

        self._hooks = Histogram(
            "recollect_hook_recall_seconds",
            "Time to answer a recall of a hook: in time, too late for it, or with an error.",
            ("outcome",),
            buckets=_SECONDS,
            registry=self._registry,
        )

        self._overloads = Counter(
            "recollect_overload_refusals",
            "Requests refused because they could not be answered in time.",
            registry=self._registry,
        )

        self._sign_ins = Counter(
            "recollect_failed_sign_ins",
            "Requests without a key, or with an unknown or revoked one.",
            registry=self._registry,
        )

        self._jobs = Gauge(
            "recollect_jobs",
            "Memories that wait to be embedded, read for the graph or sent to Qdrant, and parked "
            "ones that failed too often, of all owners.",
            ("queue", "state"),
            registry=self._registry,
        )
        self._memories = Gauge(
            "recollect_memories",
            "Memories of all owners, as Postgres estimates them.",
            registry=self._registry,
        )
        self._connections = Gauge(
            "recollect_database_connections",
            "Connections of this process to Postgres.",
            ("state",),
            registry=self._registry,
        )
        build = Gauge("recollect_build_info", "The version.", ("version",), registry=self._registry)
        build.labels(__version__).set(1)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def set_load(self, load: Load) -> None:
        self._memories.set(load.memories)
        for queue, (waiting, parked) in load.queues.items():
            self._jobs.labels(queue, "waiting").set(waiting)
            self._jobs.labels(queue, "parked").set(parked)
        self._connections.labels("in_use").set(load.connections_in_use)
        self._connections.labels("idle").set(load.connections_idle)

    def count_failed_sign_in(self) -> None:
        self._sign_ins.inc()

    def count_overload(self) -> None:
        self._overloads.inc()

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).observe(seconds)

    def observe_hook(self, status: int, seconds: float, waits: float) -> None:
        """`waits`: how many seconds the hook waits before it answers without the server."""
        outcome = "late" if seconds > waits else "answered" if status == HTTPStatus.OK else "failed"
        self._hooks.labels(outcome).observe(seconds)

    def observe_recall(self, recollection: Recollection) -> None:
        self._recalls.observe(recollection.took_ms / 1000)
        for name, leg in recollection.legs.items():
            self._legs.labels(name, leg.status).inc()

    def text(self) -> bytes:
        return generate_latest(self._registry)
