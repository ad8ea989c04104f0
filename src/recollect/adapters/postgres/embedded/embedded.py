"""The embedded Postgres as its users see it: start, a URL, stop. The last user stops the server.

Every user holds a shared lock on `users.lock` for as long as it runs; the kernel releases it if the
process is killed. Starting and stopping are serialized by `start.lock`. If all users were killed,
the next user finds the server running.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg
from psycopg import pq, sql

from recollect.adapters.files.file_lock import FileLock
from recollect.adapters.postgres.access import create_roles
from recollect.adapters.postgres.embedded.account import account_for
from recollect.adapters.postgres.embedded.cluster import Cluster, ping_server
from recollect.adapters.postgres.embedded.errors import ClusterNotStarted, explain_os_errors
from recollect.adapters.postgres.embedded.installation import Probe, Verdict, install, probe_halfvec
from recollect.adapters.postgres.embedded.locations import (
    ROLE,
    SUPERUSER,
    Passwords,
    alone,
    postgres_folder,
)

DATABASE = "recollect"
_LOCK_SECONDS = 300.0


class EmbeddedPostgres:
    """A Postgres of our own below `home`, shared by every process that names the same home.

    All methods block; call them from a thread in asynchronous code. `start` and `stop` may be
    called again without harm, but not from two threads at once.
    """

    def __init__(
        self,
        home: Path,
        *,
        account: str = "nobody",
        installation: Path | None = None,
        probe: Probe = probe_halfvec,
        ping: Callable[[Path], pq.Ping] = ping_server,
        timeout: float = 120.0,
    ) -> None:
        """`account` is only used by root. `installation` may be shared by several homes."""
        self._account = account_for(account)
        self._folder = postgres_folder(home, self._account)
        self._installation = installation or self._folder / "installation"
        self._probe = probe
        self._ping = ping
        self._timeout = timeout
        self._prepared: tuple[Cluster, Verdict] | None = None
        self._use: FileLock | None = None
        self._url: str | None = None

    @property
    def folder(self) -> Path:
        """Where data, logs and the password are; not in the home if the account has no access."""
        return self._folder

    @property
    def verdict(self) -> Verdict:
        """Return the versions, the processor and the probe's result; install if need be."""
        return self._prepare()[1]

    def start(self) -> str:
        """Start the server or join its users. Returns the URL, which contains the password."""
        if self._url is not None:
            return self._url
        with explain_os_errors(self._folder), alone(self._start_lock, _LOCK_SECONDS):
            cluster, verdict = self._prepare()
            use = FileLock(self._folder / "users.lock")
            use.share()
            try:
                cluster.create()
                cluster.start(self._timeout)
                _ensure_database(cluster, with_vector=verdict.available)
                self._url = cluster.url(ROLE, DATABASE)
            except BaseException:
                _leave(use, cluster, self._timeout)  # no server without a user, even a failed one
                raise
            self._use = use
        return self._url

    def restart_if_dead(self) -> bool:
        """Start the server again if it was killed or has crashed; return whether it was. It
        recovers as after a power cut, with everything that was committed.
        """
        if self._use is None:
            return False
        cluster = self._prepare()[0]
        if cluster.is_running:
            return False
        with explain_os_errors(self._folder), alone(self._start_lock, _LOCK_SECONDS):
            cluster.start(self._timeout)
        return True

    def stop(self) -> None:
        """Stop using the server; the last user stops it."""
        if self._use is None:
            return
        use, self._use, self._url = self._use, None, None
        with explain_os_errors(self._folder), alone(self._start_lock, _LOCK_SECONDS):
            _leave(use, self._prepare()[0], self._timeout)

    def __enter__(self) -> str:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def _start_lock(self) -> Path:
        return self._folder / "start.lock"

    def _prepare(self) -> tuple[Cluster, Verdict]:
        if self._prepared is None:
            binaries, verdict = install(self._installation, self._account, self._probe)
            self._prepared = Cluster(self._folder, binaries, self._account, self._ping), verdict
        return self._prepared


def _leave(use: FileLock, cluster: Cluster, timeout: float) -> None:
    try:
        if use.acquire():
            cluster.stop(timeout)
    finally:
        use.release()


def _ensure_database(cluster: Cluster, *, with_vector: bool) -> None:
    """Create the role, the database and the extension if they are missing.

    Done at every start, also when joining: the process that created the cluster may have been
    killed, and a new release may bring a newer pgvector. The extension needs the superuser
    (pgvector is not marked as trusted); Recollect itself uses an ordinary role.
    """
    try:
        _ensure_role_and_database(cluster)
        _allow_emptying_the_log(cluster)
        if with_vector:
            _ensure_vector(cluster)
    except psycopg.Error as error:
        raise ClusterNotStarted(
            f"Postgres runs, but its database cannot be prepared: {error}",
            remedy=f"See {cluster.logs}. If the password was changed by hand, put it into "
            f"{cluster.folder / 'pgpass'}.",
        ) from error


def _ensure_role_and_database(cluster: Cluster) -> None:
    role, database = sql.Identifier(ROLE), sql.Identifier(DATABASE)
    with psycopg.connect(cluster.url(SUPERUSER, "postgres"), autocommit=True) as connection:
        if not connection.execute("select 1 from pg_roles where rolname = %s", [ROLE]).fetchone():
            # Only the salted hash is sent, so that the password cannot end up in a log.
            secret = connection.pgconn.encrypt_password(
                Passwords.read(cluster.folder).of(ROLE).encode(), ROLE.encode(), b"scram-sha-256"
            ).decode()
            connection.execute(
                sql.SQL("create role {} login password {}").format(role, sql.Literal(secret))
            )
        create_roles(connection, ROLE)
        known = "select 1 from pg_database where datname = %s"
        if not connection.execute(known, [DATABASE]).fetchone():
            connection.execute(sql.SQL("create database {} owner {}").format(database, role))


def _allow_emptying_the_log(cluster: Cluster) -> None:
    """Allow switching the write-ahead log: an erasure must remove the text from there, too."""
    role = sql.Identifier(ROLE)
    with psycopg.connect(cluster.url(SUPERUSER, DATABASE), autocommit=True) as connection:
        connection.execute("set client_min_messages = warning")
        connection.execute(sql.SQL("grant pg_checkpoint to {}").format(role))
        switch = "grant execute on function pg_catalog.pg_switch_wal() to {}"
        connection.execute(sql.SQL(switch).format(role))


def _ensure_vector(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url(SUPERUSER, DATABASE), autocommit=True) as connection:
        connection.execute("set client_min_messages = warning")
        connection.execute("create extension if not exists vector")
        connection.execute("alter extension vector update")
