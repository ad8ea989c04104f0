"""The command that finds memories that need attention."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Final

from recollect.core.curation.audit import KINDS, Finding, Kind, parse_kinds
from recollect.core.errors import InvalidInput
from recollect.core.memory.ids import short_ids
from recollect.shells.cli.framework.commands import Option
from recollect.shells.cli.framework.options import AsJson, Start, owner_or_default, parse_duration
from recollect.shells.cli.framework.output import localize_times, note, one_line, print_json, show
from recollect.shells.cli.framework.shell import ask_server, run_async

if TYPE_CHECKING:
    from recollect.wiring.server import Server

# Kinds whose reasons get local times. Other reasons may quote a memory, which stays as written.
_KINDS_WITH_TIMES: Final[tuple[Kind, ...]] = ("expiring", "expired")


def audit(
    *,
    kind: Annotated[
        list[str] | None,
        Option("--kind", help=f"Find only this kind; repeatable: {', '.join(KINDS)}."),
    ] = None,
    server: Annotated[
        bool,
        Option("--server", help="Audit the server's database, by meaning as well as words."),
    ] = False,
    within: Annotated[
        str,
        Option("--within", help="Report memories that expire this soon, such as 30d."),
    ] = "7d",
    owner: Annotated[
        str | None,
        Option("--owner", help="Owner whose memories to audit (default: RECOLLECT_OWNER)."),
    ] = None,
    start: Start = False,
    as_json: AsJson = False,
) -> None:
    """Find duplicates, contradictions, stale, expiring or unused memories, and secrets."""
    kinds = parse_kinds(KINDS if kind is None else kind)
    soon = parse_duration(within, "within")
    if server:
        found = ask_server(lambda there: _audit_on_server(there, owner, kinds, soon), start=start)
    else:
        found = run_async(_audit_local(owner, kinds, soon))
    if as_json:
        findings = [
            {
                "kind": item.kind,
                "ids": [str(id) for id in item.ids],
                "reason": item.reason,
                "command": item.command,
            }
            for item in found
        ]
        print_json({"findings": findings})
        return
    if not found:
        note("nothing found")
    shown = short_ids(id for item in found for id in item.ids)
    for item in found:
        reason = localize_times(item.reason) if item.kind in _KINDS_WITH_TIMES else item.reason
        show(f"{item.kind}: {', '.join(shown[id] for id in item.ids)}: {one_line(reason)}")
        show(f"  → {item.command}")


async def _audit_local(
    owner: str | None, kinds: Sequence[Kind], within: timedelta
) -> list[Finding]:
    from recollect.settings import load
    from recollect.shells.progress import counting_bar
    from recollect.usecases.curation.audit import audit as run_audit
    from recollect.wiring.transfer import open_audit

    settings = load()
    if settings.mode == "remote" and owner is not None:
        raise InvalidInput(
            "the memories are on a server, which only shows those of the key's owner",
            field="owner",
            remedy="Omit --owner, or run this on the server's machine with --server.",
        )
    async with open_audit(settings) as (store, recalls):
        with counting_bar("reading") as report:
            return await run_audit(
                store,
                owner_or_default(owner, settings),
                datetime.now(UTC),
                kinds=kinds,
                within=within,
                recalls=recalls,
                progress=report,
            )


async def _audit_on_server(
    server: Server, owner: str | None, kinds: Sequence[Kind], within: timedelta
) -> list[Finding]:
    from recollect.shells.progress import counting_bar
    from recollect.usecases.curation.audit import audit as run_audit

    with counting_bar("reading") as report:
        return await run_audit(
            server.context.store,
            owner_or_default(owner, server.settings),
            server.clock.now(),
            kinds=kinds,
            within=within,
            recalls=server.recalls,
            neighbours=server.recalls,
            progress=report,
        )
