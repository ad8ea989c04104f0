from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.conftest import Cluster
from tests.serving import Running, serve_tests
from tests.sync.clients import Client

_numbers = count(1)


@pytest.fixture(scope="module")
def server(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Running]:
    name = request.module.__name__
    yield from serve_tests(cluster, tmp_path_factory, name, max_content=8_000)


NewClients = Callable[..., list[Client]]


@pytest.fixture
def new_clients(server: Running, tmp_path: Path) -> NewClients:
    """Return a function that creates clients of one new owner."""

    def make(number: int, **fields: object) -> list[Client]:
        key = server.new_key()
        return [
            Client(tmp_path / f"home {next(_numbers)}", server.url, key, **fields)  # type: ignore[arg-type]  # as named
            for _ in range(number)
        ]

    return make
