"""One engine per store, however many processes use it.

flock, because the kernel releases it when a process is killed: there is no stale lock to explain.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class EngineLock:
    """The lock on a store's engine; held by one process at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Acquire it if it is free. The holder may acquire it again."""
        if self._descriptor is not None:
            return True
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
