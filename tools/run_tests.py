"""Run pytest and report what it cost: the processor time of all that it started.

Servers outlive the process that started them, and nobody would add up their time. Here, orphans
become children of this process (on Linux), which waits for them. A process that is still there
when pytest has ended is a fault of the tests: it is ended, and the run fails.
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
ORPHANS_MAY_TAKE = 100.0  # seconds: tests/leftovers.py ends what an interrupted run has left


def main() -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    pytest = subprocess.Popen([sys.executable, "-m", "pytest", *sys.argv[1:]])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # pytest gets it, too, and ends in good order
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
    """The exit status of a child; orphans that end meanwhile are reaped."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def end_orphans() -> dict[int, str]:
    """Those that did not end by themselves, with their commands."""
    until = time.monotonic() + ORPHANS_MAY_TAKE
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
