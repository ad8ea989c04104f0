"""A person's or an agent's own memory: the local store, with or without a server behind it, or a
server's alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from recollect.core.admin.checks import WORDS_ONLY
from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import InvalidInput, RecollectError
from recollect.usecases.recall.recall_log import RecallLog, recall_log
from recollect.usecases.service import LocalService
from recollect.wiring.context import (
    Progress,
    SystemClock,
    build_context,
    catalogue,
    open_reader,
    open_reranker,
)

if TYPE_CHECKING:
    from recollect.adapters.http.client import RemoteService
    from recollect.adapters.http.sync import RemoteSync
    from recollect.adapters.sqlite.store import SqliteStore
    from recollect.adapters.walkers.pagerank import PageRank
    from recollect.ports.graph import Graph
    from recollect.ports.keys import Keys
    from recollect.ports.service import Service
    from recollect.ports.stores import Clock
    from recollect.ports.sync import SyncServer, SyncStore
    from recollect.settings import Settings
    from recollect.usecases.context import Context
    from recollect.usecases.graph.extract import GraphContext
    from recollect.usecases.sync.engine import Engine
    from recollect.usecases.sync.offline_first import OfflineFirstService
    from recollect.usecases.sync.run import SyncRun
    from recollect.usecases.workers.analysis import Reanalyzing
    from recollect.usecases.workers.embed import EmbeddingContext

log = logging.getLogger(__name__)

# A command waits so long for a graph to be read: a larger one is left out of its recall.
_GRAPH_SECONDS: Final = 0.5


@asynccontextmanager
async def open_service(
    settings: Settings,
    *,
    syncing: bool = False,
    by_meaning: bool = True,
    catching_up: bool = False,
    on_write: Callable[[], None] = lambda: None,
) -> AsyncIterator[Service]:
    """The memory this process works with, by its mode: the local store, the local store with a
    server behind it, or a server alone. `syncing`: the engine runs inside, else `on_write` is
    called when something waits to be sent. `by_meaning`: a local recall may load a model, where one
    is on this machine; it is loaded with the first recall, or at once when `catching_up`, which
    also embeds a little of what waits.
    """
    if settings.mode == "cached":
        # The server recalls by meaning. A process that lives on can do so when it is away.
        async with open_cached(settings, by_meaning=by_meaning and syncing) as cached:
            if not syncing:
                yield replace(cached.service, wake=on_write)
                return
            async with cached.syncing():
                yield cached.service
        return
    if settings.api_url is not None:
        async with connect(settings) as remote:
            yield remote
        return
    async with (
        open_store(settings) as store,
        _recalls_of(store) as shown,
        open_reranker(settings) as reranker,
        _open_context(store, settings, by_meaning=by_meaning, catching_up=catching_up) as context,
    ):
        yield LocalService(replace(context, reranker=reranker), settings.owner, shown.note)


@dataclass(frozen=True, slots=True)
class Local:
    """The local store, with what fills its vectors and its graph. `model` is the embedding model
    that it recalls with; None where there is none, and then it recalls by words.
    """

    context: Context
    settings: Settings
    graph: GraphContext
    embedding: EmbeddingContext
    analysis: Reanalyzing
    model: str | None
    load_vectors: Callable[[str], Awaitable[None]]
    walker: PageRank | None = None
    vector_note: str = ""
    barrier_note: str = ""

    def graph_of(self, owner: str) -> Graph:
        from recollect.usecases.graph.manage import LocalGraph

        return LocalGraph(self.graph.store, owner)

    async def catch_up(self) -> None:
        """Embed and read a little of what waits, and load what a recall needs."""
        from recollect.usecases.workers.catch_up import catch_up
        from recollect.usecases.workers.embedding import EmbeddingStep
        from recollect.usecases.workers.graph import GraphStep

        if self.model is None:
            return
        graph = [] if self.graph.mode == "off" else [GraphStep(self.graph)] * 2
        await catch_up([EmbeddingStep(self.embedding), *graph])
        await self.load_vectors(self.settings.owner)
        if self.walker is not None:
            with suppress(TimeoutError, RecollectError):
                async with asyncio.timeout(_GRAPH_SECONDS):
                    await self.walker.ready(self.settings.owner)


@asynccontextmanager
async def open_local(
    settings: Settings, progress: Progress = lambda _step, _share: None
) -> AsyncIterator[Local]:
    """The local store, to work on its vectors and its graph. Nothing is ever downloaded."""
    async with open_store(settings) as store, _open_local(store, settings, progress) as local:
        yield local


def has_model(settings: Settings) -> bool:
    """Whether the configured embedding model can be used without downloading anything."""
    from recollect.adapters.models.embedders.local_cache import is_present
    from recollect.adapters.models.embedders.local_models import LOCAL_MODELS

    model = LOCAL_MODELS.get(settings.embedder)
    if model is not None:
        return is_present(model, settings.models_folder)
    return settings.embedder != NO_EMBEDDER


@asynccontextmanager
async def _open_context(
    store: SqliteStore, settings: Settings, *, by_meaning: bool, catching_up: bool = False
) -> AsyncIterator[Context]:
    """The parts of the use cases on the local store. Without a model recall goes by words, and a
    hint says so, unless that was asked for.
    """
    if by_meaning and has_model(settings):
        async with _open_local(store, settings) as local:
            if catching_up:
                await local.catch_up()
            yield local.context
        return
    yield replace(build_context(store, settings), hint=lambda _owner: _words_only(settings))


def _words_only(settings: Settings) -> str | None:
    is_missing = settings.embedder != NO_EMBEDDER and not has_model(settings)
    return WORDS_ONLY if is_missing else None


@asynccontextmanager
async def _open_local(
    store: SqliteStore,
    settings: Settings,
    progress: Progress = lambda _step, _share: None,
) -> AsyncIterator[Local]:
    from recollect.adapters.walkers.pagerank import PageRank
    from recollect.usecases.graph.extract import GraphContext
    from recollect.usecases.priority import Callers
    from recollect.usecases.recall.backlog import Backlog
    from recollect.usecases.recall.dense import dense_leg
    from recollect.usecases.recall.graph_leg import GraphLeg
    from recollect.usecases.workers.embed import EmbeddingContext

    callers = Callers()
    model = settings.embedder if has_model(settings) else None
    vectors = store.vectors
    async with (
        catalogue(settings, progress, callers.yield_to_callers, may_fetch=False) as embedders,
        open_reader(settings) as reader,
        AsyncExitStack() as stack,
    ):
        graph = GraphContext(
            store.graph,
            settings.graph,
            None if model is None else embedders,
            reader,
            settings.graph_llm_calls,
            callers.yield_to_callers,
        )
        context = replace(
            build_context(store, settings), queue=vectors, parked=vectors.parked, callers=callers
        )
        walker = None
        if settings.graph != "off":
            context = replace(context, graph_progress=graph.progress)
        if model is not None:
            backlog = await stack.enter_async_context(Backlog(vectors))
            legs = {**context.legs, "dense": dense_leg(vectors, embedders, with_background=False)}
            context = replace(context, legs=legs, hint=backlog.hint)
            if settings.graph != "off":
                walker = await stack.enter_async_context(PageRank(store.graph))
                context = replace(context, second_phase={"graph": GraphLeg(walker, store)})
        embedding = EmbeddingContext(vectors, embedders, settings.embedder)
        yield Local(context, settings, graph, embedding, store, model, vectors.load, walker)


@asynccontextmanager
async def open_remote_graph(settings: Settings) -> AsyncIterator[Graph]:
    """The concept graph of the server of RECOLLECT_API_URL."""
    from recollect.adapters.http.graph import RemoteGraph

    async with connect(settings) as remote:
        yield RemoteGraph(remote)


@asynccontextmanager
async def open_remote_keys(settings: Settings) -> AsyncIterator[Keys]:
    """The keys of the server of RECOLLECT_API_URL, for an admin."""
    from recollect.adapters.http.keys import RemoteKeys

    async with connect(settings) as remote:
        yield RemoteKeys(remote)


def _recalls_of(store: SqliteStore) -> AbstractAsyncContextManager[RecallLog]:
    from recollect.adapters.sqlite.history.recalls import SqliteRecalls

    return recall_log(SqliteRecalls(store.threads), SystemClock())


def connect(settings: Settings) -> RemoteService:
    """A client of the server of RECOLLECT_API_URL."""
    from recollect.adapters.http.client import RemoteService

    return RemoteService(settings.api_url or "", key_of(settings), timeouts=settings.timeouts)


def open_store(settings: Settings) -> SqliteStore:
    """The local store."""
    from recollect.adapters.sqlite.store import SqliteStore

    return SqliteStore(settings.sqlite_path, busy_timeout=settings.timeouts.sqlite_busy)


async def measure_store(settings: Settings) -> dict[str, int]:
    """The bytes of the local store's file, and about how many of them are vectors."""
    async with open_store(settings) as store:
        vectors = await store.vectors.bytes()
    return {"file_bytes": settings.sqlite_path.stat().st_size, "vector_bytes": vectors}


