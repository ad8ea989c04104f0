"""The memory of a person or an agent: the local store, with or without a server behind it, or a
server alone.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    closing,
    suppress,
)
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from recollect.core.admin.checks import more_than_words, words_only
from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.errors import RecollectError
from recollect.usecases.context import no_hint
from recollect.usecases.recall.recall_log import RecallLog, recall_log
from recollect.usecases.service import LocalService, SharedModelService
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

if TYPE_CHECKING:
    from recollect.adapters.files.home_files import ShownHints
    from recollect.adapters.http.client import RemoteService
    from recollect.adapters.http.sync import RemoteSync
    from recollect.adapters.sqlite.store import SqliteStore
    from recollect.adapters.walkers.pagerank import PageRank
    from recollect.core.admin.machine import StorageSize
    from recollect.core.recall.request import RecallRequest, Recollection
    from recollect.ports.graph import Graph
    from recollect.ports.keys import Keys
    from recollect.ports.service import Service
    from recollect.ports.stores import Clock
    from recollect.ports.sync import SyncServer, SyncStore
    from recollect.settings import Settings
    from recollect.usecases.context import Context
    from recollect.usecases.graph.extract import GraphContext
    from recollect.usecases.recall.backlog import Backlog
    from recollect.usecases.recall.dense import Backgrounds
    from recollect.usecases.sync.engine import Engine
    from recollect.usecases.sync.offline_first import OfflineFirstService
    from recollect.usecases.sync.run import SyncRun
    from recollect.usecases.workers.embed import EmbeddingContext
    from recollect.usecases.workers.steps import Reanalyzing

log = logging.getLogger(__name__)

# How long a command waits for the graph to load: a larger graph is left out of its recall.
_GRAPH_SECONDS: Final = 0.5
# How long a command waits for its model.
_LOAD_SECONDS: Final = 10.0
_EMBED_NOW: Final = "To embed the rest now, run `recollect worker --local --once`."


@asynccontextmanager
async def open_service(
    settings: Settings,
    *,
    syncing: bool = False,
    by_meaning: bool = True,
    catching_up: bool = False,
    on_write: Callable[[], None] = lambda: None,
    actor: str = "cli",
) -> AsyncIterator[Service]:
    """Open the memory that this process works with, by its mode: the local store, the local store
    with a server behind it, or a server alone.

    `syncing`: run the sync engine in this process; otherwise `on_write` is called when a write is
    queued. `by_meaning`: a local recall may load a model that is on this machine. `catching_up`,
    for commands: ask the process that holds the model first; if none answers, load the model.
    `actor` is the shell's name in the history.
    """
    if settings.mode == "cached":
        by_meaning = by_meaning and syncing
        async with open_cached(settings, by_meaning=by_meaning, actor=actor) as cached:
            if syncing:
                async with cached.syncing():
                    yield cached.service
                return
            service = replace(cached.service, wake=on_write)
            if catching_up:
                # If the server answers, no model is loaded here.
                offline = build_command_service(cached.context, cached.store, settings)
                service = replace(service, offline=offline)
            yield service
        return
    if settings.api_url is not None:
        async with connect(settings, actor) as remote:
            yield remote
        return
    async with (
        open_store(settings) as store,
        open_recall_log(store) as shown,
        open_reranker(settings) as reranker,
    ):
        words = replace(build_words(store, settings), reranker=reranker, actor=actor)
        if by_meaning and catching_up:
            yield build_command_service(words, store, settings, shown.note)
            return
        async with open_context(
            words, store, settings, by_meaning=by_meaning, catching_up=syncing
        ) as context:
            yield LocalService(context, settings.owner, shown.note)


def build_words(store: SqliteStore, settings: Settings) -> Context:
    """Return the local store's context without vectors and graph: recall is by words."""
    return with_curation(build_context(store, settings), store)


def build_command_service(
    words: Context,
    store: SqliteStore,
    settings: Settings,
    on_recall: Callable[[Recollection], None] = lambda _: None,
) -> SharedModelService:
    """Return the service of the local store for a command. It recalls by meaning, with the model of
    another process or else with its own.
    """
    return SharedModelService(
        words,
        settings.owner,
        on_recall,
        ask_resident=partial(ask_resident, settings),
        open_model=partial(open_context, words, store, settings, catching_up=True),
        loads_model=True,
    )


