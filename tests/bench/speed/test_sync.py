"""`recollect bench sync` on a small number of writes: it runs, and its numbers add up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command_line import run_command

from recollect_bench.cli.app import app
from recollect_bench.speed.sync import SyncReport


def test_the_report_adds_up() -> None:
    report = SyncReport(1_000, 100, 10.0, 2.0, 4.0, 6, 3.0, 7).as_dict()
    assert report["straight_writes_per_second"] == 100 / 10
    assert report["offline_to_straight"] == (1_000 / 2) / (100 / 10)
    assert report["catch_up_to_straight"] == (1_000 / 4) / (100 / 10)
    assert report["requests_per_synced_write"] == 6 / 1_000


@pytest.mark.slow
def test_sync_command_runs(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    run = run_command(["sync", "--writes", "250", "--straight", "5", "--json", str(file)], app)
    assert run.exit_code == 0, run.output
    report = json.loads(file.read_text())
    assert report["writes"] == 250
    # 250 writes are two pages; pulls and the last look add a few requests.
    assert report["requests_per_synced_write"] == pytest.approx(8 / 250, abs=4 / 250)
    assert "requests per synced write" in run.output
