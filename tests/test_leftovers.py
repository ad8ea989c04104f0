"""A test run that is killed leaves no process and no folder behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import SECONDS, wait_until

from recollect.adapters.postgres.embedded.locations import is_alive

KILLED = """
import os, subprocess, sys
from pathlib import Path
from tests.leftovers import clean_up_at_end

sleeping = [sys.executable, "-c", "import time; time.sleep(3600)"]
with clean_up_at_end(Path(sys.argv[1])):
    by_mark = subprocess.Popen(sleeping, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    by_folder = subprocess.Popen(
        [*sleeping, sys.argv[1]], env={}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    print(by_mark.pid, by_folder.pid, flush=True)
    os._exit(1)
"""


@pytest.mark.skipif(
    not Path("/proc/self/environ").exists(),
    reason="this system has no /proc: run `make test` on Linux",
)
def test_a_killed_run_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "home").mkdir(parents=True)
    run = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 1, run.stderr
    for pid in map(int, run.stdout.split()):
        wait_until(lambda: not is_alive(pid))  # noqa: B023  # asked before the next one
    wait_until(lambda: not folder.exists())
