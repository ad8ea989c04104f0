"""Bring a database to the schema this version needs, once, whoever starts first.

Alembic runs the scripts in `migrations/versions`, which are plain SQL. Several servers may start at
the same moment: a lock inside the migration's own transaction lets one of them work and makes the
others wait, and holds behind a transaction-pooling PgBouncer too.

The scripts form two branches. `main` is what every server has; `vectors` follows it where pgvector
can be used, so that a Postgres without it stays a server that finds memories by their words.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Final

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from recollect.adapters.postgres import timeouts as patience
from recollect.adapters.postgres.errors import from_driver
from recollect.adapters.postgres.vectors.support import vector_note
from recollect.core.errors import StoreUnavailable

_SCRIPTS = Path(__file__).parent / "migrations"
_OLDEST_RELEASE: Final = 15
# Alembic keeps the migration under way in module variables: one at a time in a process.
_ALEMBIC = Lock()


def heads() -> set[str]:
    """The newest revision of each branch that this version of Recollect knows."""
    return set(ScriptDirectory.from_config(_config()).get_heads())


def migrate(url: str) -> str:
    """Bring the database up to date; why it has no place for vectors, or nothing when it has."""
    with _migrating(url) as config:
        command.upgrade(config, "main@head")
    note = vector_note(url)
    if not note:
        with _migrating(url) as config:
            command.upgrade(config, "vectors@head")
    return note


def take_down(url: str) -> None:
    """Remove everything that migrations made, memories too: for tests of the way back."""
    with _migrating(url) as config:
        command.downgrade(config, "base")


def check_fit(version: int, encoding: str | None) -> None:
    """StoreUnavailable for a Postgres that would fail later, and then with less to go by."""
    release = version // 10_000  # as the driver counts: 15.3 is 150003
    if release < _OLDEST_RELEASE:
        raise StoreUnavailable(
            f"this Postgres is release {release}, too old for Recollect",
            remedy=f"Name one of release {_OLDEST_RELEASE} or newer in RECOLLECT_DATABASE_URL.",
        )
    if encoding not in {"UTF8", None}:
        raise StoreUnavailable(
            f"the database is encoded in {encoding}, and memories may hold any character",
            remedy="Make one in UTF-8 (create database … encoding 'UTF8' template template0) and"
            " name it in RECOLLECT_DATABASE_URL.",
        )


@contextmanager
def _migrating(url: str) -> Iterator[Config]:
    """A configuration whose connection commits at the end; errors become Recollect's."""

    def connect() -> psycopg.Connection:
        made = psycopg.connect(
            url, prepare_threshold=None, connect_timeout=patience.CONNECT_SECONDS
        )
        try:
            check_fit(made.info.server_version, made.info.parameter_status("server_encoding"))
        except StoreUnavailable:
            made.close()
            raise
        return made

    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    config = _config()
    try:
        with _ALEMBIC, engine.begin() as connection:
            config.attributes["connection"] = connection
            yield config
    except CommandError as error:
        raise StoreUnavailable(
            "the database was made by a newer version of Recollect",
            remedy="Upgrade Recollect on this machine, or name another database.",
        ) from error
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise from_driver(error.orig) from error
        raise
    except psycopg.Error as error:
        raise from_driver(error) from error
    finally:
        engine.dispose()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    return config
