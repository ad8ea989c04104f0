"""Bring a database to the schema that this version needs.

Alembic runs the scripts in `migrations/`, which are plain SQL. Several servers may start at the
same moment: a lock inside the migration's own transaction makes all but one wait, and it works
behind a transaction-pooling PgBouncer too.

The scripts form two branches, each in a folder of its own. `tables` is what every database has;
`vectors` follows where pgvector can be used, so that a Postgres without it still finds memories by
their words.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

import psycopg
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationInfo
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from recollect.adapters.postgres.admin import connect
from recollect.adapters.postgres.errors import translate
from recollect.adapters.postgres.vectors.support import explain_missing_vectors
from recollect.core.admin.timeouts import Timeouts
from recollect.core.errors import StoreBusy, StoreUnavailable

log = logging.getLogger(__name__)

_SCRIPTS: Final = Path(__file__).parent / "migrations"
_BRANCHES: Final = ("tables", "vectors")
_OLDEST_RELEASE: Final = 15
# Seconds between attempts of a migration to lock a table: about two minutes with the attempts.
_PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0, 8.0)
# Alembic keeps the migration in progress in module variables: one at a time per process.
_ALEMBIC = Lock()


def heads() -> set[str]:
    """The newest revision of each branch that this version of Recollect knows."""
    return set(ScriptDirectory.from_config(_config()).get_heads())


def migrate(url: str, timeouts: Timeouts | None = None) -> str:
    """Bring the database up to date. Returns why it cannot hold vectors; "" when it can."""
    timeouts = timeouts or Timeouts()
    _upgrade(url, "tables@head", timeouts)
    note = explain_missing_vectors(url, timeouts)
    if not note:
        _upgrade(url, "vectors@head", timeouts)
    return note


def _upgrade(url: str, revision: str, timeouts: Timeouts) -> None:
    """A migration waits three seconds for a table's lock and then starts over: while it waits,
    every statement of the other servers on that table waits behind it.
    """
    for pause in _PAUSES:
        try:
            with _migrating(url, timeouts) as config:
                command.upgrade(config, revision)
        except StoreBusy:
            log.info("a migration waits for a table that is in use")
            time.sleep(pause)
        else:
            return
    with _migrating(url, timeouts) as config:
        command.upgrade(config, revision)


def migrate_to(url: str, revisions: Sequence[str], timeouts: Timeouts) -> str:
    """Bring an empty database to the schema of a backup. Returns why it cannot hold vectors."""
    scripts = ScriptDirectory.from_config(_config())
    try:
        vectors = {script.revision for script in scripts.iterate_revisions("vectors@head", "base")}
        for revision in revisions:
            scripts.get_revision(revision)
    except CommandError as error:
        raise _too_new() from error
    with _migrating(url, timeouts) as config:
        for revision in set(revisions) - vectors:
            command.upgrade(config, revision)
    note = explain_missing_vectors(url, timeouts) if vectors & {*revisions} else ""
    if not note:
        with _migrating(url, timeouts) as config:
            for revision in vectors & {*revisions}:
                command.upgrade(config, revision)
    return note


def check_fit(version: int, encoding: str | None) -> None:
    """StoreUnavailable for a Postgres that would only fail later, with a less clear error."""
    release = version // 10_000  # as the driver counts: 15.3 is 150003
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
def _migrating(url: str, timeouts: Timeouts) -> Iterator[Config]:
    """A configuration whose connection commits at the end. Errors are translated."""

    def connect_and_check() -> psycopg.Connection:
        made = connect(url, timeouts, autocommit=False)
        try:
            check_fit(made.info.server_version, made.info.parameter_status("server_encoding"))
        except StoreUnavailable:
            made.close()
            raise
        return made

    engine = create_engine("postgresql+psycopg://", creator=connect_and_check, poolclass=NullPool)
    config = _config()
    try:
        with _ALEMBIC, engine.begin() as connection:
            config.attributes["connection"] = connection
            config.attributes["on_version_apply"] = _log_step
            yield config
    except CommandError as error:
        raise _too_new() from error
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise translate(error.orig) from error
        raise
    except psycopg.Error as error:
        raise translate(error) from error
    finally:
        engine.dispose()


def _log_step(*, step: MigrationInfo, **_: object) -> None:
    log.info("migrated the database to %s", step.up_revision_id)


def _too_new() -> StoreUnavailable:
    return StoreUnavailable(
        "the database was made by a newer version of Recollect",
        remedy="Upgrade Recollect on this machine, or name another database.",
    )


def _config() -> Config:
    config = Config()
    folders = "\n".join(str(_SCRIPTS / branch) for branch in _BRANCHES)
    config.set_main_option("script_location", _escape(str(_SCRIPTS)))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", _escape(folders))
    return config


def _escape(value: str) -> str:
    return value.replace("%", "%%")
