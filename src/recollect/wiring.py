"""From settings to a running Recollect: the only place that chooses adapters.

Shells ask for one of two things. `open_recollect` is a person's or an agent's own memory: the local
SQLite store, or a server's when one is named. `open_server` is what a server serves: Postgres, its
keys, and the use cases for whoever shows one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from recollect.core.errors import InvalidInput, RecollectError
from recollect.core.faults import explained, places
from recollect.core.recall import Recollection
from recollect.graph_ports import FactReader, Graph, Walker
from recollect.ports import (
    ChangeStore,
    Clock,
    KeyStore,
    MemoryStore,
    Recollect,
    Reranker,
    SettingsStore,
    SyncServer,
    SyncStore,
)
from recollect.settings import Settings
from recollect.usecases.dense import dense_leg, no_dense_leg
from recollect.usecases.embed import NO_EMBEDDER, EmbeddingParts
from recollect.usecases.extract import GraphParts
from recollect.usecases.graph import OwnedGraph
from recollect.usecases.owned import OwnedRecollect
from recollect.usecases.parts import Parts
from recollect.usecases.recall import lexical_leg

if TYPE_CHECKING:
    from recollect.adapters.embedded_postgres import EmbeddedPostgres
    from recollect.adapters.embedders.catalogue import Catalogue
    from recollect.adapters.engine_lock import EngineLock
    from recollect.adapters.postgres.store import PostgresStore
    from recollect.usecases.cached import CachedRecollect
    from recollect.usecases.engine import Engine

log = logging.getLogger(__name__)

# How soon a dead embedded Postgres is noticed; a look costs less than a tenth of a millisecond.
_LOOK_SECONDS: Final = 1.0

Progress = Callable[[str, float], None]
"""Told what is being done to a model and which share of it, 0 to 1, is done."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Server:
    """What the shells of a server share. `database` says, for people, which Postgres it is.

    Where vectors have no place, `embedding` is None and `vector_note` says why.
    """

    parts: Parts
    keys: KeyStore
    changes: ChangeStore
    clock: Clock
    settings: Settings
    database: str
    graph: GraphParts
    embedding: EmbeddingParts | None = None
    vector_note: str = ""
    on_recall: Callable[[Recollection], None] = lambda _: None

    def for_owner(self, owner: str) -> Recollect:
        return OwnedRecollect(self.parts, owner, self.on_recall)

    def graph_of(self, owner: str) -> Graph:
        return OwnedGraph(self.graph.store, owner)


@asynccontextmanager
async def open_recollect(
    settings: Settings, *, syncing: bool = False, on_write: Callable[[], None] = lambda: None
) -> AsyncIterator[Recollect]:
    """The memory this process works with, by its mode: the local store, the local store with a
    server behind it, or a server alone. `syncing`: the engine runs inside, else `on_write` is told
    of what waits to be sent.
    """
    if settings.mode == "cached":
        async with open_cached(settings) as cached:
            if not syncing:
                yield replace(cached.recollect, wake=on_write)
                return
            async with cached.engine_running():
                yield cached.recollect
        return
    if settings.api_url is not None:
        from recollect.adapters.remote import RemoteRecollect

        async with RemoteRecollect(settings.api_url, _key(settings)) as remote:
            yield remote
        return
    from recollect.adapters.sqlite.store import SqliteStore

    async with SqliteStore(settings.sqlite_path) as store:
        yield OwnedRecollect(parts_on(store, settings), settings.owner)


@asynccontextmanager
async def open_remote_graph(settings: Settings) -> AsyncIterator[Graph]:
    """The concept graph of the server of RECOLLECT_API_URL."""
    from recollect.adapters.remote import RemoteRecollect
    from recollect.adapters.remote_graph import RemoteGraph

    async with RemoteRecollect(settings.api_url or "", _key(settings)) as remote:
        yield RemoteGraph(remote)


def _key(settings: Settings) -> str:
    if settings.api_key is None:
        raise InvalidInput(
            "RECOLLECT_API_URL names a server, but there is no key for it",
            field="RECOLLECT_API_KEY",
            remedy="Set RECOLLECT_API_KEY to the key that the server showed when it was made.",
        )
    return settings.api_key.get_secret_value()