async def ask_resident(settings: Settings, request: RecallRequest) -> Recollection | None:
    """Ask the process that holds the model of this home. Return None if there is no such process,
    or it does not answer in time.
    """
    from recollect.adapters.resident import socket_path

    home = os.fspath(settings.home)
    if settings.embedder == NO_EMBEDDER or not await asyncio.to_thread(
        os.path.exists, socket_path(home)
    ):
        return None
    from recollect.adapters.resident.client import send_question
    from recollect.wire.plain import to_plain
    from recollect.wire.recall import RECOLLECTION

    question = {"owner": settings.owner, "recall": to_plain(request)}
    line = json.dumps(question).encode() + b"\n"

    def ask() -> bytes | None:
        until = time.monotonic() + settings.timeouts.resident
        sent = send_question(home, line, settings.timeouts.resident)
        if sent is None:
            return None
        with closing(sent):
            return sent.read_answer(until - time.monotonic())

    answer = await asyncio.to_thread(ask)
    try:
        return None if answer is None else RECOLLECTION.decode(answer)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Local:
    """The local store, with what fills its vectors and its graph. `model` is the embedding model
    that it recalls with; without one (None), it recalls by words.
    """

    context: Context
    settings: Settings
    graph: GraphContext
    embedding: EmbeddingContext
    analysis: Reanalyzing
    model: str | None
    load_vectors: Callable[[str], Awaitable[None]]
    backgrounds: Backgrounds
    walker: PageRank | None = None
    backlog: Backlog | None = None
    vector_note: str = ""
    barrier_note: str = ""

    def graph_of(self, owner: str) -> Graph:
        from recollect.usecases.graph.manage import LocalGraph

        return LocalGraph(self.graph.store, owner)

    def catching_up(self) -> Callable[[], Awaitable[None]]:
        """Return what runs before each recall: embed and read some of the queued memories. Loads
        what a recall needs, at first and after something was embedded. A model that fails is left
        alone for a while.
        """
        from recollect.usecases.workers.catch_up import (
            BUDGET,
            GRAPH_SECONDS,
            catch_up,
            new_backoffs,
        )
        from recollect.usecases.workers.steps import EmbeddingStep, GraphStep

        embedding, backoffs = EmbeddingStep(self.embedding, budget=BUDGET), new_backoffs()
        graph = GraphStep(self.graph, seconds=GRAPH_SECONDS)
        reading = [] if self.graph.mode == "off" else [graph, graph]
        one_at_a_time, is_loaded = asyncio.Lock(), False

        async def run() -> None:
            nonlocal is_loaded
            async with one_at_a_time:
                if not is_loaded:
                    # The recall reports failures.
                    with suppress(TimeoutError, RecollectError):
                        async with asyncio.timeout(_LOAD_SECONDS):
                            await self._load_model()
                if not await catch_up([embedding], backoffs) and is_loaded:
                    return
                is_loaded = True
                await catch_up(reading, backoffs)
                with suppress(TimeoutError, RecollectError):
                    async with asyncio.timeout(_LOAD_SECONDS):
                        await self._load_data()
                        if self.backlog is not None:
                            await self.backlog.count(self.settings.owner)

        return run

    async def load(self) -> None:
        """Load the model and the data that a recall needs. Raise ModelUnavailable if the model
        cannot be loaded.
        """
        await self._load_model()
        await self._load_data()

    async def _load_model(self) -> None:
        await load_model(self.embedding, self.backgrounds, self.embedding.default)

    async def _load_data(self) -> None:
        await self.load_vectors(self.settings.owner)
        if self.walker is not None:
            with suppress(TimeoutError, RecollectError):
                async with asyncio.timeout(_GRAPH_SECONDS):
                    await self.walker.ready(self.settings.owner)


@asynccontextmanager
async def open_local(
    settings: Settings, progress: Progress = lambda _step, _share: None
) -> AsyncIterator[Local]:
    """Open the local store to work on its vectors and its graph. Nothing is ever downloaded."""
    async with (
        open_store(settings) as store,
        open_local_on(store, settings, find_model(settings), progress) as local,
    ):
        yield local


def find_needed_model(settings: Settings) -> str:
    """Return the embedding model that the local store recalls with: that of its active space, else
    the configured one. `none` means that recall is by words only.
    """
    if settings.embedder == NO_EMBEDDER or not settings.has_local_store:
        return settings.embedder
    from recollect.adapters.sqlite.vectors.spaces import read_active_embedder

    return read_active_embedder(settings.sqlite_path) or settings.embedder


