"""`recollect bench load` with a few clients: it runs, and its numbers add up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_line import run_command
from tests.waiting import wait_until

from recollect_bench.cli.app import app
from recollect_bench.speed.load import DEADLINE, LoadReport, Plan, Step, Tally
from recollect_bench.speed.server import resident_mb


def test_load_classifies_answers() -> None:
    tally = Tally()
    tally.count(200, 0.1, is_write=False)
    tally.count(201, 0.1, is_write=True)
    tally.count(200, DEADLINE + 0.1, is_write=False)
    tally.count(503, 0.1, is_write=False)
    tally.count(429, 0.1, is_write=True)
    tally.count(0, 0.1, is_write=False)
    assert (tally.good, tally.written, tally.late) == ([0.1], 1, 1)
    assert (tally.refused, tally.failed, tally.asked) == (2, 1, 6)


def test_each_step_is_compared_with_the_best() -> None:
    plan = Plan((1, 8), 1.0, 0.0, 100, neighbour=False, polite=False)
    slow, best = (Step(1, rate, 0, None, None, 0, 0, 0, 0, 0, None, ()) for rate in (10.0, 40.0))
    report = LoadReport(plan, (slow, best))
    assert [report.share_of_best(step) for step in report.steps] == [0.25, 1.0]


def test_a_server_that_has_ended_has_no_memory() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        wait_until(lambda: resident_mb(process.pid) > 0)
        process.kill()
        wait_until(lambda: resident_mb(process.pid) == 0)
    assert resident_mb(process.pid) == 0


@pytest.mark.slow
def test_load_command_runs(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    options = ["--clients", "1,2", "--seconds", "1", "--memories", "100", "--no-dense"]
    run = run_command(["load", *options, "--json", str(file)], app)
    assert run.exit_code == 0, run.output
    steps = json.loads(file.read_text())["steps"]
    assert [step["clients"] for step in steps] == [1, 2]
    assert all(step["quiet_asked"] >= 1 for step in steps)
    assert all(len(step["memory_mb"]) == 4 and min(step["memory_mb"]) > 10 for step in steps)
