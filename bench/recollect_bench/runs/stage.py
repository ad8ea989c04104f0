"""An evaluation set in a real store, stored like any user's memories.

Memories are stored by the use case, embedded and read for the concept graph by the workers, and
searched by the legs that a server uses. Each stage has a store of its own: word frequencies must
not depend on what else was measured.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.sqlite.store import SqliteStore
from recollect.adapters.walkers.pagerank import PageRank
from recollect.core.errors import InvalidInput, ModelUnavailable, StoreError
from recollect.core.memory.ids import uuid7
from recollect.core.memory.memory import DEFAULT_CATEGORY, EPISODE, MAX_CONTENT_LIMIT, Draft
from recollect.ports.embedding import Embedder, Embedders
from recollect.ports.graph import GraphStore
from recollect.settings import Settings, load
from recollect.usecases.context import Context
from recollect.usecases.graph.extract import (
    Compared,
    Extracted,
    GraphContext,
    compare_batch,
)
from recollect.usecases.graph.import_facts import import_facts
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.dense import dense_leg
from recollect.usecases.recall.graph_leg import GraphLeg
from recollect.usecases.recall.late import LateStage
from recollect.usecases.workers.backoff import BackoffEvent
from recollect.usecases.workers.embed import Embedded, EmbeddingContext
from recollect.usecases.workers.steps import EmbeddingStep, GraphStep
from recollect.usecases.workers.worker import Worker
from recollect.wiring.context import build_context
from recollect.wiring.postgres import open_postgres
from recollect_bench.data.datasets import FACTS, Document, EvaluationSet, conversations
from recollect_bench.runs.before_model import FirstWindows
from recollect_bench.runs.configs import Layout
from recollect_bench.runs.importance import importance_of

OWNER: Final = "bench"
# Enough to keep a store busy while each writer waits for the disk.
_WRITERS: Final = 8
_POLL_SECONDS: Final = 0.2
_BEGINNING: Final = datetime(2026, 1, 1, tzinfo=UTC)

NO_FACTS: Final = (
    f"Put {' or '.join(FACTS)} into the set's folder, in the format of `recollect graph import`, "
    "with the documents' ids; or name such a file with --facts."
)

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Stage:
    """A stored set that is ready for questions. `documents` maps memories to document ids."""

    data: EvaluationSet
    context: Context
    documents: Mapping[UUID, str]


@asynccontextmanager
async def staged(
    data: EvaluationSet,
    layout: Layout,
    embedders: Embedders | None,
    place: Path | str,
    progress: Progress,
) -> AsyncIterator[Stage]:
    """Store a set. `place` is the URL of an empty database or, for the local store, an empty
    folder; the caller removes it. Without embedders nothing is embedded, and the dense leg is
    absent.
    """
    placed = {"home": place} if isinstance(place, Path) else {"database_url": place}
    settings = load(api_url=None, owner=OWNER, max_content=MAX_CONTENT_LIMIT, **placed)
    open_stage = _open_sqlite if layout.engine == "sqlite" else _open_postgres
    async with open_stage(data, layout, embedders, settings, progress) as stage:
        yield stage


@asynccontextmanager
async def _open_sqlite(
    data: EvaluationSet,
    layout: Layout,
    embedders: Embedders | None,
    settings: Settings,
    progress: Progress,
) -> AsyncIterator[Stage]:
    async with SqliteStore(settings.sqlite_path) as store:
        context = build_context(store, settings)
        documents = await _store(data, layout, context, progress)
        stage = Stage(data, context, documents)
        async with _fill(stage, layout, embedders, store, settings, progress) as filled:
            yield filled


@asynccontextmanager
async def _open_postgres(
    data: EvaluationSet,
    layout: Layout,
    embedders: Embedders | None,
    settings: Settings,
    progress: Progress,
) -> AsyncIterator[Stage]:
    async with open_postgres(settings) as (store, _):
        context = build_context(store, settings)
        documents = await _store(data, layout, context, progress)
        await store.maintain()
        if embedders is not None and store.vectors is None:
            raise StoreError(
                "the dense leg cannot be measured here", remedy=f"{store.vector_note}."
            )
        stage = Stage(data, context, documents)
        async with _fill(stage, layout, embedders, store, settings, progress) as filled:
            yield filled


@asynccontextmanager
async def _fill(
    stage: Stage,
    layout: Layout,
    embedders: Embedders | None,
    store: PostgresStore | SqliteStore,
    settings: Settings,
    progress: Progress,
) -> AsyncIterator[Stage]:
    """Add vectors and a graph to a stage, and the legs that search them."""
    vectors, data = store.vectors, stage.data
    if embedders is None or vectors is None:
        yield stage
        return
    name = layout.embedder or settings.embedder
    models = FirstWindows(embedders) if layout.embedded == "first" else embedders
    embedding = EmbeddingContext(vectors, models, name, settings=stage.context.settings)
    await _embed(embedding, data, progress)
    await wake(await models.embedder(name))
    legs = {**stage.context.legs, "dense": dense_leg(vectors, models)}
    context = replace(stage.context, legs=legs, late=LateStage(vectors, models))
    if layout.graph == "none":
        yield replace(stage, context=context)
        return
    if layout.graph == "given":
        await _import(store.graph, data, stage.documents, progress)
        await _compare(GraphContext(store.graph, embedders=embedders), data, progress)
    else:
        await _read(GraphContext(store.graph), data, progress)
    async with PageRank(store.graph) as pagerank:
        await pagerank.ready(OWNER)
        graph_leg = GraphLeg(pagerank, store)
        yield replace(stage, context=replace(context, second_phase={"graph": graph_leg}))


async def _store(
    data: EvaluationSet, layout: Layout, context: Context, progress: Progress
) -> dict[UUID, str]:
    importances = importance_of(data, layout.importance)
    talks = {} if layout.embedded == "alone" else conversations(data.documents)
    waiting = list(enumerate(data.documents))
    stored: dict[UUID, str] = {}

    async def write() -> None:
        while waiting:
            number, document = waiting.pop(0)
            moment = document.moment or _BEGINNING + timedelta(seconds=number)
            if document.id in talks:
                # The sets give only the start of a conversation.
                moment += timedelta(milliseconds=number)
            draft = _draft(document, moment, importances[document.id], talks.get(document.id))
            memory = await remember(replace(context, clock=_FixedClock(moment)), OWNER, draft)
            stored[memory.id] = document.id
            progress(f"{data.name}: storing", len(stored), len(data.documents))

    async with asyncio.TaskGroup() as writers:
        for _ in range(_WRITERS):
            writers.create_task(write())
    return stored


def _draft(document: Document, moment: datetime, importance: float, talk: str | None) -> Draft:
    """Derive the id from the document, so that ties are broken the same way in every run."""
    return Draft(
        content=document.content[:MAX_CONTENT_LIMIT],
        category=DEFAULT_CATEGORY if talk is None else EPISODE,
        session=talk,
        importance=importance,
        is_sensitive=False,  # public text, all of which the dense leg should search
        project=document.scope,
        id=uuid7(moment, hashlib.sha256(document.id.encode()).digest()),
    )


async def _embed(context: EmbeddingContext, data: EvaluationSet, progress: Progress) -> None:
    done = 0

    def report(note: Embedded | BackoffEvent) -> None:
        nonlocal done
        if isinstance(note, Embedded):
            done += note.kept
            progress(f"{data.name}: embedding", done, len(data.documents))

    await Worker(EmbeddingStep(context, report)).work_off()
    if done < len(data.documents):
        raise ModelUnavailable(
            f"the model {context.default} embedded {done} of {len(data.documents)} memories of "
            f"{data.name}",
            remedy="Use a model that can read all of them: RECOLLECT_EMBEDDER, or :embedder=NAME.",
        )


async def _read(context: GraphContext, data: EvaluationSet, progress: Progress) -> None:
    """Fill the concept graph by rules, as the worker does."""
    done = 0

    def report(note: Extracted | Compared | BackoffEvent) -> None:
        nonlocal done
        if isinstance(note, Extracted):
            done += note.kept
            progress(f"{data.name}: reading for the graph", done, len(data.documents))

    await Worker(GraphStep(context, report)).work_off()


async def _import(
    graph: GraphStore, data: EvaluationSet, documents: Mapping[UUID, str], progress: Progress
) -> None:
    """Fill the concept graph with the set's own facts, as `recollect graph import` does."""
    ids = {document: id for id, document in documents.items()}

    def report(done: int, of: int) -> None:
        progress(f"{data.name}: importing facts", done, of)

    imported = await import_facts(graph, OWNER, data.facts, ids=ids, progress=report)
    if not imported.memories:
        first = imported.errors[0] if imported.errors else None
        raise InvalidInput(
            f"no fact given for {data.name} could be used"
            + (f"; line {first.line}: {first.reason}" if first else ""),
            field="--configs",
            remedy=NO_FACTS,
        )


async def _compare(context: GraphContext, data: EvaluationSet, progress: Progress) -> None:
    """Compare the names with each other, as the worker does, but without reading by rules."""
    waiting = (await context.progress()).to_compare
    names = 0
    while (compared := await compare_batch(context)) is not None:
        names += compared.names
        progress(f"{data.name}: comparing names", names, max(waiting, names))


async def wake(model: Embedder, max_seconds: float = 300.0) -> None:
    """Wait until a model is loaded, as long as building it may take on a slow machine. A query
    waits only briefly for a model, and if all documents are cached nothing has loaded it yet.
    """
    now = asyncio.get_running_loop().time
    begun = now()
    while True:
        try:
            await model.embed_query("Is it ready?")
        except ModelUnavailable:
            if now() - begun > max_seconds:
                raise
            await asyncio.sleep(_POLL_SECONDS)
        else:
            return


@dataclass(frozen=True, slots=True)
class _FixedClock:
    """A clock that always returns the moment a document was written."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment
