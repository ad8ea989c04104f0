"""Locks between processes that vanish with the process that held them.

flock, because the kernel lets go when a process is killed: no stale lock file to explain. Python
opens files close-on-exec, so Postgres never inherits (and never keeps) one of these.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.adapters.postgres.embedded.errors import ClusterBusy

_POLL_SECONDS = 0.02


class FileLock:
    """One holder's hold on a lock file, shared or exclusive."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def share(self) -> None:
        """Hold together with others. Waits only for an exclusive holder."""
        fcntl.flock(self._fd, fcntl.LOCK_SH)

    def try_alone(self) -> bool:
        """Hold exclusively if no one else holds it. A shared hold is lost when this fails."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Let go, also on behalf of forked children that share the descriptor."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        os.close(self._fd)


@contextmanager
def alone(path: Path, timeout: float) -> Iterator[None]:
    """Hold `path` exclusively; wait `timeout` seconds at most."""
    deadline = time.monotonic() + timeout
    lock = FileLock(path)
    try:
        while not lock.try_alone():
            if time.monotonic() > deadline:
                raise ClusterBusy(
                    f"Another process has held {path} for more than {timeout:.0f} seconds.",
                    remedy=f"Wait, or see which process it is (`fuser {path}`) and end it.",
                )
            time.sleep(_POLL_SECONDS)
        yield
    finally:
        lock.release()