def is_available(settings: Settings, model: str) -> bool:
    """Return whether an embedding model can be used without downloading anything."""
    from recollect.adapters.models.embedders.local_cache import is_present
    from recollect.adapters.models.embedders.local_models import LOCAL_MODELS

    found = LOCAL_MODELS.get(model)
    return model != NO_EMBEDDER if found is None else is_present(found, settings.models_folder)


def find_model(settings: Settings) -> str | None:
    """Return the local store's model; None if it must be downloaded first, or is `none`."""
    model = find_needed_model(settings)
    return model if is_available(settings, model) else None


def how_to_get_model(settings: Settings) -> str | None:
    """Say how to get recall by meaning on the local store; None if it works, or is disabled."""
    from recollect.adapters.models.embedders.local_models import LOCAL_MODELS

    name = find_needed_model(settings)
    if name == NO_EMBEDDER or is_available(settings, name):
        return None
    return more_than_words(name, LOCAL_MODELS[name].download_size // 1_000_000)


def open_shown_hints(settings: Settings) -> ShownHints:
    """Open the record of which hints were shown to the user of this home today."""
    from recollect.adapters.files.home_files import ShownHints

    return ShownHints(settings.home)


def words_only_hint(settings: Settings) -> str | None:
    """Say why the local store recalls by words; None if it does not, or is configured to."""
    remedy = how_to_get_model(settings)
    return None if remedy is None else words_only(remedy)


@asynccontextmanager
async def open_context(
    words: Context,
    store: SqliteStore,
    settings: Settings,
    *,
    by_meaning: bool = True,
    catching_up: bool = False,
) -> AsyncIterator[Context]:
    """Add recall by meaning to a context that recalls by words. Without a model, a hint says so
    unless that is configured.
    """
    if by_meaning and (model := find_model(settings)) is not None:
        async with open_local_on(store, settings, model, words=words) as local:
            context = local.context
            yield replace(context, catch_up=local.catching_up()) if catching_up else context
        return
    if settings.embedder != NO_EMBEDDER:  # the progress of its space can be read without the model
        words = replace(words, queue=store.vectors)
    yield replace(words, hint=lambda _owner: words_only_hint(settings))


@asynccontextmanager
async def open_local_on(
    store: SqliteStore,
    settings: Settings,
    model: str | None,
    progress: Progress = lambda _step, _share: None,
    *,
    words: Context | None = None,
) -> AsyncIterator[Local]:
    """Open the local store's use cases on a store that is already open; without a `model`, recall
    is by words. The context extends `words` if there is one, and workers yield to its callers.
    """
    from recollect.adapters.files.home_files import BackgroundFile
    from recollect.usecases.graph.extract import GraphContext
    from recollect.usecases.recall.backlog import Backlog
    from recollect.usecases.recall.dense import Backgrounds, dense_leg
    from recollect.usecases.recall.graph_leg import GraphLeg
    from recollect.usecases.recall.late import LateStage
    from recollect.usecases.workers.embed import EmbeddingContext

    words = words or build_words(store, settings)
    callers = words.callers
    vectors = store.vectors
    backgrounds = Backgrounds(BackgroundFile(settings.home / "background"))
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
            timeouts=settings.timeouts,
        )
        context = replace(
            words, queue=vectors, parked=vectors.parked, has_vector=vectors.has_vector
        )
        walker, backlog = None, None
        if settings.graph != "off":
            context = replace(
                context, graph_progress=graph.progress, concepts_of=store.graph.concepts_of
            )
        if model is not None:
            backlog = await stack.enter_async_context(Backlog(vectors, _EMBED_NOW))
            legs = {**context.legs, "dense": dense_leg(vectors, embedders, backgrounds)}
            late = LateStage(vectors, embedders)
            context = replace(context, legs=legs, late=late, hint=backlog.hint)
            if settings.graph != "off":
                from recollect.adapters.walkers.pagerank import PageRank

                walker = await stack.enter_async_context(PageRank(store.graph))
                context = replace(context, second_phase={"graph": GraphLeg(walker, store)})
        embedding = EmbeddingContext(
            vectors, embedders, settings.embedder, settings.timeouts, store
        )
        yield Local(
            context,
            settings,
            graph,
            embedding,
            store,
            model,
            vectors.load,
            backgrounds,
            walker,
            backlog,
        )


