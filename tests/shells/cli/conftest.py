from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Cluster
from tests.serving import Running, running
from tests.shells.cli.commands import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("RECOLLECT_API_URL", "RECOLLECT_API_KEY", "RECOLLECT_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Cli(tmp_path / "home")


@pytest.fixture(scope="module")
def server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One server for all tests; they do not meet, since each has owners of its own."""
    url, home = cluster.create("cli_tests"), tmp_path_factory.mktemp("cli")
    with running(url, home, max_content=8_000) as up:
        yield up
    cluster.drop("cli_tests")


@pytest.fixture(autouse=True)
def _no_width_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parallel test run sets COLUMNS, which would wrap what commands print here."""
    monkeypatch.delenv("COLUMNS", raising=False)
