"""What a server serves: Postgres, its keys, and the use cases for each key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from time import monotonic
from typing import TYPE_CHECKING, Final

from recollect.core.admin.admission import RateLimit
from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.admin.stats import Load
from recollect.core.errors import Forbidden, RateLimited
from recollect.core.privacy.keys import Key
from recollect.core.recall.request import LegName, Recollection
from recollect.ports.graph import Graph
from recollect.ports.keys import KeyStore
from recollect.ports.recall import SecondPhaseLeg
from recollect.ports.stores import Clock
from recollect.ports.sync import ChangeStore
from recollect.ports.tracing import NO_TRACER, Tracer
from recollect.settings import Settings
from recollect.usecases.admin.access import Access
from recollect.usecases.admin.erase import OwnerEraser
from recollect.usecases.admin.keys import KeyUses, authenticate, key_uses
from recollect.usecases.admin.within_project import ProjectChanges, context_within
from recollect.usecases.context import Context
from recollect.usecases.graph.extract import GraphContext
from recollect.usecases.graph.manage import LocalGraph
from recollect.usecases.priority import Callers
from recollect.usecases.recall.backlog import Backlog
from recollect.usecases.recall.dense import Backgrounds, dense_leg, no_dense_leg
from recollect.usecases.recall.graph_leg import GraphLeg
from recollect.usecases.recall.late import LateStage
from recollect.usecases.recall.recall_log import RecallLog, recall_log
from recollect.usecases.service import LocalService
from recollect.usecases.tracing import TracedSecondPhase, trace_leg
from recollect.usecases.workers.embed import EmbeddingContext
from recollect.usecases.workers.steps import Reanalyzing
from recollect.wiring.context import (
    Progress,
    SystemClock,
    build_context,
    catalogue,
    load_model,
    open_reader,
    open_reranker,
    with_curation,
)
from recollect.wiring.machine import ReadMachine, machine_reader
from recollect.wiring.postgres import open_postgres

if TYPE_CHECKING:
    from recollect.adapters.postgres.history.recalls import PostgresRecalls
    from recollect.adapters.postgres.store import PostgresStore

_NO_MODEL: Final = (
    "This server recalls by words only, because RECOLLECT_EMBEDDER is none there. To recall by "
    "meaning as well, name a model in it."
)
_BY_WORKER: Final = "The server's worker embeds them; `recollect status` shows its progress."


@dataclass(frozen=True, slots=True)
class Server:
    """What the shells of a server share. `database` describes the Postgres for people.

    The local store has no `changes`: other machines sync with a server, not with it.

    If vectors cannot be stored, `embedding` is None and `vector_note` says why. `barrier_note` says
    what row-level security lacks to have roles of its own. `eraser` is for the operator; owners get
    `light_eraser`, which leaves the database's files alone. `prepare` loads the model of recalls.
    `find_lost_nodes` asks the nodes of a Citus cluster.
    """

    context: Context
    keys: KeyStore
    changes: ChangeStore | None
    clock: Clock
    settings: Settings
    database: str
    graph: GraphContext
    analysis: Reanalyzing
    embedding: EmbeddingContext | None = None
    vector_note: str = ""
    barrier_note: str = ""
    on_recall: Callable[[Recollection], None] = lambda _: None
    eraser: OwnerEraser | None = None
    light_eraser: OwnerEraser | None = None
    recalls: PostgresRecalls | None = None
    recall_log: RecallLog | None = None
    key_uses: KeyUses | None = None
    write_rate: RateLimit = field(default_factory=lambda: RateLimit(None))
    load: Callable[[], Awaitable[Load]] | None = None
    find_lost_nodes: Callable[[], Awaitable[list[str]]] | None = None
    prepare: Callable[[], Awaitable[None]] | None = None
    tracer: Tracer = NO_TRACER
    machine: ReadMachine | None = None

    async def sign_in(self, text: str) -> Key:
        """Return the valid key with this text; raise NotAllowed if there is none."""
        key = await authenticate(self.keys, self.clock, text)
        if self.key_uses is not None:
            self.key_uses.note(key.id)
        return key

    def for_key(self, key: Key, shell: str = "api") -> LocalService:
        """Return the service for a key. The history names the shell and the key."""
        context = replace(self.context, actor=f"{shell} ({key.label})" if key.label else shell)
        if key.project is not None:
            context = context_within(context, self._synced, key.project)
        access = Access(key, partial(self._spend_writes, key))
        return LocalService(context, key.owner, self._on_recall, access)

    def _spend_writes(self, key: Key, count: int) -> None:
        """Count a key's writes; raise RateLimited if there were too many."""
        if count == 0:
            return
        seconds = self.write_rate.spend(key.id, count, monotonic())
        if seconds > 0:
            allowed = self.settings.writes_per_minute
            raise RateLimited(
                f"this key has reached its limit of {allowed} writes per minute",
                seconds=seconds,
                remedy=f"Try again in {ceil(seconds)} seconds, or ask for a higher "
                "RECOLLECT_WRITES_PER_MINUTE on the server.",
            )

    def changes_for(self, key: Key) -> ChangeStore:
        if key.project is None:
            return self._synced
        return ProjectChanges(self._synced, self.context.store, key.project)

    @property
    def _synced(self) -> ChangeStore:
        if self.changes is None:
            raise Forbidden(
                "the local store does not serve other machines",
                remedy="Sync with a server: run `recollect serve` there.",
            )
        return self.changes

    def _on_recall(self, recollection: Recollection) -> None:
        self.on_recall(recollection)
        if self.recall_log is not None:
            self.recall_log.note(recollection)

    def graph_of(self, owner: str) -> Graph:
        return LocalGraph(self.graph.store, owner)


