"""The worker as a process of its own, and inside a server.

Inside a server it is a guest: whatever happens to it, the server goes on, and recall by words with
it.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from typing import Final

import structlog

from recollect.core.errors import InvalidInput, StoreError
from recollect.core.privacy.redaction import locations, safe_message
from recollect.core.text.analysis import counted
from recollect.settings import Settings
from recollect.shells.logs import log_embedding, log_graph, log_steps, log_to_stderr
from recollect.shells.progress import embedding_bar
from recollect.usecases.graph.extract import (
    Compared,
    Extracted,
    GraphContext,
    GraphTrouble,
    TellGraph,
)
from recollect.usecases.workers.backoff import Sleep
from recollect.usecases.workers.embed import NO_EMBEDDER, Embedded, EmbeddingContext, Tell, Trouble
from recollect.usecases.workers.embedding import Worker, retry_parked
from recollect.usecases.workers.graph import GraphWorker
from recollect.usecases.workers.tasks import end
from recollect.wiring import Server, open_server

log = structlog.get_logger("recollect")

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AFTER_A_FAULT: Final = 60.0


def run(settings: Settings, *, once: bool, retry: bool, as_json: bool) -> None:
    """Embed and read until a signal says stop or, `once`, until nothing waits; then say how much it
    was. `retry`: begin with giving what failed another chance.
    """
    log_to_stderr()
    counts = asyncio.run(_run(settings, once=once, retry=retry))
    text = f"embedded {counted(counts['embedded'], 'memory')}, read {counts['read']} for the graph"
    text += f"; {counted(counts['failed'], 'failed attempt')}" if counts["failed"] else ""
    text += f"; {counts['failing']} to be retried later" if counts.get("failing") else ""
    sys.stdout.write((json.dumps(counts) if as_json else text) + "\n")


async def _run(settings: Settings, *, once: bool, retry: bool) -> dict[str, int]:
    stopping = asyncio.Event()
    for number in _STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    counts = {"embedded": 0, "read": 0, "failed": 0}
    embedding_line, graph_line = log_embedding(), log_graph()

    def tell(note: Embedded | Trouble) -> None:
        if isinstance(note, Embedded):
            counts["embedded"] += note.kept
            counts["failed"] += len(note.failed)
        embedding_line(note)

    def tell_graph(note: Extracted | Compared | GraphTrouble) -> None:
        if isinstance(note, Extracted):
            counts["read"] += note.kept
            counts["failed"] += len(note.failed)
        graph_line(note)

    async with open_server(settings, log_steps()) as server:
        graph = graph_worker(server, tell_graph)
        context = embedding_of(server) if graph is not None else require_embedding(server)
        worker = None if context is None else Worker(context, tell)
        if retry:
            counts["retried"] = await _retry(context, None if graph is None else server.graph)
            log.info("trying again what failed", jobs=counts["retried"])
        async with nullcontext() if context is None else embedding_bar(context.queue):
            working = asyncio.create_task(_work(worker, graph, once=once))
            told_to_stop = asyncio.create_task(stopping.wait())
            await asyncio.wait([working, told_to_stop], return_when=asyncio.FIRST_COMPLETED)
            await end(working, told_to_stop)
        if not working.cancelled():
            counts["failing"] = working.result()
    return counts


async def _retry(context: EmbeddingContext | None, graph: GraphContext | None) -> int:
    vectors = 0 if context is None else await retry_parked(context)
    return vectors + (0 if graph is None else await graph.store.retry_parked())


async def _work(worker: Worker | None, graph: GraphWorker | None, *, once: bool) -> int:
    """Both side by side; `once`, one after the other, since names are compared in the space that
    the first makes. How many failed and are left for later.
    """
    workers = [one for one in (worker, graph) if one is not None]
    if once:
        return sum([await one.work_off() for one in workers])
    await asyncio.gather(*(one.run() for one in workers))
    return 0


def graph_worker(server: Server, tell: TellGraph) -> GraphWorker | None:
    """What fills the concept graph, unless it is switched off."""
    if server.graph.mode == "off":
        return None
    return GraphWorker(server.graph, tell)


def embedding_of(server: Server) -> EmbeddingContext | None:
    """What embedding needs, where this server embeds."""
    context = server.embedding
    return None if context is None or context.default == NO_EMBEDDER else context


def require_embedding(server: Server) -> EmbeddingContext:
    """What embedding needs, or the reason why this server does not embed."""
    if server.embedding is None:
        raise StoreError("this Postgres has no place for vectors", remedy=f"{server.vector_note}.")
    if server.embedding.default == NO_EMBEDDER:
        raise InvalidInput(
            f"RECOLLECT_EMBEDDER={NO_EMBEDDER} says that nothing is to be embedded",
            field="RECOLLECT_EMBEDDER",
            remedy="Name a model, or unset it for the default.",
        )
    return server.embedding


@asynccontextmanager
async def working_inside(server: Server) -> AsyncIterator[None]:
    """While entered, workers run beside whatever else this process does, if they are to."""
    if server.embedding is None and server.settings.embedder != NO_EMBEDDER:
        log.info("no recall by meaning", reason=server.vector_note)
    tasks: list[asyncio.Task[None]] = []
    if server.settings.worker != "off":
        if (context := embedding_of(server)) is not None:
            tasks.append(asyncio.create_task(persist(context, log_embedding()), name="worker"))
        if (graph := graph_worker(server, log_graph())) is not None:
            tasks.append(asyncio.create_task(persisting(graph.run), name="graph worker"))
    try:
        yield
    finally:
        await end(*tasks)


async def persist(context: EmbeddingContext, tell: Tell, sleep: Sleep = asyncio.sleep) -> None:
    """Run a worker, and another one when a fault of our own ends it."""
    await persisting(lambda: Worker(context, tell).run(), sleep)


async def persisting(run: Callable[[], Awaitable[None]], sleep: Sleep = asyncio.sleep) -> None:
    while True:
        try:
            await run()
        except Exception as error:  # noqa: BLE001  # a guest does not bring the house down
            log.error("worker failed", reason=safe_message(error), locations=locations(error))  # noqa: TRY400  # `exception` would log the error's text
            await sleep(_AFTER_A_FAULT)
