"""Ends what a test run has started when the run itself is killed, as it is when a test hangs: then
no fixture cleans up, and servers and databases would go on for ever.

A process of its own waits for the end of the run. It knows what is left by a mark in the
environment, which is inherited, and by the folder in which the databases lie, since Postgres is
started without an environment. It looks into /proc, and does nothing where there is none.
"""

from __future__ import annotations

import os
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
def ended_with_us(folder: Path) -> Iterator[None]:
    """While entered, whatever inherits our environment or works on the folder ends with us."""
    mark = f"{os.getpid()}-{time.time_ns()}"
    os.environ[_MARK] = mark
    # A pipe from us to it, and nobody else: the kernel closes it, however we end.
    guard = subprocess.Popen(
        [sys.executable, __file__, f"{_MARK}={mark}", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,  # whoever reads our output does not wait for it
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
        for pid in _left(mark, folder):
            with suppress(ProcessLookupError):
                os.kill(pid, how)
        while _left(mark, folder) and time.monotonic() < until:
            time.sleep(0.05)


def _left(mark: str, folder: str) -> list[int]:
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
