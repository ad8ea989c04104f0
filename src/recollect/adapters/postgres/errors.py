"""One place where the driver's errors become Recollect's.

Postgres quotes rows and parameters in its messages, and those hold people's memories. So only our
own words and Postgres's five-character error code are passed on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg_pool import PoolClosed, PoolTimeout, TooManyRequests

from recollect.core.errors import (
    Conflict,
    RecollectError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

_BUSY = (
    errors.LockNotAvailable,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.QueryCanceled,
    errors.TooManyConnections,
    PoolTimeout,
    TooManyRequests,
)
_UNREACHABLE = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    PoolClosed,
    psycopg.InterfaceError,
)


@contextmanager
def translated() -> Iterator[None]:
    """Raise what the driver raises as the error that a person can act on."""
    try:
        yield
    except psycopg.Error as error:
        raise from_driver(error) from error


def from_driver(error: psycopg.Error) -> RecollectError:
    code = f" ({error.sqlstate})" if error.sqlstate else ""
    if isinstance(error, errors.UniqueViolation):
        return Conflict(
            "the id belongs to another memory",
            remedy="Let Recollect make the id, or choose another one.",
        )
    if isinstance(error, errors.DiskFull):
        return StoreFull(
            f"Postgres has no room left on its disk{code}",
            remedy="Free some space on the database's disk, then try again; nothing was changed.",
        )
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return StoreReadOnly(
            f"Postgres accepts no writes{code}",
            remedy="Connect to the primary server, not to a read-only replica.",
        )
    if isinstance(error, _BUSY):
        return StoreBusy(
            f"Postgres was too busy to answer in time{code}",
            remedy="Try again in a moment; if it persists, look at the server's load and locks.",
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreUnavailable(
            f"Postgres refuses this to the role Recollect uses{code}",
            remedy="Give the role of RECOLLECT_DATABASE_URL the rights of the database's owner.",
        )
    # A lost connection arrives as an OperationalError without a code; those with one are refusals.
    if isinstance(error, (*_UNREACHABLE, psycopg.OperationalError)):
        return StoreUnavailable(
            f"Postgres cannot be reached{code}",
            remedy="Check that the database is running, then try again; see `recollect doctor`.",
        )
    return StoreError(
        f"Postgres refused the statement: {type(error).__name__}{code}",
        remedy="This is a fault in Recollect or its schema: see `recollect doctor`.",
    )
