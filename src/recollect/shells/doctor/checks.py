"""The checks of `doctor`. Each reports what it found and, if something is wrong, what to do.

Nothing is created, started or installed without `--full`: people run the doctor when something is
already wrong.
"""

from __future__ import annotations

import asyncio
import platform
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile

from recollect.core.admin.checks import PARKED_REMEDY, Check
from recollect.core.admin.languages import describe_uncovered_languages, other_model
from recollect.core.admin.modes import NO_EMBEDDER
from recollect.core.admin.stats import Stats
from recollect.core.errors import RecollectError
from recollect.core.text.analysis import counted
from recollect.ports.embedding import VectorOutbox
from recollect.settings import Settings
from recollect.shells.doctor import health
from recollect.shells.doctor.embedder import check_embedder

_MIN_PYTHON = (3, 11)


def examine(settings: Settings, *, full: bool) -> Iterator[Check]:
    """Run every check, whatever the others find."""
    for name, check in _checks(settings, full=full):
        try:
            found = check()
            yield from [found] if isinstance(found, Check) else found
        except Exception as error:  # noqa: BLE001  # the doctor runs when anything may be wrong
            yield health.report_failure(name, error)


def _checks(
    settings: Settings, *, full: bool
) -> Iterator[tuple[str, Callable[[], Check | Iterable[Check]]]]:
    now = datetime.now(UTC)
    yield "python", check_python
    yield "sqlite", check_sqlite
    yield "home", lambda: check_home(settings.home)
    yield "room", lambda: health.check_room(settings.home)
    yield "clock", lambda: health.check_clock(settings, now)
    if settings.has_local_store:
        yield "permissions", lambda: health.check_permissions(settings)
        yield "local store", lambda: check_local_store(settings, full=full)
        yield "projects", lambda: check_projects(settings)
    if settings.api_url is None:
        yield "recall", lambda: check_recall(settings)
    else:
        yield "key", lambda: health.check_key(settings)
        yield "server", lambda: check_server(settings)
    yield "languages", lambda: check_languages(settings)
    if settings.mode == "cached" and settings.sqlite_path.exists():
        yield "sync", lambda: health.check_sync(settings)
    yield "egress", lambda: check_egress(settings)
    yield "embedder", lambda: check_embedder(settings, full=full)
    if settings.database_url is not None:
        yield "database", lambda: check_database(settings, full=full)
    else:
        yield "embedded postgres", lambda: check_embedded_postgres(settings, full=full)
    yield "agents", lambda: list(health.check_agents())
    yield "speed", lambda: health.check_speed(settings, full=full)


def check_python() -> Check:
    found = f"Python {platform.python_version()} at {sys.executable}"
    if sys.version_info >= _MIN_PYTHON:
        return Check("python", "ok", found)
    return Check("python", "fail", found, "Install Recollect with Python 3.11 or newer.")


def check_sqlite() -> Check:
    found = f"SQLite {sqlite3.sqlite_version}"
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("create virtual table probe using fts5(text)")
    except sqlite3.OperationalError:
        remedy = (
            "Use a Python whose SQLite includes FTS5, such as the one of any Linux distribution."
        )
        return Check("sqlite", "fail", f"{found} without FTS5", remedy)
    return Check("sqlite", "ok", f"{found} with FTS5")


def check_home(home: Path) -> Check:
    """Check that the folder, or its nearest existing parent, is writable, by creating an unnamed
    file: root has write permission everywhere, even in /proc, where no folder can be created.
    """
    nearest = next(folder for folder in (home, *home.absolute().parents) if folder.exists())
    try:
        TemporaryFile(dir=nearest).close()
    except OSError as error:
        remedy = f"Make {nearest} writable for you, or set RECOLLECT_HOME to a writable folder."
        return Check("home", "fail", f"{nearest} is not writable ({error.strerror})", remedy)
    state = "is writable" if nearest == home else "will be created when needed"
    return Check("home", "ok", f"{home} {state}")


