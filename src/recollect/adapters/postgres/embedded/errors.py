"""What can go wrong with the embedded Postgres, and what to do about it.

StoreUnavailable (core)
└── EmbeddedPostgresError      anything below; `remedy` says what to do next
    ├── PlatformUnsupported    no Postgres binaries for this machine, or they do not run here
    ├── HomeUnusable           the folder cannot be created, written or entered
    ├── AccountUnusable        root needs an unprivileged account, and this one cannot be used
    ├── DiskFull               no room for the binaries or the data
    ├── SocketUnusable         no safe place for the socket
    ├── ClusterNotCreated      initdb failed
    ├── ClusterNotStarted      Postgres ended or did not answer in time
    ├── ClusterNotStopped      Postgres did not end in time
    ├── ClusterBusy            another process is starting or stopping it for too long
    └── DataFolderUnusable     created by another major version or account, or damaged
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from recollect.core.errors import StoreUnavailable

# Other errors of the system (no memory, too many open files) have other remedies.
_REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST, errno.ELOOP)
OWN_SERVER = "name a Postgres server of your own in RECOLLECT_DATABASE_URL"


class EmbeddedPostgresError(StoreUnavailable):
    """The embedded Postgres cannot be used."""


class PlatformUnsupported(EmbeddedPostgresError):
    """No Postgres binaries for this machine, or they do not run here."""


class HomeUnusable(EmbeddedPostgresError):
    """The folder cannot be created, written or entered."""


class AccountUnusable(EmbeddedPostgresError):
    """Postgres refuses to run as root, and the account named for it cannot be used."""


class DiskFull(EmbeddedPostgresError):
    """No room for the binaries or the data."""


class SocketUnusable(EmbeddedPostgresError):
    """No safe place for the socket."""


class ClusterNotCreated(EmbeddedPostgresError):
    """initdb failed."""


class ClusterNotStarted(EmbeddedPostgresError):
    """Postgres ended at once, or did not answer in time."""


class ClusterNotStopped(EmbeddedPostgresError):
    """Postgres did not end in time."""


class ClusterBusy(EmbeddedPostgresError):
    """Another process is starting or stopping the same cluster for too long."""


class DataFolderUnusable(EmbeddedPostgresError):
    """Created by another major version, owned by another account, or damaged."""


def disk_full(where: Path) -> DiskFull:
    return DiskFull(
        f"The disk that holds {where} is full.",
        remedy="Free some space (a new home needs about 300 MB), or move RECOLLECT_HOME.",
    )


@contextmanager
def explain_os_errors(where: Path) -> Iterator[None]:
    """Turn file system errors below `where` into errors that name a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(where) from error
        if error.errno not in _REFUSALS:
            raise
        culprit = error.filename or where
        raise HomeUnusable(
            f"Cannot use {culprit}: {error.strerror}.",
            remedy="Make the folder writable for this user, or set RECOLLECT_HOME to one that is.",
        ) from error
