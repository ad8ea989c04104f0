"""The worker, as a process of its own and inside a server.

If it fails inside a server, the server keeps running and still recalls by words.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any, Final

import structlog

from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import InvalidInput, RecollectError, StoreError
from recollect.core.privacy.redaction import locations, safe_message
from recollect.core.text.analysis import counted
from recollect.ports.embedding import VectorOutbox
from recollect.ports.tracing import NO_TRACER
from recollect.settings import Settings
from recollect.shells.logs import (
    log_analysis,
    log_curation,
    log_embedding,
    log_graph,
    log_steps,
    log_to_stderr,
)
from recollect.shells.progress import embedding_bar
from recollect.usecases.curation.propose import Examined
from recollect.usecases.graph.extract import Compared, Extracted, GraphContext
from recollect.usecases.tasks import cancel_and_wait
from recollect.usecases.tracing import TracedStep
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import Embedded, EmbeddingContext
from recollect.usecases.workers.steps import (
    AnalysisStep,
    CurationStep,
    EmbeddingStep,
    GraphStep,
    IndexStep,
    OnCuration,
    OutboxStep,
    retry_parked,
)
from recollect.usecases.workers.worker import Step, Worker, persist
from recollect.wiring.context import build_curation
from recollect.wiring.local import Local, open_local
from recollect.wiring.server import Server, open_server

log = structlog.get_logger("recollect")

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run(settings: Settings, *, once: bool, retry: bool, local: bool, as_json: bool) -> None:
    """Embed, read and curate until a signal arrives or, with `once`, until the queues are empty;
    then print the counts. `retry`: retry failed jobs first. `local`: work on the local store. If
    one kind of work fails, its error is raised after the others are done.
    """
    log_to_stderr()
    counts, error = asyncio.run(_run(settings, once=once, retry=retry, local=local))
    sys.stdout.write((json.dumps(counts) if as_json else _describe_counts(counts)) + "\n")
    if error is not None:
        raise error


def _describe_counts(counts: Mapping[str, int]) -> str:
    text = f"embedded {counted(counts['embedded'], 'memory')}, read {counts['read']} for the graph"
    if counts["proposed"] or counts["applied"]:
        text += f", proposed {counted(counts['proposed'], 'change')}"
        text += f", applied {counts['applied']}" if counts["applied"] else ""
    text += f"; {counted(counts['failed'], 'failed attempt')}" if counts["failed"] else ""
    return text + (f"; {counts['failing']} to be retried later" if counts.get("failing") else "")


class _Tally:
    """Counts and logs what the steps report."""

    def __init__(self) -> None:
        self.counts = {"embedded": 0, "read": 0, "proposed": 0, "applied": 0, "failed": 0}
        self.embedding_line = log_embedding()
        self._graph_line = log_graph()

    def on_embedding(self, event: Embedded | BackoffEvent) -> None:
        if isinstance(event, Embedded):
            self._add(embedded=event.kept, failed=len(event.failed))
        self.embedding_line(event)

    def on_graph(self, event: Extracted | Compared | BackoffEvent) -> None:
        if isinstance(event, Extracted):
            self._add(read=event.kept, failed=len(event.failed))
        self._graph_line(event)

    def on_curation(self, event: Examined | BackoffEvent) -> None:
        if isinstance(event, Examined):
            self._add(proposed=event.proposed, applied=event.applied)
        log_curation(event)

    def _add(self, **more: int) -> None:
        for name, count in more.items():
            self.counts[name] += count


async def _run(
    settings: Settings, *, once: bool, retry: bool, local: bool
) -> tuple[dict[str, int], RecollectError | None]:
    stopping = asyncio.Event()
    for number in _STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    tally = _Tally()
    counts, error = tally.counts, None
    opened = open_local if local else open_server
    async with opened(settings, log_steps()) as server:
        steps = steps_of(server, tally)
        has_other_work = any(isinstance(step, GraphStep | CurationStep) for step in steps)
        context = embedding_of(server) if has_other_work else require_embedding(server)
        workers = [Worker(trace_step(server, step)) for step in steps]
        if retry:
            counts["retried"] = await _retry(context, server.graph)
            log.info("retrying what failed", jobs=counts["retried"])
        async with nullcontext() if context is None else embedding_bar(context.queue):
            working = asyncio.create_task(_work(workers, once=once))
            stopped = asyncio.create_task(stopping.wait())
            await asyncio.wait([working, stopped], return_when=asyncio.FIRST_COMPLETED)
            await _stop(server, working, stopped)
        if not working.cancelled():
            counts["failing"], error = working.result()
    return counts, error


async def _retry(context: EmbeddingContext | None, graph: GraphContext) -> int:
    vectors = 0 if context is None else await retry_parked(context)
    return vectors + (0 if graph.mode == "off" else await graph.store.retry_parked())


async def _work(workers: Sequence[Worker], *, once: bool) -> tuple[int, RecollectError | None]:
    """Run the workers concurrently or, with `once`, one after the other, since names are compared
    in the space that embedding creates. Return how many jobs failed and are left for later, and the
    first error that stopped a worker; the other workers still run.
    """
    if not once:
        await asyncio.gather(*(worker.run() for worker in workers))
        return 0, None
    failing, first = 0, None
    for worker in workers:
        try:
            failing += await worker.work_off()
        except RecollectError as error:
            if first is None:
                first = error
            else:
                log.warning("worker stopped", reason=str(error))
    return failing, first


def steps_of(server: Server | Local, tally: _Tally) -> list[Step]:
    """Return the work that there is on a store, in the order in which it is worked off."""
    steps: list[Step] = [AnalysisStep(server.analysis, log_analysis)]
    if (context := embedding_of(server)) is not None:
        steps += [
            EmbeddingStep(context, tally.on_embedding),
            IndexStep(context.queue, tally.embedding_line),
        ]
    if (outbox := outbox_of(server)) is not None:
        steps.append(OutboxStep(outbox, tally.embedding_line))
    if server.graph.mode != "off":
        steps.append(GraphStep(server.graph, tally.on_graph))
    if (curation := curation_step(server, tally.on_curation)) is not None:
        steps.append(curation)
    return steps


def curation_step(server: Server | Local, on_event: OnCuration) -> CurationStep | None:
    """Return the step that examines changed memories, or None if curation is off. A local store
    with a server behind it has none: proposals are made where the memories are authoritative.
    """
    if server.settings.api_url is not None and isinstance(server, Local):
        return None
    curation = build_curation(server.context, server.settings)
    return None if curation is None else CurationStep(curation, on_event)


def embedding_of(server: Server | Local) -> EmbeddingContext | None:
    """Return what embedding needs, or None if this server does not embed."""
    context = server.embedding
    return None if context is None or context.default == NO_EMBEDDER else context


def trace_step(server: Server | Local, step: Step) -> Step:
    """Trace the step, if traces are collected."""
    if isinstance(server, Local) or server.tracer is NO_TRACER:
        return step
    return TracedStep(step, server.tracer)


def outbox_of(server: Server | Local) -> VectorOutbox | None:
    """Return what sends vectors to another engine, or None if there is none."""
    if server.embedding is None or not isinstance(server.embedding.queue, VectorOutbox):
        return None
    return server.embedding.queue


def require_embedding(server: Server | Local) -> EmbeddingContext:
    """Return what embedding needs; raise an error that says why this server does not embed."""
    if server.embedding is None:
        raise StoreError("this Postgres cannot store vectors", remedy=f"{server.vector_note}.")
    if server.embedding.default == NO_EMBEDDER:
        raise InvalidInput(
            f"RECOLLECT_EMBEDDER={NO_EMBEDDER} disables embedding",
            field="RECOLLECT_EMBEDDER",
            remedy="Name a model, or unset it for the default.",
        )
    return server.embedding


@asynccontextmanager
async def run_workers(server: Server | Local) -> AsyncIterator[None]:
    """While entered, run workers in this process, unless they are off."""
    if server.embedding is None and server.settings.embedder != NO_EMBEDDER:
        reason = server.vector_note or f"{server.settings.embedder} is not on this machine"
        log.info("no recall by meaning", reason=reason)
    if server.barrier_note:
        log.warning("row-level security has no roles", reason=server.barrier_note)
    steps = [] if server.settings.worker == "off" else steps_of(server, _Tally())
    tasks = [asyncio.create_task(persist(trace_step(server, step), log_bug)) for step in steps]
    try:
        yield
    finally:
        await _stop(server, *tasks)


async def _stop(server: Server | Local, *tasks: asyncio.Task[Any]) -> None:
    """Cancel the tasks. Workers need a moment to release what they claimed."""
    await cancel_and_wait(*tasks, cancel_again=5 * server.settings.timeouts.give_back)


def log_bug(error: Exception) -> None:
    log.error("worker failed", reason=safe_message(error), locations=locations(error))
