from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.conftest import Cluster
from tests.serving import Running, running


@pytest.fixture(scope="session")
def shared_server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for all tests; they do not meet, since each has owners of its own."""
    url = cluster.create("api_tests")
    with running(
        url, tmp_path_factory.mktemp("api"), allowed_hosts=("memory.example", "::2")
    ) as up:
        yield up
    cluster.drop("api_tests")


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
