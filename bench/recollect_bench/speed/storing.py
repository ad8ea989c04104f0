"""Whether storing is as fast while a worker embeds as without embedding.

The two are measured in turns, so that a slowdown of the machine affects both. The worker gets a
backlog first: it would wait for a quick burst of writes to pass before it begins. It yields to
callers that store (docs/adr/0030), so calls are timed until it has embedded some texts in between.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from time import perf_counter
from typing import Final
from uuid import UUID

from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import Draft, Memory
from recollect.usecases.tasks import cancel_and_wait, measure_ms
from recollect.usecases.workers.embed import EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker
from recollect_bench.speed.corpus import Corpus
from recollect_bench.speed.rig import Dense, Documents, Rig

WITHOUT: Final = "without embedding"
WITH: Final = "with embedding"
_ROUNDS: Final = 3
# The backlog, as a multiple of the timed calls.
_BACKLOG: Final = 2
# Texts that must be embedded during the timed calls, unless that takes too many calls.
_MIN_TEXTS: Final = 5
_MAX_TIMES: Final = 100
# The number of the first memory that the corpus uses for no size.
_FIRST: Final = 10_000_000

_ERASE: Final = "delete from memories where id = any(%s)"
# The next size stores the same memories again.
_FREE_IDS: Final = "delete from changes where memory_id = any(%s)"


@dataclass(slots=True)
class Stored:
    """Milliseconds of each call, and how many texts the worker began while they were timed."""

    took: dict[str, list[float]] = field(default_factory=dict)
    embedded: int = 0


async def time_storing(rig: Rig, corpus: Corpus, calls: int) -> Stored:
    """Time storing; what is stored is erased again, so that the store keeps its size."""
    stored, spare = Stored(), corpus.memories(_FIRST, 2 * _FIRST)
    for _ in range(_ROUNDS):
        times = calls
        if rig.dense is not None:
            backlog = list(islice(spare, _BACKLOG * calls))
            await rig.store.add_many(backlog)
            async with _run_worker(rig.dense):
                before = rig.documents.begun
                took = await _store(rig, spare, calls, rig.documents)
                stored.embedded += rig.documents.begun - before
            await _erase(rig, [memory.id for memory in backlog])
            stored.took.setdefault(WITH, []).extend(took)
            times = len(took)
        async with rig.embedding_off():
            stored.took.setdefault(WITHOUT, []).extend(await _store(rig, spare, times))
    return stored


async def _store(
    rig: Rig, spare: Iterator[Memory], calls: int, embedded: Documents | None = None
) -> list[float]:
    """Time `calls` calls, and more until enough texts were `embedded` meanwhile."""
    took: list[float] = []
    ids: list[UUID] = []
    enough = 0 if embedded is None else embedded.begun + _MIN_TEXTS
    while len(took) < calls or (
        embedded is not None and embedded.begun < enough and len(took) < _MAX_TIMES * calls
    ):
        memory = next(spare)
        draft = Draft(memory.content, id=uuid7(memory.created_at, os.urandom(10)))
        started = perf_counter()
        stored = await rig.recollect.remember(draft)
        took.append(measure_ms(started))
        ids.append(stored.id)
    await _erase(rig, ids)
    return took


async def _erase(rig: Rig, ids: Sequence[UUID]) -> None:
    for statement in (_ERASE, _FREE_IDS):
        await rig.connection.execute(statement, (list(ids),))


@asynccontextmanager
async def _run_worker(dense: Dense) -> AsyncIterator[None]:
    """Run a worker in this process, as in a server; enter once it has begun with its backlog."""
    begun = asyncio.Event()
    context = EmbeddingContext(dense.vectors, dense.embedders, dense.space.embedder)
    working = asyncio.create_task(Worker(EmbeddingStep(context, lambda _: begun.set())).run())
    try:
        await begun.wait()
        yield
    finally:
        await cancel_and_wait(working)
