"""The worker as a process of its own, and inside a server.

Inside a server it is a guest: whatever happens to it, the server goes on, and recall by words with
it.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import structlog

from recollect.core.errors import InvalidInput, StoreError
from recollect.core.faults import explained, places
from recollect.logs import log_embedding, log_steps, log_to_stderr
from recollect.progress import embedding_bar
from recollect.settings import Settings
from recollect.usecases.embed import NO_EMBEDDER, Embedded, EmbeddingParts, Tell, Trouble
from recollect.usecases.work import Sleep, Worker
from recollect.wiring import Server, open_server

log = structlog.get_logger("recollect")

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AFTER_A_FAULT: Final = 60.0


def run(settings: Settings, *, once: bool, as_json: bool) -> None:
    """Embed until a signal says stop or, `once`, until nothing waits; then say how much it was."""
    log_to_stderr()
    kept, failed = asyncio.run(_run(settings, once=once))
    told = json.dumps({"embedded": kept, "failed": failed})
    text = f"embedded {kept} memories" + (f"; {failed} attempts failed" if failed else "")
    sys.stdout.write((told if as_json else text) + "\n")


async def _run(settings: Settings, *, once: bool) -> tuple[int, int]:
    stopping = asyncio.Event()
    for number in _STOP_SIGNALS:
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    kept = failed = 0
    line = log_embedding()

    def tell(note: Embedded | Trouble) -> None:
        nonlocal kept, failed
        if isinstance(note, Embedded):
            kept, failed = kept + note.kept, failed + len(note.failed)
        line(note)

    async with open_server(settings, log_steps()) as server:
        parts = require_embedding(server)
        worker = Worker(parts, tell)
        async with embedding_bar(parts.queue):
            working = asyncio.create_task(worker.work_off() if once else worker.run())
            told_to_stop = asyncio.create_task(stopping.wait())
            await asyncio.wait([working, told_to_stop], return_when=asyncio.FIRST_COMPLETED)
            for task in (working, told_to_stop):
                task.cancel()
            await asyncio.wait([working, told_to_stop])
        if not working.cancelled():
            working.result()
    return kept, failed


def require_embedding(server: Server) -> EmbeddingParts:
    """What a worker needs, or the reason why this server has no use for one."""
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
    """While entered, a worker runs beside whatever else this process does, if it is to."""
    parts = server.embedding
    if parts is None:
        log.info("no worker", reason=server.vector_note)
    if parts is None or parts.default == NO_EMBEDDER or server.settings.worker == "off":
        yield
        return
    working = asyncio.create_task(persist(parts, log_embedding()), name="worker")
    try:
        yield
    finally:
        working.cancel()
        await asyncio.wait([working])


async def persist(parts: EmbeddingParts, tell: Tell, sleep: Sleep = asyncio.sleep) -> None:
    """Run a worker, and another one when a fault of our own ends it."""
    while True:
        try:
            await Worker(parts, tell).run()
        except Exception as error:  # noqa: BLE001  # a guest does not bring the house down
            log.error("worker failed", reason=explained(error), places=places(error))  # noqa: TRY400  # `exception` would log the error's text
            await sleep(_AFTER_A_FAULT)
