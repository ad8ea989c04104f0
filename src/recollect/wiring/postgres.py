"""A Postgres that is migrated and ready: the configured one, else our own, kept running."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from recollect.core.errors import InvalidInput, RecollectError
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.adapters.postgres.embedded import EmbeddedPostgres
    from recollect.adapters.postgres.embedded.installation import Verdict
    from recollect.adapters.postgres.limits import Limits
    from recollect.adapters.postgres.pool import Pool
    from recollect.adapters.postgres.store import PostgresStore
    from recollect.adapters.postgres.vectors.queue import PostgresVectors
    from recollect.core.admin.distribution import Distribution

log = logging.getLogger(__name__)

# How soon a dead embedded Postgres is noticed; each check takes less than 0.1 ms.
_CHECK_SECONDS: Final = 1.0


@asynccontextmanager
async def open_postgres(settings: Settings) -> AsyncIterator[tuple[PostgresStore, str]]:
    """Open Postgres, migrated and ready; return the store and which database it is on."""
    from recollect.adapters.files.erasure_log import ErasureLogs
    from recollect.adapters.postgres.store import PostgresStore

    erasures = ErasureLogs(settings.erasures_folder)
    async with (
        postgres_url(settings) as (url, database, files),
        open_engine(settings) as vectors,
        PostgresStore(
            url,
            timeouts=settings.timeouts,
            erasures=erasures,
            files=files,
            vectors=vectors,
        ) as store,
    ):
        if store.reapplied is not None:
            log.warning("%s", store.reapplied)
        yield store, database


@asynccontextmanager
async def open_engine(
    settings: Settings,
) -> AsyncIterator[Callable[[Pool, Limits], PostgresVectors]]:
    """Open the engine that searches the vectors: pgvector, unless Qdrant is configured."""
    if settings.vectors == "pgvector":
        from recollect.adapters.postgres.vectors.queue import PostgresVectors

        yield PostgresVectors
        return
    from recollect.adapters.qdrant.engine import connect
    from recollect.adapters.qdrant.vectors import QdrantVectors

    key = settings.qdrant_api_key
    engine = connect(
        settings.qdrant_url,
        key.get_secret_value() if key else None,
        settings.qdrant_quantization,
    )
    try:
        yield partial(QdrantVectors, engine=engine)
    finally:
        await engine.close()


def distribute_database(
    settings: Settings, shards: int, report: Callable[[str, float], None]
) -> Distribution:
    """Distribute the tables of the configured database over its Citus cluster."""
    from recollect.adapters.postgres.distribute import distribute
    from recollect.adapters.postgres.errors import check_address
    from recollect.adapters.postgres.migrate import migrate

    if settings.database_url is None:
        raise InvalidInput(
            "the embedded Postgres has no Citus",
            field="RECOLLECT_DATABASE_URL",
            remedy="Set RECOLLECT_DATABASE_URL to the coordinator of a Citus cluster; see"
            " docs/citus.md.",
        )
    url = settings.database_url.get_secret_value()
    check_address(url)
    migrate(url, settings.timeouts)
    return distribute(url, settings.timeouts, shards=shards, report=report)


def read_database(settings: Settings) -> Distribution | None:
    """Return how the configured database is distributed; None if it is not on a Citus cluster."""
    if settings.database_url is None:
        return None
    from recollect.adapters.postgres.distribution import read_distribution_of

    found = read_distribution_of(settings.database_url.get_secret_value(), settings.timeouts)
    return found if found.version else None


def has_database(settings: Settings) -> bool:
    """Return whether there is a server's database: the configured one, or that of this home."""
    from recollect.adapters.postgres.embedded.locations import has_cluster

    if settings.database_url is not None:
        return True
    return settings.api_url is None and has_cluster(settings.home, with_data=True)


def is_database_running(settings: Settings) -> bool:
    """Return whether the embedded Postgres of this home runs; a configured one is assumed to."""
    from recollect.adapters.postgres.embedded.locations import runs

    return settings.database_url is not None or runs(settings.home)


def probe_embedded(settings: Settings) -> Verdict:
    """Install the embedded Postgres and return what it can do on this processor."""
    from recollect.adapters.postgres.embedded import EmbeddedPostgres

    return EmbeddedPostgres(settings.home, account=settings.postgres_account).verdict


def read_verdict(settings: Settings) -> Verdict | None:
    """Return the verdict that an earlier start saved; creates no folder."""
    from recollect.adapters.postgres.embedded.installation import Verdict
    from recollect.adapters.postgres.embedded.locations import SYSTEM_FOLDER

    home = settings.home.expanduser().absolute().resolve()
    elsewhere = (mark.parent for mark in SYSTEM_FOLDER.glob("*/home") if _holds(mark, str(home)))
    for folder in (home / "postgres", *elsewhere):
        with suppress(OSError, ValueError, TypeError):
            return Verdict(**json.loads((folder / "installation" / "probe.json").read_text()))
    return None


def _holds(mark: Path, text: str) -> bool:
    with suppress(OSError):
        return mark.read_text().strip() == text
    return False


@asynccontextmanager
async def postgres_url(settings: Settings) -> AsyncIterator[tuple[str, str, Path | None]]:
    if settings.database_url is not None:
        from recollect.adapters.postgres.errors import check_address

        url = settings.database_url.get_secret_value()
        check_address(url)
        yield url, "RECOLLECT_DATABASE_URL", None
        return
    from recollect.adapters.postgres.embedded import EmbeddedPostgres

    embedded = EmbeddedPostgres(settings.home, account=settings.postgres_account)
    starting = asyncio.create_task(asyncio.to_thread(embedded.start))
    try:
        url = await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The thread continues, and would leave a server running.
        await asyncio.wait([starting])
        await asyncio.to_thread(embedded.stop)
        raise
    leaving = asyncio.Event()
    keeping = asyncio.create_task(_keep_alive(embedded, leaving))
    try:
        yield url, f"embedded Postgres in {embedded.folder}", embedded.folder / "data"
    finally:
        leaving.set()
        await keeping
        await asyncio.to_thread(embedded.stop)


async def _keep_alive(embedded: EmbeddedPostgres, leaving: asyncio.Event) -> None:
    """Restart the embedded Postgres when it dies; nothing else does."""
    while not leaving.is_set():
        with suppress(TimeoutError):
            async with asyncio.timeout(_CHECK_SECONDS):
                await leaving.wait()
        try:
            if await asyncio.to_thread(embedded.restart_if_dead):
                log.warning("the embedded Postgres had died and was started again")
        except (RecollectError, OSError) as error:
            log.error("the embedded Postgres died: %s", type(error).__name__)  # noqa: TRY400  # its text may be long, and quote Postgres's log
