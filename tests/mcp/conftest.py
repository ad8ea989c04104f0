from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.conftest import TEMPLATE, Cluster
from tests.serving import Running, running


@pytest.fixture(scope="session")
def server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for all tests; they do not meet, since each has owners of its own."""
    with running(cluster.create("mcp_tests", TEMPLATE), tmp_path_factory.mktemp("mcp")) as up:
        yield up
    cluster.drop("mcp_tests")
