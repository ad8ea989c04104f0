"""What many tests share: one real embedded Postgres a run, and a fresh database a test."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from recollect.adapters.embedded_postgres import EmbeddedPostgres
from recollect.adapters.embedded_postgres.passwords import ROLE, SUPERUSER, Passwords
from recollect.adapters.postgres.migrate import migrate

TEMPLATE = "recollect_template"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """A temporary folder whose parents the unprivileged account of a root run can pass through."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@dataclass(frozen=True)
class Cluster:
    """The run's Postgres: makes databases that are already migrated."""

    url: str
    admin_url: str

    def execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(statement)

    def create(self, name: str, template: str) -> str:
        self.execute(
            sql.SQL("create database {} template {} owner {}").format(
                sql.Identifier(name), sql.Identifier(template), sql.Identifier(ROLE)
            )
        )
        return make_conninfo(self.url, dbname=name)

    def drop(self, name: str) -> None:
        self.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def cluster(open_folder: Path) -> Iterator[Cluster]:
    embedded = EmbeddedPostgres(open_folder / "home")
    url = embedded.start()
    try:
        password = Passwords.read(embedded.folder).of(SUPERUSER)
        admin_url = make_conninfo(url, user=SUPERUSER, password=password)
        started = Cluster(make_conninfo(url), admin_url)
        migrate(started.create(TEMPLATE, "recollect"))
        yield started
    finally:
        embedded.stop()


_numbers = count()


@pytest.fixture
def empty_database_url(cluster: Cluster) -> Iterator[str]:
    """A database that nobody has migrated yet."""
    name = f"empty_{next(_numbers)}"
    yield cluster.create(name, "recollect")
    cluster.drop(name)


@pytest.fixture
def database_url(cluster: Cluster) -> Iterator[str]:
    """A fresh, migrated database."""
    name = f"test_{next(_numbers)}"
    yield cluster.create(name, TEMPLATE)
    cluster.drop(name)
