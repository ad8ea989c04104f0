"""Run pytest and report the processor time of all processes that it started.

Servers outlive the process that started them, and their time would not be counted. Here, orphans
become children of this process (on Linux), which waits for them. A process that is still running
when pytest has ended is a fault of the tests: it is killed, and the run fails.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
ORPHAN_TIMEOUT = 100.0  # seconds: tests/leftovers.py ends what an interrupted run left


def main() -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    pytest = subprocess.Popen([sys.executable, "-m", "pytest", *sys.argv[1:]])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # pytest gets it, too, and shuts down properly
    signal.signal(signal.SIGTERM, lambda *_: os.kill(pytest.pid, signal.SIGTERM))
    status = wait_for(pytest.pid)
    left = end_orphans()
    for pid, command in left.items():
        print(f"Process {pid} was left running: {command}")
    used = sum(os.times()[:4])
    minutes = (time.monotonic() - began) / 60
    print(f"{used / 60:.1f} core-minutes in {minutes:.1f} minutes.")
    return status or bool(left)


def wait_for(pid: int) -> int:
    """Wait for a child and return its exit status; reap orphans that end meanwhile."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def end_orphans() -> dict[int, str]:
    """Wait for orphans to end, and kill the others; return their commands by pid."""
    until = time.monotonic() + ORPHAN_TIMEOUT
    left: dict[int, str] = {}
    with suppress(ChildProcessError):
        while True:
            if os.waitpid(-1, os.WNOHANG) != (0, 0):
                continue
            time.sleep(0.05)
            if time.monotonic() > until:
                left |= kill_children()
    return left


def kill_children() -> dict[int, str]:
    killed = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                killed[int(place.name)] = (place / "cmdline").read_text().replace("\0", " ")
                os.kill(int(place.name), signal.SIGKILL)
    return killed


if __name__ == "__main__":
    sys.exit(main())
