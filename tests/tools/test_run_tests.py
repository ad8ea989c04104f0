"""A test run that leaves a process behind ends it, names it and fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import SECONDS

from recollect.adapters.postgres.embedded.locations import is_alive

TOOLS = Path(__file__).parents[2] / "tools"
RUN = """
import sys
import run_tests

run_tests.ORPHAN_TIMEOUT = 0.5
sys.exit(run_tests.main())
"""
LEAVING = """
import pathlib, subprocess, sys

def test_that_passes():
    sleeping = [sys.executable, "-c", "import time; time.sleep(3600)"]
    left = subprocess.Popen(sleeping, stdout=subprocess.DEVNULL, start_new_session=True)
    pathlib.Path("left").write_text(str(left.pid))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux: run it there")
@pytest.mark.parametrize(("test", "status"), [(LEAVING, 1), ("def test_it(): pass", 0)])
def test_a_run_that_leaves_a_process_fails(tmp_path: Path, test: str, status: int) -> None:
    (tmp_path / "test_it.py").write_text(test)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    run = subprocess.run(
        [sys.executable, "-c", RUN, "-q", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TOOLS)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == status, run.stdout + run.stderr
    assert "1 passed" in run.stdout
    assert "core-minutes" in run.stdout
    assert ("was left running" in run.stdout) is bool(status)
    if status:
        assert not is_alive(int((tmp_path / "left").read_text()))
