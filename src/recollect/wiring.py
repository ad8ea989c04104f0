"""From settings to a running Recollect: the only place that chooses adapters.

Shells ask for one of two things. `open_recollect` is a person's or an agent's own memory: the local
SQLite store, or a server's when one is named. `open_server` is what a server serves: Postgres, its
keys, and the use cases for whoever shows one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from recollect.core.errors import InvalidInput
from recollect.ports import Clock, KeyStore, MemoryStore, Recollect, SettingsStore
from recollect.settings import Settings
from recollect.usecases.owned import OwnedRecollect
from recollect.usecases.parts import Parts
from recollect.usecases.recall import lexical_leg

if TYPE_CHECKING:
    from recollect.adapters.postgres.store import PostgresStore


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Server:
    """What the shells of a server share. `database` says, for people, which Postgres it is."""

    parts: Parts
    keys: KeyStore
    clock: Clock
    settings: Settings
    database: str

    def for_owner(self, owner: str) -> Recollect:
        return OwnedRecollect(self.parts, owner)


@asynccontextmanager
async def open_recollect(settings: Settings) -> AsyncIterator[Recollect]:
    """The memory this process works with: a server's when RECOLLECT_API_URL names one."""
    if settings.api_url is not None:
        from recollect.adapters.remote import RemoteRecollect

        if settings.api_key is None:
            raise InvalidInput(
                "RECOLLECT_API_URL names a server, but there is no key for it",
                field="RECOLLECT_API_KEY",
                remedy="Set RECOLLECT_API_KEY to the key that the server showed when it was made.",
            )
        key = settings.api_key.get_secret_value()
        async with RemoteRecollect(settings.api_url, key) as remote:
            yield remote
        return
    from recollect.adapters.sqlite.store import SqliteStore

    async with SqliteStore(settings.sqlite_path) as store:
        yield OwnedRecollect(parts_on(store, settings), settings.owner)


@asynccontextmanager
async def open_server(settings: Settings) -> AsyncIterator[Server]:
    """What a server serves, on Postgres."""
    async with open_postgres(settings) as (store, database):
        parts = parts_on(store, settings)
        yield Server(parts, store, parts.clock, settings, database)


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
        yield settings.database_url.get_secret_value(), "RECOLLECT_DATABASE_URL"
        return
    from recollect.adapters.embedded_postgres import EmbeddedPostgres

    embedded = EmbeddedPostgres(settings.home, account=settings.postgres_account)
    url = await asyncio.to_thread(embedded.start)
    try:
        yield url, f"embedded Postgres in {embedded.folder}"
    finally:
        await asyncio.to_thread(embedded.stop)