@dataclass(frozen=True, slots=True)
class Cached:
    """A cached store with what syncs it."""

    recollect: CachedRecollect
    sync: SyncStore
    server: SyncServer
    clock: Clock
    engine: Engine
    lock: EngineLock

    @asynccontextmanager
    async def engine_running(self) -> AsyncIterator[None]:
        """The engine beside the work, as soon as no other process of this store runs one."""
        running = asyncio.create_task(self._run())
        try:
            yield
        finally:
            running.cancel()
            await asyncio.wait([running])

    async def _run(self) -> None:
        while True:
            try:
                if self.lock.take():
                    await self.engine.run()
            except Exception as error:  # noqa: BLE001  # a fault of ours must not end the syncing
                log.error("the engine of sync failed: %s at %s", explained(error), places(error))  # noqa: TRY400  # its text may quote a memory
            finally:
                self.lock.release()
            await asyncio.sleep(_LOOK_SECONDS)


@asynccontextmanager
async def open_cached(settings: Settings) -> AsyncIterator[Cached]:
    """The local store with the server of RECOLLECT_API_URL behind it; nothing is asked yet."""
    from recollect.adapters.engine_lock import EngineLock
    from recollect.adapters.remote_sync import RemoteSync
    from recollect.adapters.sqlite.store import SqliteStore
    from recollect.adapters.sqlite.sync import SqliteSync
    from recollect.usecases.cached import CachedRecollect
    from recollect.usecases.engine import Engine

    clock = SystemClock()
    remote = RemoteSync(
        settings.api_url or "",
        _key(settings),
        owner=settings.owner,
        sensitive=settings.sync_sensitive,
    )
    async with SqliteStore(settings.sqlite_path) as store, remote as server:
        sync = SqliteSync(store, settings.owner, clock, sensitive=settings.sync_sensitive)
        parts = replace(parts_on(store, settings), revisions=sync)
        engine = Engine(sync, server, clock, interval=settings.sync_interval, warn=_warn_of_sync)
        yield Cached(
            CachedRecollect(
                OwnedRecollect(parts, settings.owner),
                server,
                store,
                settings.owner,
                sync,
                engine.wake,
            ),
            sync,
            server,
            clock,
            engine,
            EngineLock(settings.sqlite_path.with_suffix(".sync-lock")),
        )


def _warn_of_sync(error: RecollectError) -> None:
    log.warning("sync waits: %s", error)


@asynccontextmanager
async def open_server(
    settings: Settings, progress: Progress = lambda _step, _share: None
) -> AsyncIterator[Server]:
    """What a server serves, on Postgres. `progress` hears of a model that is being built."""
    async with (
        open_postgres(settings) as (store, database),
        catalogue(settings, progress) as embedders,
        open_reranker(settings) as reranker,
        open_reader(settings) as reader,
        open_walker(store, settings) as walker,
    ):
        parts = replace(parts_on(store, settings), reranker=reranker, revisions=store.changes)
        if settings.fuser == "sql":
            parts = replace(parts, fuser=store.fuser)
        embedding = None
        if (vectors := store.vectors) is None:
            legs = {**parts.legs, "dense": no_dense_leg(store.vector_note)}
            parts = replace(parts, legs=legs)
        else:
            embedding = EmbeddingParts(vectors, embedders, settings.embedder)
            parts = replace(parts, queue=vectors)
            if settings.embedder != NO_EMBEDDER:
                legs = {**parts.legs, "dense": dense_leg(vectors, embedders)}
                parts = replace(parts, legs=legs)
        graph = GraphParts(
            store.graph,
            settings.graph,
            embedders if embedding and settings.embedder != NO_EMBEDDER else None,
            reader,
            settings.graph_llm_calls,
        )
        if settings.graph != "off":
            parts = replace(parts, graph_progress=graph.progress, walker=walker)
        yield Server(
            parts,
            store,
            store.changes,
            parts.clock,
            settings,
            database,
            graph,
            embedding,
            store.vector_note,
        )


@asynccontextmanager
async def open_walker(store: PostgresStore, settings: Settings) -> AsyncIterator[Walker | None]:
    """The graph leg, unless the graph is switched off."""
    if settings.graph == "off":
        yield None
        return
    from recollect.adapters.walkers.either import either_walk
    from recollect.adapters.walkers.hops import hops_walker
    from recollect.adapters.walkers.pagerank import PageRank

    async with PageRank(store.graph) as pagerank:
        yield either_walk({"pagerank": pagerank, "hops": hops_walker(store.graph)})


