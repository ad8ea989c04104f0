"""Where a client's memory can be: a local store, a server, and a local copy of a server's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Cluster
from tests.serving import Running, serve_tests

from recollect.shells.client.asynchronous import Options


@pytest.fixture(scope="package")
def server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serve_tests(cluster, tmp_path_factory, "client")


@pytest.fixture(params=["local", "server", "cached"])
def options(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Options:
    """Return each of the three ways to say where the memories are."""
    for name in ("RECOLLECT_API_URL", "RECOLLECT_API_KEY", "RECOLLECT_HOME"):
        monkeypatch.delenv(name, raising=False)
    if request.param == "local":
        return Options(home=tmp_path)
    server: Running = request.getfixturevalue("server")
    named = Options(url=server.url, key=server.new_key())
    if request.param == "cached":
        return Options(**named, home=tmp_path, sync="on")
    return named
