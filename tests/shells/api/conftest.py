from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.conftest import Cluster
from tests.serving import Running, running, serve_tests


@pytest.fixture(scope="session")
def shared_server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    hosts = ("memory.example", "::2")
    yield from serve_tests(cluster, tmp_path_factory, "api", allowed_hosts=hosts)


@pytest.fixture
def own_server(database_url: str, tmp_path: Path) -> Iterator[Running]:
    """For a test that changes or counts what all owners share."""
    with running(database_url, tmp_path) as up:
        yield up


@pytest.fixture
def mine(shared_server: Running) -> Iterator[httpx.Client]:
    with shared_server.client() as client:
        yield client


@pytest.fixture
def theirs(shared_server: Running) -> Iterator[httpx.Client]:
    with shared_server.client() as client:
        yield client