@asynccontextmanager
async def open_remote_graph(settings: Settings) -> AsyncIterator[Graph]:
    """Open the concept graph of the server at RECOLLECT_API_URL."""
    from recollect.adapters.http.graph import RemoteGraph

    async with connect(settings) as remote:
        yield RemoteGraph(remote)


@asynccontextmanager
async def open_remote_keys(settings: Settings) -> AsyncIterator[Keys]:
    """Open the keys of the server at RECOLLECT_API_URL, for an admin."""
    from recollect.adapters.http.keys import RemoteKeys

    async with connect(settings) as remote:
        yield RemoteKeys(remote)


def open_recall_log(store: SqliteStore) -> AbstractAsyncContextManager[RecallLog]:
    from recollect.adapters.sqlite.history.recalls import SqliteRecalls

    return recall_log(SqliteRecalls(store.threads), SystemClock())


def connect(settings: Settings, actor: str = "cli") -> RemoteService:
    """Return a client for the server at RECOLLECT_API_URL."""
    from recollect.adapters.http.client import RemoteService

    return RemoteService(
        settings.api_url or "",
        settings.require_api_key(),
        timeouts=settings.timeouts,
        client=actor,
    )


def open_store(settings: Settings) -> SqliteStore:
    from recollect.adapters.sqlite.store import SqliteStore

    return SqliteStore(settings.sqlite_path, busy_timeout=settings.timeouts.sqlite_busy)


async def measure_store(settings: Settings) -> StorageSize:
    """Return the size of the local store on disk, and roughly how much of it is vectors."""
    async with open_store(settings) as store:
        return await measure_open(store, settings)


async def measure_open(store: SqliteStore, settings: Settings) -> StorageSize:
    from recollect.core.admin.machine import StorageSize

    return StorageSize(settings.sqlite_path.stat().st_size, await store.vectors.bytes())


def find_store_fault(settings: Settings, *, full: bool) -> str | None:
    """Return the first fault that SQLite finds in the local store's file, if any."""
    from recollect.adapters.sqlite.integrity import find_fault

    return find_fault(settings.sqlite_path, full=full)


@dataclass(frozen=True, slots=True)
class Cached:
    """A local store with a server behind it, and the parts that sync them."""

    service: OfflineFirstService
    context: Context
    store: SqliteStore
    sync: SyncStore
    server: SyncServer
    clock: Clock
    engine: Engine
    run: SyncRun

    def syncing(self) -> AbstractAsyncContextManager[None]:
        """While entered, send writes and poll for changes."""
        return self.run.running(self.engine)


@asynccontextmanager
async def open_cached(
    settings: Settings, *, by_meaning: bool = False, actor: str = "cli"
) -> AsyncIterator[Cached]:
    """Open the local store in front of the server at RECOLLECT_API_URL, which is not called yet."""
    from recollect.adapters.files.file_lock import FileLock
    from recollect.adapters.http.lazy import LazyServer
    from recollect.adapters.sqlite.sync.store import SqliteSync
    from recollect.usecases.sync.engine import Engine
    from recollect.usecases.sync.offline_first import OfflineFirstService
    from recollect.usecases.sync.run import SyncRun

    clock = SystemClock()
    url, key = settings.api_url or "", settings.require_api_key()

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
        open_recall_log(store) as shown,
        open_context(build_words(store, settings), store, settings, by_meaning=by_meaning) as parts,
    ):
        sync = SqliteSync(
            store,
            settings.owner,
            clock,
            sensitive=settings.sync_sensitive,
            default_settings=parts.default_settings,
        )
        context = replace(parts, hint=no_hint, revisions=sync, actor=actor)
        lock = FileLock(settings.sqlite_path.with_suffix(".sync-lock"))
        run = SyncRun(sync, server, clock, lock, settings.timeouts)
        engine = Engine(sync, server, clock, interval=settings.sync_interval, warn=_warn_of_sync)
        yield Cached(
            OfflineFirstService(
                LocalService(context, settings.owner),
                server,
                store,
                settings.owner,
                sync,
                clock,
                engine.wake,
                shown.note,
                server.is_here,
                timeouts=settings.timeouts,
            ),
            context,
            store,
            sync,
            server,
            clock,
            engine,
            run,
        )


def _warn_of_sync(error: RecollectError) -> None:
    log.warning("sync waits: %s", error)
