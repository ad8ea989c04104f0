"""A person's or an agent's own memory: the local store, with or without a server behind it, or a
server's alone.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from recollect.core.admin.checks import WORDS_ONLY
from recollect.core.errors import InvalidInput, RecollectError
from recollect.usecases.recall.recall_log import RecallLog, recall_log
from recollect.usecases.service import LocalService
from recollect.wiring.context import SystemClock, build_context, open_reranker

if TYPE_CHECKING:
    from recollect.adapters.http.client import RemoteService
    from recollect.adapters.http.sync import RemoteSync
    from recollect.adapters.sqlite.store import SqliteStore
    from recollect.ports.graph import Graph
    from recollect.ports.keys import Keys
    from recollect.ports.service import Service
    from recollect.ports.stores import Clock
    from recollect.ports.sync import SyncServer, SyncStore
    from recollect.settings import Settings
    from recollect.usecases.sync.engine import Engine
    from recollect.usecases.sync.offline_first import OfflineFirstService
    from recollect.usecases.sync.run import SyncRun

log = logging.getLogger(__name__)


@asynccontextmanager
async def open_service(
    settings: Settings, *, syncing: bool = False, on_write: Callable[[], None] = lambda: None
) -> AsyncIterator[Service]:
    """The memory this process works with, by its mode: the local store, the local store with a
    server behind it, or a server alone. `syncing`: the engine runs inside, else `on_write` is
    called when something waits to be sent.
    """
    if settings.mode == "cached":
        async with open_cached(settings) as cached:
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
    ):
        context = replace(
            build_context(store, settings), reranker=reranker, hint=lambda _owner: WORDS_ONLY
        )
        yield LocalService(context, settings.owner, shown.note)


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
async def open_cached(settings: Settings) -> AsyncIterator[Cached]:
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
    ):
        context = build_context(store, settings)
        sync = SqliteSync(
            store,
            settings.owner,
            clock,
            sensitive=settings.sync_sensitive,
            default_settings=context.default_settings,
        )
        context = replace(context, revisions=sync)
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