def check_local_store(settings: Settings, *, full: bool) -> Check:
    from recollect.wiring.local import find_store_fault

    path = settings.sqlite_path
    if not path.exists():
        return Check("local store", "ok", f"{path} does not exist yet; the first memory creates it")
    try:
        fault = find_store_fault(settings, full=full)
        memories = asyncio.run(_stats(_local(settings))).memories
    except RecollectError as error:
        return Check("local store", "fail", str(error), error.remedy)
    if fault is not None:
        remedy = f"Restore a backup, or recover what is left with `sqlite3 {path} .recover`."
        return Check("local store", "fail", f"{path} is damaged: {fault}", remedy)
    return Check("local store", "ok", f"{path} is intact and holds {counted(memories, 'memory')}")


def check_projects(settings: Settings) -> Iterator[Check]:
    """The projects that a folder on this machine had and none has any more."""
    from recollect.wiring.project import unreached_projects

    if not settings.sqlite_path.exists():
        return
    try:
        held = asyncio.run(_stats(_local(settings))).by_project
    except RecollectError:  # the check of the store reports it
        return
    for project, folder in unreached_projects(str(settings.home), held).items():
        found = f"no folder has the project {project} any more, which {folder} had; it holds "
        remedy = (
            f"To find its memories, pass `--project {project}`; to move them to another project, "
            f"run `recollect project rename {project} NAME`, or `merge`."
        )
        yield Check("projects", "warn", found + counted(held[project], "memory"), remedy)


def check_recall(settings: Settings) -> Check:
    from recollect.wiring.local import find_needed_model, how_to_get_model

    model = find_needed_model(settings)
    if model == NO_EMBEDDER:
        return Check("recall", "ok", f"by words only: RECOLLECT_EMBEDDER is {NO_EMBEDDER}")
    if (remedy := how_to_get_model(settings)) is not None:
        return Check("recall", "ok", f"by words only: the model {model} is not here", remedy)
    return Check("recall", "ok", f"by words, by meaning ({model}) and by concepts")


def check_server(settings: Settings) -> Check:
    try:
        stats = asyncio.run(_stats(replace(settings, sync="off")))
    except RecollectError as error:
        return Check("server", "fail", f"{settings.api_url}: {error}", error.remedy)
    found = f"{settings.api_url} accepts the key; {counted(stats.memories, 'memory')}"
    parked = 0
    last_error: str | None = None
    if stats.embedding is None:
        found += ", found by words only"
    else:
        parked, last_error = stats.embedding.parked, stats.embedding.last_error
        found += f"; {stats.embedding.waiting} waiting to be embedded, {parked} parked"
    if stats.graph is not None and stats.graph.waiting:
        found += f"; {stats.graph.waiting} waiting to be read for the graph"
    if stats.graph is not None and stats.graph.parked:
        parked, last_error = parked + stats.graph.parked, last_error or stats.graph.last_error
        found += f"; {stats.graph.parked} parked that could not be read for the graph"
    if last_error is None:
        return Check("server", "ok", found)
    by_itself = "Fix the cause on the server; waiting memories are then embedded automatically."
    remedy = PARKED_REMEDY if parked else by_itself
    return Check("server", "warn", f"{found}; last error: {last_error}", remedy)


def check_languages(settings: Settings) -> Iterator[Check]:
    """Check that the embedding model covers the languages of the memories. Yields nothing if there
    are no memories, or if the server does not answer, which other checks report.
    """
    if settings.api_url is None and not settings.sqlite_path.exists():
        return
    try:
        stats = asyncio.run(_stats(replace(settings, sync="off"), by_meaning=True))
    except RecollectError:
        return
    if (found := describe_uncovered_languages(stats)) is not None:
        yield Check("languages", "warn", found, other_model(stats))


def check_egress(settings: Settings) -> Check:
    """Report what may leave this machine; docs/privacy.md has the full table."""
    if settings.egress == "local":
        return Check("egress", "ok", "local: no text is sent to a model on another machine")
    found = "hosted: queries and non-sensitive memories may be sent to a hosted model"
    return Check("egress", "ok", found)