def open_reranker(settings: Settings) -> AbstractAsyncContextManager[Reranker | None]:
    """The model of the second stage, when one is named; its files are read at its first use."""
    kind, _, name = (settings.reranker or "").partition(":")
    if not kind:
        return nullcontext()
    if kind == "folder" and name:
        from recollect.adapters.rerankers.folder import folder_reranker

        return folder_reranker(Path(name).expanduser())
    if kind == "hub" and name:
        from recollect.adapters.rerankers.hub import hub_reranker

        return hub_reranker(name, cache=settings.models_folder)
    raise InvalidInput(
        f"RECOLLECT_RERANKER cannot be {settings.reranker!r}",
        field="RECOLLECT_RERANKER",
        remedy="Name a folder with model.onnx and tokenizer.json as folder:/path, or one of the "
        "hub's models as hub:BAAI/bge-reranker-v2-m3.",
    )


def open_reader(settings: Settings) -> AbstractAsyncContextManager[FactReader | None]:
    """The language model that reads memories for the concept graph, when one is to."""
    if settings.graph != "llm":
        return nullcontext()
    from recollect.adapters.readers.compatible import compatible_reader

    key = settings.graph_llm_api_key
    return compatible_reader(
        settings.graph_llm_url,
        settings.graph_llm_model,
        egress=settings.egress,
        key=key.get_secret_value() if key else None,
    )


def catalogue(settings: Settings, progress: Progress) -> Catalogue:
    """The embedding models that these settings allow."""
    from recollect.adapters.embedders.catalogue import Account, Catalogue

    accounts = {
        "voyage": (settings.voyage_api_key, settings.voyage_url),
        "openai": (settings.openai_api_key, settings.openai_url),
        "cohere": (settings.cohere_api_key, settings.cohere_url),
        "compatible": (settings.compatible_api_key, settings.compatible_url),
    }
    return Catalogue(
        settings.models_folder,
        egress=settings.egress,
        accounts={
            name: Account(key.get_secret_value() if key else None, url or "")
            for name, (key, url) in accounts.items()
        },
        progress=progress,
    )


@asynccontextmanager
async def open_postgres(settings: Settings) -> AsyncIterator[tuple[PostgresStore, str]]:
    """Postgres, migrated and ready, and which one it is: the named one, else the embedded one."""
    from recollect.adapters.postgres.store import PostgresStore

    async with _postgres_url(settings) as (url, database), PostgresStore(url) as store:
        yield store, database


class _Store(MemoryStore, SettingsStore, Protocol):
    """Both stores keep the run-time settings beside the memories."""


def parts_on(store: _Store, settings: Settings) -> Parts:
    """The use cases' parts over one store."""
    return Parts(
        store=store,
        settings=store,
        clock=SystemClock(),
        legs={"lexical": lexical_leg(store)},
        limits=settings.limits,
    )


@asynccontextmanager
async def _postgres_url(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    if settings.database_url is not None:
        from recollect.adapters.postgres.errors import check_address

        url = settings.database_url.get_secret_value()
        check_address(url)
        yield url, "RECOLLECT_DATABASE_URL"
        return
    from recollect.adapters.embedded_postgres import EmbeddedPostgres

    embedded = EmbeddedPostgres(settings.home, account=settings.postgres_account)
    starting = asyncio.create_task(asyncio.to_thread(embedded.start))
    try:
        url = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The thread goes on, and would leave behind a server that nobody stops.
        await asyncio.wait([starting])
        await asyncio.to_thread(embedded.stop)
        raise
    leaving = asyncio.Event()
    keeping = asyncio.create_task(_keep_alive(embedded, leaving))
    try:
        yield url, f"embedded Postgres in {embedded.folder}"
    finally:
        leaving.set()
        await keeping
        await asyncio.to_thread(embedded.stop)


async def _keep_alive(embedded: EmbeddedPostgres, leaving: asyncio.Event) -> None:
    """Nobody else looks after the embedded Postgres: start it again when it dies."""
    while not leaving.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(leaving.wait(), _LOOK_SECONDS)
        try:
            if await asyncio.to_thread(embedded.restart_if_dead):
                log.warning("the embedded Postgres had died and was started again")
        except (RecollectError, OSError) as error:
            log.error("the embedded Postgres died: %s", type(error).__name__)  # noqa: TRY400  # its text may be long, and quote Postgres's log
