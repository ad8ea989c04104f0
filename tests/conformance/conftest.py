"""Each store supplies a fixture and inherits every test of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.conformance.databases import emptied_database_url, shared_database_url
from tests.conformance.stores import Place
from tests.usecases.conftest import TickingClock

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.recall.settings import RecallSettings
from recollect.ports.keys import KeyStore
from recollect.usecases.context import Context
from recollect.usecases.recall.lexical import lexical_leg
from recollect_bench.in_memory import InMemoryStore

__all__ = ["emptied_database_url", "shared_database_url"]  # fixtures of every test here

Store = InMemoryStore | SqliteStore | PostgresStore


@pytest.fixture(params=["in_memory", "sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    opened: Store
    if request.param == "in_memory":
        opened = InMemoryStore()
    elif request.param == "sqlite":
        opened = SqliteStore(tmp_path / "memories.db")
    else:
        opened = PostgresStore(request.getfixturevalue("emptied_database_url"))
    async with opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where a store with vectors and a graph is: a URL or a path."""
    if request.param == "sqlite":
        return tmp_path / "memories.db"
    url: str = request.getfixturevalue("emptied_database_url")
    return url


@pytest.fixture(params=["in_memory", "postgres"])
async def key_store(request: pytest.FixtureRequest) -> AsyncIterator[KeyStore]:
    if request.param == "in_memory":
        yield InMemoryStore()
        return
    async with PostgresStore(request.getfixturevalue("emptied_database_url")) as opened:
        yield opened.keys


@pytest.fixture(params=["sqlite", "postgres"])
async def curated(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Context]:
    """The use cases on a store that has proposals."""
    opened: SqliteStore | PostgresStore
    if request.param == "sqlite":
        opened = SqliteStore(tmp_path / "memories.db")
    else:
        opened = PostgresStore(request.getfixturevalue("emptied_database_url"))
    async with opened as store:
        yield Context(
            store=store,
            settings=store,
            clock=TickingClock(),
            legs={"lexical": lexical_leg(store)},
            default_settings=RecallSettings().scaled(30),
            curation=lambda: store.curation,
            curation_counts=lambda owner: store.curation.counts(owner),
        )
