"""A client of a real server for sync tests: its store is on disk, its clock may be wrong, and it
can crash before or after any call to disk or network.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self
from uuid import UUID

from tests.waiting import DEFAULT_SETTINGS

from recollect.adapters.http.sync import RemoteSync
from recollect.adapters.sqlite.store import SqliteStore
from recollect.adapters.sqlite.sync.store import SqliteSync
from recollect.core.errors import StoreUnavailable
from recollect.core.memory.memory import EVERYWHERE, Memory
from recollect.core.memory.project import Into, Renamed
from recollect.core.sync.model import ChangePage, Outgoing, Pushed, Revision
from recollect.ports.sync import SyncServer, SyncStore
from recollect.settings import load
from recollect.usecases.service import LocalService
from recollect.usecases.sync.offline_first import OfflineFirstService
from recollect.usecases.sync.sync import PAGE, pull_all, push_all, sync
from recollect.wiring.context import build_context

OWNER = "me"


class Crashed(Exception):
    """The process ended here, as far as the engine can tell."""


@dataclass
class Faults:
    """Counts calls to disk and network, and crashes before or after the chosen one. `spied` gets
    every push that reached the server, with its answer.
    """

    at: int | None = None
    after: bool = False
    calls: int = 0
    total: int = 0
    spied: Callable[[Sequence[Outgoing], Sequence[Revision], Pushed], None] | None = None
    pushes: list[tuple[Sequence[Outgoing], Sequence[Revision]]] = field(default_factory=list)

    async def call(self, work: Callable[[], Awaitable[Any]]) -> Any:
        self.calls += 1
        self.total += 1
        is_it = self.calls == self.at
        if is_it and not self.after:
            raise Crashed
        result = await work()
        if is_it:
            raise Crashed
        return result


class FaultyCalls:
    """Forwards every call through the faults."""

    def __init__(self, inner: object, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._inner, name)

        async def call(*args: Any, **kwargs: Any) -> Any:
            return await self._faults.call(lambda: method(*args, **kwargs))

        return call


class FaultyServer:
    def __init__(self, inner: SyncServer, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    async def push(
        self,
        store: UUID,
        items: Sequence[Outgoing],
        revisions: Sequence[Revision],
        epoch: UUID | None = None,
    ) -> Pushed:
        async def work() -> Pushed:
            self._faults.pushes.append((items, revisions))
            pushed = await self._inner.push(store, items, revisions, epoch)
            if self._faults.spied is not None:
                self._faults.spied(items, revisions, pushed)
            return pushed

        pushed: Pushed = await self._faults.call(work)
        return pushed

    async def pull(self, store: UUID, cursor: int, limit: int, *, count: bool) -> ChangePage:
        page: ChangePage = await self._faults.call(
            lambda: self._inner.pull(store, cursor, limit, count=count)
        )
        return page

    async def rename_project(self, project: str, name: str, into: Into = "any") -> Renamed:
        renamed: Renamed = await self._faults.call(
            lambda: self._inner.rename_project(project, name, into)
        )
        return renamed


@dataclass
class SkewedClock:
    skew: timedelta = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.skew


@dataclass
class Client:
    """`await client.open()`; its store survives `crash`."""

    path: Path
    url: str
    key: str
    sensitive: bool = False
    clock: SkewedClock = field(default_factory=SkewedClock)
    faults: Faults = field(default_factory=Faults)
    max_content: int = 8_000
    page_size: int = PAGE

    async def open(self) -> Self:
        self.store = await SqliteStore(self.path / "memories.db").__aenter__()
        self.sync_store = SqliteSync(
            self.store,
            OWNER,
            self.clock,
            sensitive=self.sensitive,
            default_settings=DEFAULT_SETTINGS,
        )
        self.remote = await RemoteSync(
            self.url, self.key, owner=OWNER, sensitive=self.sensitive
        ).__aenter__()
        self.local: SyncStore = FaultyCalls(self.sync_store, self.faults)
        self.server: SyncServer = FaultyServer(self.remote, self.faults)
        settings = load(home=self.path, max_content=self.max_content)
        context = replace(
            build_context(self.store, settings), clock=self.clock, revisions=self.sync_store
        )
        self.service = LocalService(context, OWNER)
        return self

    async def close(self) -> None:
        await self.store.__aexit__()
        await self.remote.__aexit__()

    async def crash(self) -> None:
        await self.close()
        await self.open()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def sync(self) -> None:
        await sync(self.local, self.server, self.clock, page_size=self.page_size)

    async def push(self) -> None:
        await push_all(self.local, self.server, page_size=self.page_size)

    async def pull(self) -> None:
        await pull_all(self.local, self.server, page_size=self.page_size)

    async def all(self) -> dict[UUID, Memory]:
        """Return every memory, including forgotten ones."""
        found = await self.store.threads.reader.run(
            lambda connection: connection.execute("SELECT id FROM memories").fetchall()
        )
        memories = [await self.store.get(OWNER, UUID(id)) for (id,) in found]
        return {memory.id: memory for memory in memories if memory is not None}

    async def listed(self) -> dict[UUID, Memory]:
        return {
            memory.id: memory for memory in await self.store.page(OWNER, EVERYWHERE, None, 10_000)
        }

    async def revisions(self) -> dict[UUID, Revision]:
        return {revision.id: revision for revision in await self.sync_store.revisions(OWNER)}


def with_short_timeout(service: OfflineFirstService) -> OfflineFirstService:
    """Limit the wait for the server to 20 ms, whatever a recall's deadline is."""
    network = 0.02 - DEFAULT_SETTINGS.deadline_ms / 1000
    return replace(service, timeouts=replace(service.timeouts, network=network))


async def settle(*clients: Client) -> None:
    """Sync all clients until nothing waits. On a busy machine a connection may break."""
    for _ in range(12):
        for client in clients:
            client.faults.at = None
            with suppress(StoreUnavailable):
                await client.sync()
        statuses = [await client.sync_store.status() for client in clients]
        cursors = {await client.sync_store.cursor() for client in clients}
        if len(cursors) == 1 and not any(status.waiting for status in statuses):
            return
    raise AssertionError("the clients do not settle")


def texts(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
