"""Ends the processes of a test run and removes its folder, however the run ends: when it is killed,
no fixture cleans up, and servers and databases would stay.

A separate process waits for the end of the run. It finds what is left by a mark in the environment,
which is inherited, and by the folder that holds the databases, since Postgres is started without an
environment. Without /proc it only removes the folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_MARK: Final = "TEST_RUN_OF_RECOLLECT"
_SECONDS: Final = 30


@contextmanager
def clean_up_at_end(folder: Path) -> Iterator[None]:
    """When the block or this process ends, end every process that inherits our environment or works
    on the folder, and remove the folder.
    """
    mark = f"{os.getpid()}-{time.time_ns()}"
    os.environ[_MARK] = mark
    # A pipe that only we hold open: the kernel closes it, however we end.
    guard = subprocess.Popen(
        [sys.executable, __file__, f"{_MARK}={mark}", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,  # so that readers of our output do not wait for it
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.communicate()


def _end(mark: str, folder: str) -> None:
    for how in (signal.SIGTERM, signal.SIGQUIT, signal.SIGKILL):
        until = time.monotonic() + _SECONDS
        for pid in _find_left(mark, folder):
            with suppress(ProcessLookupError):
                os.kill(pid, how)
        while _find_left(mark, folder) and time.monotonic() < until:
            time.sleep(0.05)


def _find_left(mark: str, folder: str) -> list[int]:
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended meanwhile
            has_mark = mark.encode() in (place / "environ").read_bytes().split(b"\0")
            if has_mark or folder.encode() in (place / "cmdline").read_bytes():
                found.append(int(place.name))
    return [pid for pid in found if pid not in (os.getpid(), os.getppid())]


if __name__ == "__main__":
    sys.stdin.read()
    _end(*sys.argv[1:])
    shutil.rmtree(sys.argv[2], ignore_errors=True)
