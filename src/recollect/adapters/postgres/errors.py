"""Translate the driver's errors to Recollect's, in one place.

Postgres quotes rows and parameters in its messages, and those contain memories. So only our own
text and Postgres's five-character error code are passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from recollect.core.errors import (
    Conflict,
    InvalidInput,
    RecollectError,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)


class PoolExhausted(psycopg.OperationalError):
    """All connections of the pool stayed in use."""


class NotConnected(psycopg.OperationalError):
    """There is no connection and none could be opened; the message says why."""


_BUSY = (
    errors.LockNotAvailable,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.QueryCanceled,
    errors.TooManyConnections,
    PoolExhausted,
)
_UNREACHABLE = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    psycopg.InterfaceError,
)
_NO_CONNECTION_LEFT = (
    "too many clients already",
    "connection slots are reserved",
    "too many connections for",
    "no more connections allowed",
)
# What Citus says when it connects, and when a connection it had kept is gone.
_LOST_NODE = re.compile(
    r"connection to the remote node \S+@(\S+) failed"
    r"|server closed the connection unexpectedly[\s\S]*while executing command on (\S+)"
)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise driver errors as errors that say what to do next."""
    try:
        yield
    except psycopg.Error as error:
        raise translate(error) from error


def translate(error: psycopg.Error) -> RecollectError:
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
            remedy="Try again in a moment; if it persists, look at the server's load and locks,"
            " and at its statement_timeout.",
        )
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreUnavailable(
            f"the database role lacks permission for this{code}",
            remedy="Give the role of RECOLLECT_DATABASE_URL the rights of the database's owner.",
        )
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError):
        refusal = _translate_refusal(str(error))
        if refusal is not None:
            return refusal
    if of_cluster := _translate_cluster_error(str(error)):
        return of_cluster
    # A lost connection is an OperationalError without a code; one with a code is a refusal.
    if isinstance(error, (*_UNREACHABLE, psycopg.OperationalError)):
        return StoreUnavailable(
            f"Postgres cannot be reached{code}",
            remedy="Check that the database is running, then try again; see `recollect doctor`.",
        )
    return StoreError(
        f"Postgres refused the statement: {type(error).__name__}{code}",
        remedy="This is a bug in Recollect or a damaged schema: run `recollect doctor` and report"
        " it.",
    )


def find_lost_node(text: str) -> str | None:
    """Return the host and port of the node that Citus could not reach, if an error says so."""
    found = _LOST_NODE.search(text)
    return found and (found[1] or found[2])


def _translate_cluster_error(text: str) -> StoreUnavailable | None:
    """Return what Citus says of its nodes, which quotes no memory."""
    if "operation is not allowed on this node" in text:
        return StoreUnavailable(
            "this Postgres is a worker of a Citus cluster",
            remedy="Name the coordinator in RECOLLECT_DATABASE_URL.",
        )
    if node := find_lost_node(text):
        return StoreUnavailable(
            f"the cluster's node {node} cannot be reached",
            remedy="Start it again; owners of other nodes are not affected. See docs/citus.md.",
        )
    return None


def _translate_refusal(text: str) -> StoreError | None:
    """Return why a connection was refused. The driver gives no code, only Postgres's own text,
    which cannot quote a memory: no statement has run yet.
    """
    if "authentication failed" in text or "no password supplied" in text:
        return StoreUnavailable(
            "Postgres refuses the user name or the password",
            remedy="Correct both in RECOLLECT_DATABASE_URL.",
        )
    if "does not exist" in text and ("database" in text or "role" in text):
        return StoreUnavailable(
            "Postgres does not know the database or the role",
            remedy="Create it, or correct its name in RECOLLECT_DATABASE_URL.",
        )
    if any(phrase in text for phrase in _NO_CONNECTION_LEFT):
        return StoreBusy(
            "Postgres, or the connection pooler in front of it, has no free connections",
            remedy="Close other clients, or raise max_connections (max_client_conn for"
            " PgBouncer); a Recollect server uses up to 12.",
        )
    return None


def is_disconnect(error: StoreUnavailable) -> bool:
    """Return whether an established connection broke while in use. A pooler reports that with a
    code of class 08.
    """
    cause = error.__cause__
    if isinstance(cause, NotConnected) or not isinstance(cause, psycopg.Error):
        return False
    if isinstance(cause, (errors.AdminShutdown, errors.CrashShutdown)):
        return True
    return isinstance(cause, psycopg.OperationalError) and (cause.sqlstate or "08")[:2] == "08"


def check_address(url: str) -> None:
    """Raise InvalidInput if the text is not a database URL."""
    try:
        conninfo_to_dict(url)
    except psycopg.ProgrammingError as error:
        raise InvalidInput(
            "RECOLLECT_DATABASE_URL is not an address of a Postgres database",
            field="RECOLLECT_DATABASE_URL",
            remedy="Write it as postgresql://user:password@host:5432/database.",
        ) from error
