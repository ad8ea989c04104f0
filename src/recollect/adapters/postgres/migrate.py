"""Bring a database to the schema that this version needs.

Each script in `migrations/` is one step, named by its revision; those that end in `v` need pgvector
and are applied where it can be used, so that a Postgres without it still finds memories by their
words. Several servers may start at the same time: a lock in the migration's own transaction makes
all but one wait, and also works behind a transaction-pooling PgBouncer.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg

from recollect.adapters.postgres.errors import translate_errors
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import StoreUnavailable
from recollect.core.retry import MAX_MIGRATION_WAITS, MIGRATION_BACKOFF

# Connections for work on the schema: migrations, roles and extensions.


def connect(
    url: str, timeouts: Timeouts, *, autocommit: bool = True
) -> psycopg.Connection[tuple[Any, ...]]:
    """Open a connection outside the pool, which also works behind PgBouncer."""
    return psycopg.connect(
        url,
        autocommit=autocommit,
        prepare_threshold=None,
        connect_timeout=timeouts.database_connect,
    )


# Whether a database can store vectors, and what to do if it cannot. pgvector may not be installed,
# may be too old, or may need a superuser to enable it. None of that is an error: recall then works
# by words, and the note says how to change it. The embedded Postgres omits the extension where it
# would crash on the processor, so nothing here may compute with a vector.

OLDEST: Final = (0, 8)
"""The first release with iterative scans, without which a filtered search misses rows."""

_ENABLED = "select extversion, to_regtype('halfvec') is not null from pg_extension"
_ENABLED += " where extname = 'vector'"
_INSTALLED = "select 1 from pg_available_extensions where name = 'vector'"


def explain_missing_vectors(connection: psycopg.Connection[tuple[Any, ...]]) -> str:
    """Enable pgvector if need be. Returns why the database cannot store vectors; "" if it can."""
    if connection.execute(_ENABLED).fetchone() is None:
        if connection.execute(_INSTALLED).fetchone() is None:
            return (
                "pgvector is not installed on this Postgres: install it (Debian and Ubuntu:"
                " postgresql-NN-pgvector, NN being the major version) and restart Recollect"
            )
        try:
            connection.execute("create extension if not exists vector")
        except psycopg.errors.InsufficientPrivilege:
            return (
                "pgvector is not enabled in this database: let a superuser run"
                " `create extension vector` in it and restart Recollect (on the embedded"
                " Postgres `recollect doctor` says why it is left out)"
            )
        except psycopg.errors.UniqueViolation:
            pass  # another server enabled it at the same time
    return _explain_unfit(connection.execute(_ENABLED).fetchone())


def _explain_unfit(enabled: tuple[str, bool] | None) -> str:
    version, has_type = enabled or ("", False)
    if version and tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        return (
            f"pgvector {version} is too old: install 0.8 or newer, let a superuser run"
            " `alter extension vector update` in this database, and restart Recollect"
        )
    if not has_type:
        return (
            "pgvector is enabled in a schema that this role does not search: add that schema to"
            " the role's search_path and restart Recollect"
        )
    return ""


log = logging.getLogger(__name__)

Connection = psycopg.Connection[tuple[Any, ...]]

_SCRIPTS: Final = {path.stem: path for path in Path(__file__).parent.glob("migrations/*.sql")}
REVISIONS: Final = sorted(_SCRIPTS)
"""The revisions that this version of Recollect knows, oldest first."""
REVISIONS_TABLE: Final = "schema_revisions"

_OLDEST_RELEASE: Final = 15

# Any fixed number. The transaction that holds this lock migrates. A server may wait long for
# another one that migrates, but not for a table: while it waits, every statement of the other
# servers on that table waits behind it.
_LOCK: Final = """
set local lock_timeout = 0;
select pg_advisory_xact_lock(7305201844);
set local lock_timeout = '3s';
"""
# Before 0.1 the table was created by Alembic.
_CREATE: Final = """
do $$ begin
    if to_regclass('alembic_version') is not null then
        alter table alembic_version rename to schema_revisions;
        alter table schema_revisions rename column version_num to revision;
    end if;
end $$;
create table if not exists schema_revisions (revision text primary key);
"""


def migrate(url: str, timeouts: Timeouts | None = None) -> str:
    """Bring the database up to date. Returns why it cannot store vectors; "" if it can."""
    return migrate_to(url, REVISIONS, timeouts or Timeouts())


def migrate_to(url: str, revisions: Sequence[str], timeouts: Timeouts) -> str:
    """Bring a database to these revisions, such as those of a backup. Returns why it cannot store
    vectors.
    """
    _check_known(revisions)
    vectors = [revision for revision in revisions if revision.endswith("v")]
    with _connect(url, timeouts) as connection:
        _apply(connection, [revision for revision in revisions if revision not in vectors])
        note = explain_missing_vectors(connection) if vectors else ""
        if not note:
            _apply(connection, vectors)
        return note


def read_revisions(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    """Return the applied revisions, oldest first."""
    found = connection.execute("select revision from schema_revisions order by revision")
    return tuple(revision for (revision,) in found.fetchall())


def check_fit(version: int, encoding: str | None) -> None:
    """Raise StoreUnavailable for a Postgres that would fail later with a less clear error."""
    release = version // 10_000  # in the driver's format: 15.3 is 150003
    if release < _OLDEST_RELEASE:
        raise StoreUnavailable(
            f"this Postgres is release {release}, too old for Recollect",
            remedy=f"Name one of release {_OLDEST_RELEASE} or newer in RECOLLECT_DATABASE_URL.",
        )
    if encoding not in {"UTF8", None}:
        raise StoreUnavailable(
            f"the database is encoded in {encoding}, and memories may hold any character",
            remedy="Create a UTF-8 database (create database … encoding 'UTF8' template"
            " template0) and name it in RECOLLECT_DATABASE_URL.",
        )


@contextmanager
def _connect(url: str, timeouts: Timeouts) -> Iterator[Connection]:
    with translate_errors(), connect(url, timeouts) as connection:
        check_fit(
            connection.info.server_version, connection.info.parameter_status("server_encoding")
        )
        yield connection


def _apply(connection: Connection, revisions: Sequence[str]) -> None:
    """Apply the missing revisions in one transaction; retried while a table is in use."""
    for waits in range(1, MAX_MIGRATION_WAITS + 1):
        try:
            return _try_to_apply(connection, revisions)
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            log.info("a migration waits for a table that is in use")
            time.sleep(MIGRATION_BACKOFF.wait(waits))
    return _try_to_apply(connection, revisions)


def _try_to_apply(connection: Connection, revisions: Sequence[str]) -> None:
    with connection.transaction():
        connection.execute("set local lock_timeout = '3s'")
        if not _find_missing(connection, revisions):
            return
        connection.execute(_LOCK)
        connection.execute(_CREATE)
        for revision in _find_missing(connection, revisions):
            connection.execute(_SCRIPTS[revision].read_bytes())
            connection.execute("insert into schema_revisions values (%s)", [revision])
            log.info("migrated the database to %s", revision)


def _find_missing(connection: Connection, revisions: Sequence[str]) -> list[str]:
    if connection.execute("select to_regclass(%s)", [REVISIONS_TABLE]).fetchone() == (None,):
        return [*revisions]
    applied = read_revisions(connection)
    _check_known(applied)
    return [revision for revision in revisions if revision not in applied]


def _check_known(revisions: Collection[str]) -> None:
    if not _SCRIPTS.keys() >= {*revisions}:
        raise StoreUnavailable(
            "the database was made by a newer version of Recollect",
            remedy="Upgrade Recollect on this machine, or name another database.",
        )