def find_store_fault(settings: Settings, *, full: bool) -> str | None:
    """The first fault in the file of the local store, if SQLite finds one."""
    from recollect.adapters.sqlite.integrity import find_fault

    return find_fault(settings.sqlite_path, full=full)


def key_of(settings: Settings) -> str:
    if settings.api_key is None:
        raise InvalidInput(
            "RECOLLECT_API_URL names a server, but there is no key for it",
            field="RECOLLECT_API_KEY",
            remedy="Set RECOLLECT_API_KEY to the key that the server showed when it was made.",
        )
    return settings.api_key.get_secret_value()


@dataclass(frozen=True, slots=True)
class Cached:
    """A local store with a server behind it, and what syncs it."""

    service: OfflineFirstService
    sync: SyncStore
    server: SyncServer
    clock: Clock
    engine: Engine
    run: SyncRun

    def syncing(self) -> AbstractAsyncContextManager[None]:
        """While entered, what is written is sent and changes are polled for."""
        return self.run.running(self.engine)


@asynccontextmanager
async def open_cached(settings: Settings, *, by_meaning: bool = False) -> AsyncIterator[Cached]:
    """The local store with the server of RECOLLECT_API_URL behind it; nothing is asked yet."""
    from recollect.adapters.files.sync_lock import SyncLock
    from recollect.adapters.http.lazy import LazyServer
    from recollect.adapters.sqlite.sync.store import SqliteSync
    from recollect.usecases.sync.engine import Engine
    from recollect.usecases.sync.offline_first import OfflineFirstService
    from recollect.usecases.sync.run import SyncRun

    clock = SystemClock()
    url, key = settings.api_url or "", key_of(settings)

    def client() -> RemoteSync:
        from recollect.adapters.http.sync import RemoteSync

        return RemoteSync(
            url,
            key,
            owner=settings.owner,
            sensitive=settings.sync_sensitive,
            timeouts=settings.timeouts,
        )

    remote = cast("RemoteSync", LazyServer(url, key, client))
    async with (
        open_store(settings) as store,
        remote as server,
        _recalls_of(store) as shown,
        _open_context(store, settings, by_meaning=by_meaning) as parts,
    ):
        sync = SqliteSync(
            store,
            settings.owner,
            clock,
            sensitive=settings.sync_sensitive,
            default_settings=parts.default_settings,
        )
        context = replace(parts, hint=lambda _owner: None, revisions=sync)
        lock = SyncLock(settings.sqlite_path.with_suffix(".sync-lock"))
        run = SyncRun(sync, server, clock, lock, settings.timeouts)
        engine = Engine(sync, server, clock, interval=settings.sync_interval, warn=_warn_of_sync)
        yield Cached(
            OfflineFirstService(
                LocalService(context, settings.owner),
                server,
                store,
                settings.owner,
                sync,
                engine.wake,
                shown.note,
                server.is_here,
                settings.timeouts,
            ),
            sync,
            server,
            clock,
            engine,
            run,
        )


def _warn_of_sync(error: RecollectError) -> None:
    log.warning("sync waits: %s", error)