@asynccontextmanager
async def open_server(
    settings: Settings, progress: Progress = lambda _step, _share: None
) -> AsyncIterator[Server]:
    """Open what a server serves, on Postgres. `progress` is called while a model is built."""
    from recollect.adapters.files.home_files import BackgroundFile
    from recollect.adapters.traces import open_tracer

    callers = Callers()
    async with (
        open_postgres(settings) as (store, database),
        catalogue(settings, progress, callers.yield_to_callers) as embedders,
        open_reranker(settings) as reranker,
        open_reader(settings) as reader,
        recall_log(store.recalls, SystemClock()) as shown,
        key_uses(store.keys, SystemClock()) as used,
        open_second_phase(store, settings) as second_phase,
        AsyncExitStack() as stack,
    ):
        tracer = store.pool.tracer = stack.enter_context(open_tracer(settings.otlp_endpoint))
        context = replace(
            with_curation(build_context(store, settings), store),
            reranker=reranker,
            revisions=store.changes,
            callers=callers,
            recalling=partial(tracer.span, "recall"),
            second_phase=second_phase,
        )
        if settings.embedder == NO_EMBEDDER:
            context = replace(context, hint=lambda _owner: _NO_MODEL)
        embedding, prepare = None, None
        if (vectors := store.vectors) is None:
            if settings.embedder != NO_EMBEDDER:
                legs = {**context.legs, "dense": no_dense_leg(store.vector_note)}
                context = replace(context, legs=legs, broken_legs=frozenset({"dense"}))
        else:
            embedding = EmbeddingContext(
                vectors, embedders, settings.embedder, settings.timeouts, context.settings
            )
            context = replace(
                context, queue=vectors, parked=vectors.parked, has_vector=vectors.has_vector
            )
            if settings.embedder != NO_EMBEDDER:
                backlog = await stack.enter_async_context(Backlog(vectors, _BY_WORKER))
                backgrounds = Backgrounds(BackgroundFile(settings.home / "background"))
                # Without vectors and a worker, the model might never be needed.
                default = None if settings.worker == "off" else settings.embedder
                prepare = partial(load_model, embedding, backgrounds, default)
                legs = {**context.legs, "dense": dense_leg(vectors, embedders, backgrounds)}
                late = LateStage(vectors, embedders)
                context = replace(context, legs=legs, late=late, hint=backlog.hint)
        graph = GraphContext(
            store.graph,
            settings.graph,
            embedders if embedding and settings.embedder != NO_EMBEDDER else None,
            reader,
            settings.graph_llm_calls,
            callers.yield_to_callers,
            timeouts=settings.timeouts,
        )
        if settings.graph != "off":
            context = replace(
                context, graph_progress=graph.progress, concepts_of=store.graph.concepts_of
            )
        yield Server(
            _add_tracing(context, tracer),
            store.keys,
            store.changes,
            context.clock,
            settings,
            database,
            graph,
            store,
            embedding,
            store.vector_note,
            store.barrier.note,
            eraser=store.eraser,
            light_eraser=store.light_eraser,
            recalls=store.recalls,
            recall_log=shown,
            key_uses=used,
            write_rate=RateLimit(settings.writes_per_minute),
            load=partial(store.load.read, has_vectors=store.vectors is not None),
            find_lost_nodes=store.load.find_lost_nodes,
            prepare=prepare,
            tracer=tracer,
            machine=machine_reader(settings, "postgres", store.load.size),
        )


def _add_tracing(context: Context, tracer: Tracer) -> Context:
    if tracer is NO_TRACER:
        return context
    return replace(
        context,
        legs={name: trace_leg(leg, name, tracer) for name, leg in context.legs.items()},
        second_phase={
            name: TracedSecondPhase(leg, name, tracer) for name, leg in context.second_phase.items()
        },
    )


@asynccontextmanager
async def open_second_phase(
    store: PostgresStore, settings: Settings
) -> AsyncIterator[Mapping[LegName, SecondPhaseLeg]]:
    """Open the legs of the second phase: the graph, unless it is off."""
    if settings.graph == "off":
        yield {}
        return
    from recollect.adapters.walkers.pagerank import PageRank

    async with PageRank(store.graph) as walker:
        yield {"graph": GraphLeg(walker, store)}
