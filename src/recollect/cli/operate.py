"""The command on the store: status."""

from __future__ import annotations

from recollect import __version__
from recollect.cli.options import AsJson
from recollect.cli.output import print_json, show
from recollect.cli.shell import ask
from recollect.cli.syncing import status_fields, status_rows
from recollect.core.memory import Stats
from recollect.core.sync import SyncStatus
from recollect.ports import Recollect


def status(*, as_json: AsJson = False) -> None:
    """Say which store is in use and what it holds."""
    from recollect.settings import load

    settings = load()
    stats, sync = ask(_look)
    store = "server" if settings.mode == "remote" else "local"
    location = str(settings.sqlite_path) if store == "local" else str(settings.api_url)
    told: dict[str, object] = {"mode": settings.mode, "store": store, "location": location}
    if as_json:
        from recollect.wire.answers import StatsOut

        told["stats"] = StatsOut.from_stats(stats).model_dump(mode="json")
        if sync is not None:
            told |= {"server": settings.api_url, "sync": status_fields(sync)}
        print_json({"version": __version__, **told})
        return
    from recollect.cli.render import facts, stats_rows

    rows = {
        "recollect": __version__,
        "mode": settings.mode,
        "store": f"{store}, {location}",
        "server": str(settings.api_url) if sync is not None else "",
        **stats_rows(stats),
        **({} if sync is None else status_rows(sync)),
    }
    show(facts(rows))


async def _look(recollect: Recollect) -> tuple[Stats, SyncStatus | None]:
    from recollect.usecases.cached import CachedRecollect

    sync = await recollect.status() if isinstance(recollect, CachedRecollect) else None
    return await recollect.stats(), sync
