from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Cluster
from tests.serving import Running, serve_tests
from tests.shells.cli.commands import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("RECOLLECT_API_URL", "RECOLLECT_API_KEY", "RECOLLECT_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Cli(tmp_path / "home")


@pytest.fixture(scope="module")
def server(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Running]:
    name = request.module.__name__
    yield from serve_tests(cluster, tmp_path_factory, name, max_content=8_000)


@pytest.fixture(autouse=True)
def _no_width_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parallel test run sets COLUMNS, which would wrap what commands print here."""
    monkeypatch.delenv("COLUMNS", raising=False)