def check_database(settings: Settings, *, full: bool) -> Iterator[Check]:
    if not full:
        yield Check("database", "ok", "RECOLLECT_DATABASE_URL is set; --full connects to it")
        return
    try:
        found = asyncio.run(_open_server(settings))
    except RecollectError as error:
        yield Check("database", "fail", str(error), error.remedy)
        return
    yield _check_vectors(found.vector_note, found.pending)
    if found.engine is not None:
        yield found.engine
    yield _check_barrier(found.barrier_note)
    yield from _check_cluster(settings)


def _check_cluster(settings: Settings) -> Iterator[Check]:
    from recollect.wiring.postgres import read_database

    found = read_database(settings)
    if found is not None:
        yield found.check()


def _check_barrier(note: str) -> Check:
    name = "row-level security"
    if not note:
        return Check(name, "ok", "in force: each transaction sees the rows of one owner")
    what, _, remedy = note.partition(": ")
    return Check(
        name, "warn", f"in force for the login role; {what}", f"{remedy[:1].upper()}{remedy[1:]}."
    )


def _check_vectors(vector_note: str, pending: int) -> Check:
    found = "the database at RECOLLECT_DATABASE_URL answers and is migrated"
    if not vector_note:
        found += "; pgvector with halfvec is available"
        if pending:
            found += f"; an index of vectors is still to be built for {counted(pending, 'owner')}"
        return Check("database", "ok", found)
    remedy = (
        "Recall uses words only until pgvector 0.8 or newer is installed: `create "
        "extension vector`."
    )
    return Check("database", "warn", f"{found}; no vectors: {vector_note}", remedy)


def check_embedded_postgres(settings: Settings, *, full: bool) -> Check:
    """Check the installation, and whether `halfvec` works on this processor."""
    name = "embedded postgres"
    from recollect.wiring.postgres import probe_embedded, read_verdict

    try:
        verdict = probe_embedded(settings) if full else read_verdict(settings)
    except RecollectError as error:
        return Check(name, "fail", str(error), error.remedy)
    if verdict is None:
        found = "not installed yet; `recollect serve` or `recollect doctor --full` installs it"
        return Check(name, "ok", found)
    versions = f"Postgres {verdict.postgres}, pgvector {verdict.pgvector}"
    if verdict.available:
        return Check(name, "ok", f"{versions}; {verdict.reason}")
    remedy = (
        "The server works, but recalls by words only. To recall by meaning, set "
        "RECOLLECT_DATABASE_URL to a Postgres with pgvector."
    )
    return Check(name, "warn", f"{versions}; no halfvec: {verdict.reason}", remedy)


def _local(settings: Settings) -> Settings:
    return replace(settings, api_url=None)


async def _stats(settings: Settings, *, by_meaning: bool = False) -> Stats:
    from recollect.wiring.local import open_service

    async with open_service(settings, by_meaning=by_meaning) as recollect:
        return await recollect.stats()


@dataclass(frozen=True, slots=True)
class _Opened:
    """What opening the server's database found: why it cannot store vectors and why row-level
    security is slow, if so; how many indexes are not built yet; and the check of an engine outside
    of Postgres.
    """

    vector_note: str
    barrier_note: str
    pending: int = 0
    engine: Check | None = None


async def _open_server(settings: Settings) -> _Opened:
    from recollect.wiring.server import open_server

    async with open_server(settings) as server:
        if server.embedding is None:
            return _Opened(server.vector_note, server.barrier_note)
        queue = server.embedding.queue
        spaces = [space for space in await queue.spaces() if space.state == "active"]
        pending = sum([await queue.pending_indexes(space) for space in spaces])
        engine = await _check_engine(queue) if isinstance(queue, VectorOutbox) else None
        return _Opened("", server.barrier_note, pending, engine)


async def _check_engine(outbox: VectorOutbox) -> Check:
    unsent = counted(await outbox.unsent(), "change")
    try:
        found = await outbox.describe()
    except RecollectError as error:
        return Check("vectors", "fail", f"{error}; {unsent} waiting", error.remedy)
    return Check("vectors", "ok", f"{found}; {unsent} waiting to be sent")
