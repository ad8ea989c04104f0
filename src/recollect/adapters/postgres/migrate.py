"""Bring a database to the schema this version needs, once, whoever starts first.

Alembic runs the scripts in `migrations/versions`, which are plain SQL. Several servers may start at
the same moment: a lock inside the migration's own transaction lets one of them work and makes the
others wait, and holds behind a transaction-pooling PgBouncer too.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock

import psycopg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import NullPool, create_engine
from sqlalchemy.exc import DBAPIError

from recollect.adapters.postgres.errors import from_driver
from recollect.core.errors import StoreUnavailable

_SCRIPTS = Path(__file__).parent / "migrations"
# Alembic keeps the migration under way in module variables: one at a time in a process.
_ALEMBIC = Lock()


def head() -> str:
    """The newest revision this version of Recollect knows."""
    revision = ScriptDirectory.from_config(_config()).get_current_head()
    if revision is None:
        raise RuntimeError(f"no migration in {_SCRIPTS}")
    return revision


def migrate(url: str, revision: str = "head") -> None:
    """Upgrade the database (or take it down to an older revision, for tests)."""

    def connect() -> psycopg.Connection:
        return psycopg.connect(url, prepare_threshold=None, connect_timeout=10)

    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    config = _config()
    try:
        with _ALEMBIC, engine.begin() as connection:
            config.attributes["connection"] = connection
            if revision == "head":
                command.upgrade(config, revision)
            else:
                command.downgrade(config, revision)
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
