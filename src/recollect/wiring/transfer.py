"""What export, import, audit and erasure work with: the local store, or a server that is called
directly.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from uuid import UUID

from recollect.core.admin.stats import Stats
from recollect.core.errors import InvalidInput
from recollect.core.imports.detect import Format, Recognised
from recollect.core.imports.found import Item
from recollect.core.imports.jsonl import ImportResult, import_result
from recollect.core.memory.ids import check_uuid7
from recollect.core.memory.listing import Cursor
from recollect.core.memory.memory import Memory, Scope, check_memory
from recollect.core.privacy.erasure import ErasureReport
from recollect.ports.recall import RecallRecord
from recollect.ports.service import Service
from recollect.ports.stores import MemoryStore
from recollect.settings import Settings
from recollect.usecases.admin.erase import OwnerEraser
from recollect.usecases.curation.audit import Listing
from recollect.usecases.memory.transfer import import_memories
from recollect.usecases.service import LocalService
from recollect.wiring.context import SystemClock, build_context
from recollect.wiring.local import connect, open_store


@dataclass(frozen=True, slots=True)
class Transfer:
    """A service to list memories from, and a way to import memories as they are. Ids of foreign
    memories are derived from `mark`, which never changes for a store.
    """

    service: Service
    import_memories: Callable[[Sequence[Memory]], Awaitable[list[ImportResult]]]
    settings: Settings
    mark: str
    now: datetime
    current: Callable[[Sequence[Memory]], Awaitable[Mapping[UUID, Memory]]]
    list_files: Callable[[Path, Format | None], Iterator[tuple[Path, bool]]]
    read_file: Callable[[Path, Format | None], Iterator[Recognised | Item]]

    async def preview(self, memories: Sequence[Memory]) -> list[ImportResult]:
        """Return what importing these memories would do."""
        current = await self.current(memories)
        return [self._outcome(memory, current.get(memory.id)) for memory in memories]

    def _outcome(self, memory: Memory, current: Memory | None) -> ImportResult:
        try:
            check_uuid7(memory.id)
            checked = check_memory(memory, self.settings.limits)
        except InvalidInput as error:
            return ImportResult(memory.id, "refused", str(error), error.remedy)
        if current is None:
            return ImportResult(memory.id, "new")
        return import_result(checked, current)


@asynccontextmanager
async def open_transfer(settings: Settings) -> AsyncIterator[Transfer]:
    from recollect.adapters.files.foreign_files import files_in, items_of

    clock = SystemClock()
    read = partial(items_of, owner=settings.owner, most=settings.limits.content)
    if settings.mode == "remote":
        from recollect.adapters.http.import_ import RemoteImport
        from recollect.adapters.http.sync import RemoteSync

        key = settings.require_api_key()
        mark = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        url = settings.api_url or ""
        async with RemoteSync(
            url, key, owner=settings.owner, sensitive=True, timeouts=settings.timeouts
        ) as remote:
            imports = RemoteImport(remote, mark, is_here=remote.is_here)
            yield Transfer(
                remote,
                imports,
                settings,
                mark,
                clock.now(),
                imports.current,
                files_in,
                read,
            )
        return
    from recollect.adapters.sqlite.sync.store import SqliteSync

    async with open_store(settings) as store:
        mark = str(await SqliteSync(store, settings.owner, clock).store_id())
        context = build_context(store, settings)
        yield Transfer(
            LocalService(context, settings.owner),
            partial(import_memories, context, settings.owner),
            settings,
            mark,
            clock.now(),
            lambda memories: store.get_many(
                settings.owner, [memory.id for memory in memories], forgotten=True
            ),
            files_in,
            read,
        )


@asynccontextmanager
async def open_audit(settings: Settings) -> AsyncIterator[tuple[Listing, RecallRecord | None]]:
    """Open the local store and its record of recalls. A server lists memories, but no recalls."""
    if settings.mode == "remote":
        async with connect(settings) as remote:
            yield _Pages(remote), None
        return
    from recollect.adapters.sqlite.history.recalls import SqliteRecalls

    async with open_store(settings) as store:
        yield store, SqliteRecalls(store.threads)


@asynccontextmanager
async def open_erasure(settings: Settings) -> AsyncIterator[tuple[MemoryStore, OwnerEraser]]:
    """Open the local store, and what erases an owner's memories in it."""
    from recollect.adapters.sqlite.history.owner_erasure import SqliteOwnerErasure

    async with open_store(settings) as store:
        yield store, SqliteOwnerErasure(store.threads)


async def erase_on_server(settings: Settings, owner: str) -> ErasureReport:
    """Erase everything that the owner of the key has on a remote server."""
    async with connect(settings) as remote:
        return await remote.erase_owner(owner)


@dataclass(frozen=True, slots=True)
class _Pages:
    """Lists the memories of a service like a store."""

    service: Service

    async def page(
        self, _owner: str, scope: Scope, after: Cursor | None, limit: int
    ) -> list[Memory]:
        cursor = None if after is None else after.encode()
        return [*(await self.service.page(scope, cursor, limit)).memories]

    async def stats(self, _owner: str) -> Stats:
        return await self.service.stats()
