from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.conftest import Cluster
from tests.serving import Running, running
from tests.sync.clients import Client

_numbers = count(1)


@pytest.fixture(scope="module")
def server(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Running]:
    """One server a module; tests do not meet, since each has owners of its own."""
    name = "sync_" + request.module.__name__.rpartition(".")[2]
    url = cluster.create(name)
    with running(url, tmp_path_factory.mktemp("sync"), max_content=8_000) as up:
        yield up
    cluster.drop(name)


NewClients = Callable[..., list[Client]]


@pytest.fixture
def new_clients(server: Running, tmp_path: Path) -> NewClients:
    """Some clients of one new owner."""

    def make(number: int, **fields: object) -> list[Client]:
        key = server.new_key()
        return [
            Client(tmp_path / f"home {next(_numbers)}", server.url, key, **fields)  # type: ignore[arg-type]  # as named
            for _ in range(number)
        ]

    return make
