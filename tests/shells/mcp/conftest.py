from __future__ import annotations

from collections.abc import Iterator

import pytest
from mcp.client import session, stdio
from tests.conftest import Cluster
from tests.serving import Running, serve_tests
from tests.waiting import SECONDS


@pytest.fixture(scope="session", autouse=True)
def patient_client() -> Iterator[None]:
    """The SDK's client waits 10 seconds for a server that is only starting, then takes it for an
    older one; and 2 for one that is ending, then kills it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "DISCOVER_TIMEOUT_SECONDS", SECONDS)
        patch.setattr(stdio, "PROCESS_TERMINATION_TIMEOUT", SECONDS)
        yield


@pytest.fixture(scope="session")
def server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serve_tests(cluster, tmp_path_factory, "mcp")
