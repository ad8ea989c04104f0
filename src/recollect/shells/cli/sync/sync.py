"""The commands of a cached store: sync, and its conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from recollect.core.errors import InvalidInput
from recollect.core.memory.ids import short, short_ids
from recollect.shells.cli.admin.status import status_fields, status_rows
from recollect.shells.cli.framework.commands import Argument, Group, Option
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import note, print_json, show
from recollect.shells.cli.framework.shell import ask, run_async

if TYPE_CHECKING:
    from recollect.core.sync.model import ConflictReport, Keep, SyncStatus
    from recollect.settings import Settings

ConflictId = Annotated[
    str,
    Argument(metavar="ID", help="The id of the conflict or of its memory, or a unique prefix."),
]

conflicts_app = Group("List, show and resolve sync conflicts.")


def sync(
    *,
    retry: Annotated[
        bool, Option("--retry", help="Also retry writes that the server refused.")
    ] = False,
    relink: Annotated[
        bool,
        Option("--relink", help="Link this store to a different server and send everything to it."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Sync the local store with the server until both are up to date."""
    from recollect.settings import load

    settings = load()
    if settings.mode != "cached":
        raise InvalidInput(
            f"there is nothing to sync in {settings.mode} mode",
            field="RECOLLECT_API_URL",
            remedy="Name a server with RECOLLECT_API_URL and RECOLLECT_API_KEY, and leave "
            "RECOLLECT_SYNC unset.",
        )
    status = run_async(_sync(settings, retry=retry, relink=relink))
    if as_json:
        print_json(status_fields(status))
        return
    from recollect.shells.cli.render.tables import facts

    show(facts(status_rows(status)))


async def _sync(settings: Settings, *, retry: bool, relink: bool) -> SyncStatus:
    from recollect.shells.progress import counting_bar
    from recollect.wiring.local import open_cached

    async with open_cached(settings) as cached:
        with counting_bar("syncing") as on_step:
            return await cached.run.run_to_end(retry=retry, relink=relink, on_step=on_step)


@conflicts_app.default
@conflicts_app.command("list")
def list_conflicts(*, as_json: AsJson = False) -> None:
    """List unresolved conflicts."""
    found = ask(lambda recollect: recollect.conflicts())
    if as_json:
        from recollect.wire.sync import CONFLICTS

        print_json(CONFLICTS.encode(found))
        return
    if not found:
        note("no conflicts")
        return
    from recollect.shells.cli.render.tables import rows

    ids = short_ids(report.revision.id for report in found)
    memories = short_ids(report.revision.memory_id for report in found)
    show(
        rows(
            {
                "id": ids[report.revision.id],
                "memory": memories[report.revision.memory_id],
                "kind": report.revision.kind,
                "fields": ", ".join(report.revision.fields),
            }
            for report in found
        )
    )


@conflicts_app.command("show")
def show_conflict(
    id: ConflictId,
    *,
    as_json: AsJson = False,
) -> None:
    """Show both sides of a conflict."""
    from recollect.usecases.sync.conflicts import find_revision

    found = ask(lambda recollect: recollect.conflicts())
    revision = find_revision([report.revision for report in found], id)
    report = next(report for report in found if report.revision.id == revision.id)
    _show(report, as_json=as_json)


@conflicts_app.command("resolve")
def resolve_conflict(
    id: ConflictId,
    *,
    keep: Annotated[
        str,
        Option("--keep", help="Which side to keep: current, or other (the version that lost)."),
    ],
    as_json: AsJson = False,
) -> None:
    """Resolve a conflict by choosing a side; this applies on every machine."""
    if keep not in ("current", "other"):
        raise InvalidInput(
            f"{keep[:60]!r} is not a side", field="keep", remedy="Choose current or other."
        )
    side: Keep = "current" if keep == "current" else "other"
    report = ask(lambda recollect: recollect.resolve(id, side))
    if as_json:
        _show(report, as_json=True)
    else:
        show(f"resolved {short(report.revision.id)}: kept the {keep} side")


def _show(report: ConflictReport, *, as_json: bool) -> None:
    if as_json:
        from recollect.wire.sync import CONFLICT

        print_json(CONFLICT.encode(report))
        return
    from recollect.core.sync.model import State
    from recollect.shells.cli.render.tables import rows

    current = {} if report.current is None else State(report.current).fields
    names = [*report.revision.fields] or ["content"]
    sides = [
        {
            "field": name,
            "current": current.get(name, "(erased)" if report.current is None else None),
            "other": report.revision.fields.get(name, "(erased)"),
        }
        for name in names
    ]
    show(
        f"conflict {report.revision.id} ({report.revision.kind}) of memory "
        f"{report.revision.memory_id}",
        rows(sides),
    )
