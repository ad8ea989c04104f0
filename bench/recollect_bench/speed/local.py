"""How long recall takes on the local store as it grows, and how much disk and memory it uses.

The memories' vectors are generated as for the server (`vectors.py`) and stored through the queue.
The graph leg is not measured here: reading a hundred thousand memories for it takes many minutes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.memory.memory import EVERYWHERE, Draft, Scope
from recollect.core.recall.passages import PassageVector
from recollect.core.recall.request import RecallRequest
from recollect.core.recall.settings import WordQuery
from recollect.core.recall.space import StoredSpace
from recollect.ports.embedding import Embedder
from recollect.ports.recall import VectorQuery
from recollect.settings import Settings
from recollect.usecases.recall.dense import dense_leg
from recollect.usecases.recall.late import LateStage
from recollect.usecases.service import LocalService
from recollect.usecases.tasks import measure_ms
from recollect.usecases.workers.embed import EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker
from recollect.wiring.context import build_context, catalogue
from recollect_bench.speed.corpus import KINDS, OWNER, Corpus
from recollect_bench.speed.recall import FUSED, ROUNDS, TOP, WHOLE, Timing, timing
from recollect_bench.speed.rig import DEPTH, Progress
from recollect_bench.speed.vectors import Samples, Subjects, make_samples, scatter_vectors, spans

_BATCH: Final = 2_000
# On a busy machine a leg should be slow here, not skipped.
UNHURRIED: Final = {"deadline_ms": 60_000, "rerank_timeout_ms": 10_000}
_SMALL: Final = Scope(project="small")


@dataclass(frozen=True, slots=True)
class Footprint:
    """The resources of a store of one size. `vector_bytes` is a vector's row and its share of the
    indexes; `load_ms` is the time of a process's first search; `findable_ms` is the time from the
    call of `remember` until a recall by meaning finds the memory, with a loaded model and a worker.
    """

    rows: int
    file_mb: float
    vector_bytes: int
    matrix_mb: float
    load_ms: float
    findable_ms: float


@dataclass(frozen=True, slots=True)
class LocalSpeed:
    """All measurements of one local store."""

    results: tuple[Timing, ...]
    footprints: tuple[Footprint, ...]

    def as_dict(self) -> dict[str, object]:
        return {
            "results": [asdict(result) for result in self.results],
            "footprints": [asdict(footprint) for footprint in self.footprints],
        }


async def measure_local(
    home: Path,
    yours: Settings,
    corpus: Corpus,
    subjects: Subjects,
    sizes: Sequence[int],
    *,
    queries: int,
    progress: Progress,
) -> LocalSpeed:
    """Grow one local store from size to size and ask the same questions at each."""
    mine = replace(yours, home=home, api_url=None, owner=OWNER)
    questions = {kind: corpus.queries(kind, queries, sizes[0]) for kind in KINDS}
    results: list[Timing] = []
    footprints: list[Footprint] = []
    async with AsyncExitStack() as stack:
        embedders = await stack.enter_async_context(catalogue(yours, lambda _step, _share: None))
        embedder = await embedders.embedder(yours.embedder)
        samples = await make_samples(embedder, subjects.texts, progress)
        store = await stack.enter_async_context(SqliteStore(mine.sqlite_path))
        space = await store.vectors.open_space(yours.embedder, embedder.space)
        context = build_context(store, mine)
        legs = {**context.legs, "dense": dense_leg(store.vectors, embedders)}
        context = replace(context, legs=legs)
        services = {WHOLE: LocalService(context, OWNER)}
        if samples.blocks:
            off = replace(context.default_settings, second_stage="off")
            late = LateStage(store.vectors, embedders)
            services = {
                FUSED: LocalService(replace(context, default_settings=off), OWNER),
                WHOLE: LocalService(replace(context, late=late), OWNER),
            }
        recollect = services[WHOLE]
        await recollect.change_settings(UNHURRIED)
        stored = 0
        for size in sizes:
            await _grow(store, space, corpus, samples, (stored, size), progress)
            stored = size
            for kind in KINDS:
                progress(f"{size:,} rows, {kind}", 0, 1)
                results += await _time(store, space, embedder, services, size, kind, questions)
            step = EmbeddingStep(EmbeddingContext(store.vectors, embedders, yours.embedder))
            found = await _time_until_findable(recollect, Worker(step), size)
            vectors = size * corpus.passages
            footprints.append(
                await _measure_footprint(mine.sqlite_path, space, size, vectors, found)
            )
    return LocalSpeed(tuple(results), tuple(footprints))


async def _grow(
    store: SqliteStore,
    space: StoredSpace,
    corpus: Corpus,
    samples: Samples,
    sizes: tuple[int, int],
    progress: Progress,
) -> None:
    first, last = sizes
    for start in range(first, last, _BATCH):
        memories = list(corpus.memories(start, min(start + _BATCH, last)))
        await store.add_all(memories)
        each = corpus.passages
        vectors = scatter_vectors(samples.vectors, memories, each)
        by_memory = {
            memory.id: vectors[each * place : each * (place + 1)].tolist()
            for place, memory in enumerate(memories)
        }
        known = {memory.id: memory for memory in memories}
        while jobs := await store.vectors.claim(space, _BATCH):
            done = [(job, by_memory[job.memory_id][0]) for job in jobs]
            passages = {
                job: _passages(job.text, by_memory[job.memory_id]) for job in jobs if each > 1
            }
            tokens = {
                job: [samples.block_of(known[job.memory_id], number) for number in range(each)]
                for job in jobs
                if samples.blocks
            }
            await store.vectors.finish(space, done, passages=passages, tokens=tokens)
        progress(f"storing {last:,} memories", start + len(memories) - first, last - first)


def _passages(text: str, vectors: Sequence[Sequence[float]]) -> list[PassageVector]:
    pairs = zip(spans(text, len(vectors)), vectors, strict=True)
    return [PassageVector(span, vector) for span, vector in pairs if span is not None]


async def _time(
    store: SqliteStore,
    space: StoredSpace,
    embedder: Embedder,
    services: Mapping[str, LocalService],
    rows: int,
    kind: str,
    questions: dict[str, list[str]],
) -> list[Timing]:
    took: dict[str, list[float]] = {}
    for question in questions[kind]:
        rounds: dict[str, list[float]] = {}
        for _ in range(ROUNDS):
            started = perf_counter()
            await store.search_words(OWNER, EVERYWHERE, WordQuery(question, depth=DEPTH))
            rounds.setdefault("lexical", []).append(measure_ms(started))
            started = perf_counter()
            vector = await embedder.embed_query(question)
            rounds.setdefault("embed", []).append(measure_ms(started))
            query = VectorQuery(space, vector, depth=DEPTH)
            for part, scope in (("dense", EVERYWHERE), ("dense in a project", _SMALL)):
                started = perf_counter()
                await store.vectors.nearest(OWNER, scope, query)
                rounds.setdefault(part, []).append(measure_ms(started))
            for part, service in services.items():
                started = perf_counter()
                await service.recall(RecallRequest(question, limit=TOP))
                rounds.setdefault(part, []).append(measure_ms(started))
        for part, times in rounds.items():
            took.setdefault(part, []).append(median(times))
    return [timing(rows, part, kind, times) for part, times in took.items()]


async def _time_until_findable(recollect: LocalService, worker: Worker, rows: int) -> float:
    """Measure with a worker running in the same process, as in a long-lived one."""
    working = asyncio.create_task(worker.run())
    try:
        started = perf_counter()
        text = f"The {rows}th lighthouse keeper collects antique barometers."
        memory = await recollect.remember(Draft(content=text))
        request = RecallRequest("someone who gathers old weather instruments", limit=TOP)
        while True:
            found = await recollect.recall(request)
            if memory.id in {hit.memory.id for hit in found.hits}:
                return measure_ms(started)
            await asyncio.sleep(0.005)
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def _measure_footprint(
    path: Path, space: StoredSpace, rows: int, vectors: int, findable_ms: float
) -> Footprint:
    """Measure the footprint with a newly opened store, as in a new process."""
    file_bytes = await asyncio.to_thread(lambda: path.stat().st_size)
    async with SqliteStore(path) as store:
        size = await store.vectors.bytes()
        vector = [1.0, *[0.0] * (space.space.dimension - 1)]
        started = perf_counter()
        await store.vectors.nearest(OWNER, EVERYWHERE, VectorQuery(space, vector, depth=1))
        load_ms = measure_ms(started)
    return Footprint(
        rows=rows,
        file_mb=round(file_bytes / 1e6, 1),
        vector_bytes=round(size / vectors),
        matrix_mb=round(vectors * (4 * space.space.dimension + 28) / 1e6, 1),
        load_ms=round(load_ms, 1),
        findable_ms=round(findable_ms, 1),
    )
