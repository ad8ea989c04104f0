"""A person's or an agent's own memory: the local store, with or without a server behind it, or a
server's alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from recollect.core.admin.checks import WORDS_ONLY
from recollect.core.errors import InvalidInput, RecollectError
from recollect.core.privacy.redaction import locations, safe_message
from recollect.usecases.recall.recall_log import RecallLog, recall_log
from recollect.usecases.service import LocalService
from recollect.usecases.workers.tasks import end
from recollect.wiring.context import SystemClock, build_context, open_reranker

if TYPE_CHECKING:
    from recollect.adapters.files.engine_lock import EngineLock
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

log = logging.getLogger(__name__)

# How soon the engine is tried again, when another process of this store runs it or it failed.
_LOOK_SECONDS: Final = 1.0


@asynccontextmanager
async def open_service(
    settings: Settings, *, syncing: bool = False, on_write: Callable[[], None] = lambda: None
) -> AsyncIterator[Service]:
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
        from recollect.adapters.http.client import RemoteService

        async with RemoteService(settings.api_url, key_of(settings)) as remote:
            yield remote
        return
    from recollect.adapters.sqlite.store import SqliteStore

    async with (
        SqliteStore(settings.sqlite_path) as store,
        _recalls_of(store, settings) as shown,
        open_reranker(settings) as reranker,
    ):
        context = replace(
            build_context(store, settings), reranker=reranker, hint=lambda _owner: WORDS_ONLY
        )
        yield LocalService(context, settings.owner, shown.note)


@asynccontextmanager
async def open_remote_graph(settings: Settings) -> AsyncIterator[Graph]:
    """The concept graph of the server of RECOLLECT_API_URL."""
    from recollect.adapters.http.client import RemoteService
    from recollect.adapters.http.graph import RemoteGraph

    async with RemoteService(settings.api_url or "", key_of(settings)) as remote:
        yield RemoteGraph(remote)


@asynccontextmanager
async def open_remote_keys(settings: Settings) -> AsyncIterator[Keys]:
    """The keys of the server of RECOLLECT_API_URL, for an admin."""
    from recollect.adapters.http.client import RemoteService
    from recollect.adapters.http.keys import RemoteKeys

    async with RemoteService(settings.api_url or "", key_of(settings)) as remote:
        yield RemoteKeys(remote)


def _recalls_of(store: SqliteStore, settings: Settings) -> AbstractAsyncContextManager[RecallLog]:
    from recollect.adapters.sqlite.history.recalls import SqliteRecalls

    return recall_log(SqliteRecalls(store, settings.sqlite_path), SystemClock())


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
    """A cached store with what syncs it."""

    recollect: OfflineFirstService
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
            await end(running)

    async def _run(self) -> None:
        while True:
            try:
                if self.lock.take():
                    await self.engine.run()
            except Exception as error:  # noqa: BLE001  # a fault of ours must not end the syncing
                log.error(  # noqa: TRY400  # its text may quote a memory
                    "the engine of sync failed: %s at %s", safe_message(error), locations(error)
                )
            finally:
                self.lock.release()
            await asyncio.sleep(_LOOK_SECONDS)


@asynccontextmanager
async def open_cached(settings: Settings) -> AsyncIterator[Cached]:
    """The local store with the server of RECOLLECT_API_URL behind it; nothing is asked yet."""
    from recollect.adapters.files.engine_lock import EngineLock
    from recollect.adapters.http.lazy import LazyServer
    from recollect.adapters.sqlite.store import SqliteStore
    from recollect.adapters.sqlite.sync.store import SqliteSync
    from recollect.usecases.sync.engine import Engine
    from recollect.usecases.sync.offline_first import OfflineFirstService

    clock = SystemClock()
    url, key = settings.api_url or "", key_of(settings)

    def client() -> RemoteSync:
        from recollect.adapters.http.sync import RemoteSync

        return RemoteSync(url, key, owner=settings.owner, sensitive=settings.sync_sensitive)

    remote = cast("RemoteSync", LazyServer(url, key, client))
    async with (
        SqliteStore(settings.sqlite_path) as store,
        remote as server,
        _recalls_of(store, settings) as shown,
    ):
        sync = SqliteSync(store, settings.owner, clock, sensitive=settings.sync_sensitive)
        context = replace(build_context(store, settings), revisions=sync)
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
            ),
            sync,
            server,
            clock,
            engine,
            EngineLock(settings.sqlite_path.with_suffix(".sync-lock")),
        )


def _warn_of_sync(error: RecollectError) -> None:
    log.warning("sync waits: %s", error)
