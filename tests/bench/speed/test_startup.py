"""The measurement of what a command costs to start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import run_command
from tests.processes import environment

from recollect.core.errors import RecollectError
from recollect_bench.cli.app import app
from recollect_bench.speed.startup import COMMANDS, measure


@pytest.mark.usefixtures("real_processes")
@pytest.mark.slow
def test_every_command_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "startup.json"
    done = run_command(["startup", "--runs", "1", "--json", str(file)], app, env=environment())
    assert done.exit_code == 0, done.output
    results = json.loads(file.read_text())["results"]
    assert [result["command"] for result in results] == [*COMMANDS]
    assert all(0 < result["cpu_p50_ms"] <= result["cpu_p95_ms"] for result in results)
    assert all(0 < result["wall_p50_ms"] <= result["wall_p95_ms"] for result in results)
    modules = {result["command"]: result["modules"] for result in results}
    assert modules["--version"] < modules["hook recall"] < modules["list"] < modules["list --json"]


def test_a_command_that_fails_is_not_measured(tmp_path: Path) -> None:
    settings = {"RECOLLECT_HOME": str(tmp_path), "RECOLLECT_MAX_CONTENT": "1"}
    with pytest.raises(RecollectError, match="exit code 2"):
        measure("local", settings, tmp_path, 1, lambda _what, _done, _total: None)
