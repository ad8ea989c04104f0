"""Move a finished file into place in one step, unless another process was faster."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def place(new: Path, path: Path) -> None:
    """Link the file into place: a hard link never replaces a file. Where there are no hard links,
    as on exFAT and some network folders, rename it under a lock.
    """
    try:
        with suppress(FileExistsError):
            os.link(new, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename(new, path)


def _rename(new: Path, path: Path) -> None:
    lock = path.with_name(f".{path.name}.lock")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not path.exists():
            new.rename(path)
        # The file exists now, so the next holder of the lock finds it.
        lock.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
