"""The worker inside a server."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from recollect.settings import load
from recollect.shells.worker import run_workers
from recollect.wiring.local import open_local
from recollect.wiring.local_server import open_local_server

pytestmark = pytest.mark.anyio


async def test_without_a_model_the_log_says_which_one_is_missing(tmp_path: Path) -> None:
    settings = load(home=tmp_path, worker="off")
    with capture_logs() as lines:
        async with open_local_server(settings) as server, run_workers(server):
            pass
    (line,) = [line for line in lines if line["event"] == "no recall by meaning"]
    assert line["reason"] == "minilm is not on this machine"


async def test_the_timeout_factor_applies_to_the_workers_of_the_local_store(tmp_path: Path) -> None:
    settings = load(home=tmp_path, timeout_factor=3.0)
    async with open_local(settings) as local:
        assert local.graph.timeouts == local.embedding.timeouts == settings.timeouts
