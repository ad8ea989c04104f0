"""A lock between processes: for what only one process of a home may do, such as syncing the store,
hosting the model, or starting the embedded Postgres.

flock, because the kernel releases it when a process is killed: there is no stale lock to explain.
Python opens files close-on-exec, so a program that is started here never inherits a lock.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class FileLock:
    """Implements the `Lock` port with a file; processes can also share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Acquire it, unless another process holds or shares it. If that fails, this process no
        longer shares it either.
        """
        try:
            fcntl.flock(self._open(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            return False
        except OSError:
            self.release()
            raise
        return True

    def share(self) -> None:
        """Share it with other processes. Waits only for one that has acquired it."""
        fcntl.flock(self._open(), fcntl.LOCK_SH)

    def release(self) -> None:
        """Release it, also for forked children that have inherited the descriptor."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            os.close(descriptor)

    def _open(self) -> int:
        if self._descriptor is None:
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            self._descriptor = os.open(self._path, flags, 0o600)
        return self._descriptor
