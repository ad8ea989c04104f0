"""The command that erases all of an owner's memories."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Memory
from recollect.core.text.analysis import counted
from recollect.shells.cli.framework.commands import Option
from recollect.shells.cli.framework.exit import Exit, ExitCode
from recollect.shells.cli.framework.options import AsJson, Start
from recollect.shells.cli.framework.output import note, print_json, show
from recollect.shells.cli.framework.shell import ask_server, note_write, prompt, run_async

if TYPE_CHECKING:
    from recollect.core.privacy.erasure import ErasureReport, Marks, Remain
    from recollect.settings import Settings
    from recollect.wiring.server import Server


def erase(
    *,
    owner: Annotated[
        str,
        Option("--owner", help="Owner whose memories to erase; in the local store this is `me`."),
    ],
    server: Annotated[
        bool,
        Option("--server", help="Erase from the server's database, not from the local store."),
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Count what would be erased, and change nothing.")
    ] = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask for confirmation.")] = False,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Erase everything an owner has stored, then search for anything that remains."""
    if not yes and not dry_run:
        _confirm(owner, as_json=as_json)
    if server:
        report = ask_server(
            lambda there: _erase_on_server(there, owner, dry_run=dry_run), start=start
        )
    else:
        report = run_async(_erase_local(owner, dry_run=dry_run))
        if report.erased.notified:
            note_write()
    if as_json:
        print_json({**asdict(report), "dry_run": dry_run})
    else:
        _report(report, dry_run=dry_run, is_server=server)
    if report.remains:
        raise Exit(ExitCode.UNEXPECTED)


async def _erase_local(owner: str, *, dry_run: bool) -> ErasureReport:
    from recollect.settings import load
    from recollect.usecases.admin.erase import erase_owner
    from recollect.wiring.transfer import erase_on_server, open_erasure

    settings = load()
    if settings.mode == "remote" and not dry_run:
        return await erase_on_server(settings, owner)
    async with open_erasure(_require_local_store()) as (store, eraser):
        return await erase_owner(store, eraser, owner, dry_run=dry_run)


async def _erase_on_server(server: Server, owner: str, *, dry_run: bool) -> ErasureReport:
    from recollect.usecases.admin.erase import erase_owner

    if server.eraser is None:
        raise InvalidInput("there is no store to erase from", field="server", remedy="Try again.")
    return await erase_owner(server.context.store, server.eraser, owner, dry_run=dry_run)


def report_search(known: Sequence[Memory], erased: Sequence[str], *, as_json: bool) -> None:
    """Search the local store for remains of these memories, after `forget --forever`."""
    from recollect.core.privacy.erasure import Marks, marks_of

    marks = marks_of(known, Marks(ids=frozenset(map(UUID, erased))))
    searched, remains = run_async(_search(marks))
    if as_json:
        found = [asdict(remain) for remain in remains]
        result = {"forgotten": [*erased], "forever": True}
        print_json({**result, "searched": [*searched], "remains": found})
    else:
        show(*(f"erased {id}" for id in erased))
        _report_remains(searched, remains)
    if remains:
        raise Exit(ExitCode.UNEXPECTED)


async def _search(marks: Marks) -> tuple[Sequence[str], Sequence[Remain]]:
    from recollect.wiring.transfer import open_erasure

    async with open_erasure(_require_local_store()) as (_, eraser):
        return await eraser.remains(marks)


def _require_local_store() -> Settings:
    from recollect.settings import load

    settings = load()
    if settings.mode == "remote":
        raise InvalidInput(
            "the memories are on a server, and there is no local copy",
            field="server",
            remedy="Run `recollect erase --server` on the server's machine to erase from its "
            "database.",
        )
    return settings


def _confirm(owner: str, *, as_json: bool) -> None:
    if as_json or not sys.stdin.isatty():
        raise InvalidInput(
            "erasing cannot be undone, and there is no terminal to confirm it",
            field="yes",
            remedy="Pass --yes to erase, or --dry-run to see how much there is.",
        )
    if prompt(f"Type the owner's name to erase all memories of {owner!r}") != owner:
        note("that is not the owner's name; nothing was erased")
        raise Exit(ExitCode.UNEXPECTED)


def _report(report: ErasureReport, *, dry_run: bool, is_server: bool) -> None:
    erased = report.erased
    if dry_run:
        show(f"would erase {counted(erased.memories, 'memory')} of {report.owner}")
        return
    show(f"erased {counted(erased.memories, 'memory')} of {report.owner}")
    if erased.notified:
        whom = "synced clients know" if is_server else "the server knows"
        kept = counted(erased.notified, "id")
        show(f"{kept} kept, without any text, until {whom} about the erasure")
    if erased.keys:
        usable = f"{counted(erased.keys, 'key')} of {report.owner} still valid"
        show(f"{usable}; revoke with `recollect keys revoke`")
    _report_remains(report.searched, report.remains, report.unsearched)


def _report_remains(
    searched: Sequence[str], remains: Sequence[Remain], unsearched: str = ""
) -> None:
    if not remains and not unsearched:
        show(f"searched {len(searched)} places: nothing remains")
        return
    if not remains:
        show(f"searched {len(searched)} places: nothing remains that a query can find")
        show(f"but {unsearched}")
        return
    for remain in remains:
        note(f"found in {remain.where}: {remain.what} ({remain.count})")
    note("  → Run it again; if something still remains, please report it.")
