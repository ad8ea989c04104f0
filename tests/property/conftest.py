"""Each store opened once per module, on its own loop: Hypothesis runs many examples per test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.conftest import Cluster

from recollect.adapters.postgres.store import PostgresStore
from recollect.adapters.sqlite.store import SqliteStore
from recollect_bench.in_memory import InMemoryStore

Store = InMemoryStore | SqliteStore | PostgresStore


@dataclass(frozen=True)
class OpenStore:
    """A store, and a way to await its methods from a plain function."""

    store: Store
    wait: Callable[[Awaitable[Any]], Any]


@pytest.fixture(scope="module", params=["in_memory", "sqlite", "postgres"])
def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenStore]:
    store: Store
    if request.param == "in_memory":
        store = InMemoryStore()
    elif request.param == "sqlite":
        store = SqliteStore(tmp_path_factory.mktemp("property") / "memories.db")
    else:
        store = PostgresStore(request.getfixturevalue("module_database_url"))
    with asyncio.Runner() as runner:

        async def result(awaitable: Awaitable[Any]) -> Any:
            return await awaitable

        runner.run(store.__aenter__())
        try:
            yield OpenStore(store, lambda awaitable: runner.run(result(awaitable)))
        finally:
            runner.run(store.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def module_database_url(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    name = request.module.__name__.rpartition(".")[2]
    yield cluster.create(name)
    cluster.drop(name)
