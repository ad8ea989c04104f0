"""The commands that show which store is in use and what is wrong, and how sync status is shown."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from recollect import __version__
from recollect.core.admin.checks import Check
from recollect.core.errors import InvalidInput
from recollect.core.memory.ids import short
from recollect.shells.cli.framework.commands import Option
from recollect.shells.cli.framework.exit import Exit, ExitCode
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import print_json, show
from recollect.shells.cli.framework.shell import ask

if TYPE_CHECKING:
    from recollect.core.admin.distribution import Distribution
    from recollect.core.admin.stats import Stats
    from recollect.core.sync.model import SyncStatus
    from recollect.ports.service import Service
    from recollect.settings import Settings


def status(*, as_json: AsJson = False) -> None:
    """Show which store is in use and what it holds."""
    from recollect.settings import load

    settings = load()
    read = _read_with_sync if settings.mode == "cached" else _read
    stats, sync = ask(read, by_meaning=True)
    store = "server" if settings.mode == "remote" else "local"
    location = str(settings.sqlite_path) if store == "local" else str(settings.api_url)
    document: dict[str, object] = {"mode": settings.mode, "store": store, "location": location}
    cluster = _cluster(settings)
    if as_json:
        from recollect.wire.stats import STATS

        document |= _sizes(settings) if store == "local" else {}
        if cluster is not None:
            document["citus"] = {**asdict(cluster), "is_complete": cluster.is_complete}
        document["stats"] = STATS.encode(stats)
        if sync is not None:
            document |= {"server": settings.api_url, "sync": status_fields(sync)}
        print_json({"version": __version__, **document})
        return
    from recollect.shells.cli.render.tables import facts, stats_rows

    sizes = _sizes(settings) if store == "local" else {}
    rows = {
        "recollect": __version__,
        "mode": settings.mode,
        "store": f"{store}, {location}",
        "server": str(settings.api_url) if sync is not None else "",
        "size": _size_text(sizes),
        "citus": _cluster_text(cluster),
        **stats_rows(stats),
        **({} if sync is None else status_rows(sync)),
    }
    show(facts(rows))


def _cluster(settings: Settings) -> Distribution | None:
    """Return how the database of a server on this machine is distributed. None if it is not, or
    does not answer: `recollect doctor --full` says why.
    """
    from recollect.core.errors import RecollectError
    from recollect.wiring.postgres import read_database

    try:
        return read_database(settings)
    except RecollectError:
        return None


def _cluster_text(cluster: Distribution | None) -> str:
    if cluster is None:
        return ""
    check = cluster.check()
    return f"{check.detail}\n→ {check.remedy}" if check.remedy else check.detail


def _sizes(settings: Settings) -> dict[str, int]:
    """Return the size of the local store on disk, and roughly how much of it is vectors."""
    from recollect.shells.cli.framework.shell import run_async
    from recollect.wiring.local import measure_store

    size = run_async(measure_store(settings))
    return {"file_bytes": size.total, "vector_bytes": size.vectors}


def _size_text(sizes: dict[str, int]) -> str:
    if not sizes:
        return ""
    vectors = sizes["vector_bytes"]
    of_which = f", about {vectors / 1e6:.1f} MB of it vectors" if vectors else ""
    return f"{sizes['file_bytes'] / 1e6:.1f} MB{of_which}"


async def _read(recollect: Service) -> tuple[Stats, SyncStatus | None]:
    return await recollect.stats(), None


async def _read_with_sync(recollect: Service) -> tuple[Stats, SyncStatus | None]:
    from recollect.usecases.sync.offline_first import OfflineFirstService

    sync = await recollect.status() if isinstance(recollect, OfflineFirstService) else None
    return await recollect.stats(), sync


def status_fields(status: SyncStatus) -> dict[str, object]:
    return {
        "waiting": status.waiting,
        "held": status.held,
        "conflicts": status.conflicts,
        "parked": [
            {"id": str(write.id), "reason": write.reason, "remedy": write.remedy}
            for write in status.parked
        ],
        "last_sync_at": status.last_sync_at and status.last_sync_at.isoformat(),
        "last_error": status.last_error,
        "remedy": status.remedy,
    }


def status_rows(status: SyncStatus) -> dict[str, str]:
    from recollect.shells.cli.framework.output import zoned_time

    parked = [f"{short(write.id)}: {write.reason}\n→ {write.remedy}" for write in status.parked]
    held = f", {status.held} sensitive kept on this machine" if status.held else ""
    conflicts = f"{status.conflicts}; run `recollect conflicts`" if status.conflicts else ""
    return {
        "waiting": f"{status.waiting} to be sent{held}",
        "last sync": zoned_time(status.last_sync_at) if status.last_sync_at else "never",
        "conflicts": conflicts,
        "parked": "\n".join(parked),
        "sync error": f"{status.last_error}\n→ {status.remedy}" if status.last_error else "",
    }


def doctor(
    *,
    full: Annotated[
        bool,
        Option(
            "--full",
            help="Also install and probe the embedded Postgres if it is missing, and connect "
            "to the server's database.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check this installation and suggest a fix for each problem."""
    from recollect.settings import load
    from recollect.shells.doctor.checks import examine

    try:
        done = list(examine(load(), full=full))
    except InvalidInput as error:  # without settings there is nothing else to check
        done = [Check("settings", "fail", str(error), error.remedy)]
    healthy = all(check.status != "fail" for check in done)
    if as_json:
        print_json({"healthy": healthy, "checks": [asdict(check) for check in done]})
    else:
        from recollect.shells.cli.render.tables import checks

        show(checks(done))
    if not healthy:
        raise Exit(ExitCode.UNEXPECTED)
