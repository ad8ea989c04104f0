"""The command that adds Recollect to an agent's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from recollect.core.errors import InvalidInput
from recollect.shells.cli.options import AsJson
from recollect.shells.cli.output import print_json, show

if TYPE_CHECKING:
    from recollect.adapters.agents.clients import Client, Scope
    from recollect.adapters.agents.files import Edited


def install(
    client: Annotated[
        str | None,
        typer.Argument(
            metavar="[CLIENT]", help="The client to set up; omit it to list the clients."
        ),
    ] = None,
    *,
    print_only: Annotated[
        bool, typer.Option("--print", help="Show what would be written, and write nothing.")
    ] = False,
    uninstall: Annotated[
        bool, typer.Option("--uninstall", help="Remove Recollect from the client.")
    ] = False,
    scope: Annotated[
        str,
        typer.Option(
            "--scope", help="Which settings to change: user, or project for those of this folder."
        ),
    ] = "user",
    as_json: AsJson = False,
) -> None:
    """Add Recollect to an agent's settings: its MCP server and, for Claude Code, the hooks."""
    from recollect.adapters.agents.clients import client_named

    if scope not in ("user", "project"):
        raise InvalidInput(
            f"unknown scope {scope[:60]!r}",
            field="scope",
            remedy="Choose user, or project for the settings of this folder.",
        )
    asked = cast("Scope", scope)
    if client is None:
        _list_clients(asked, as_json=as_json)
    elif print_only:
        _preview(client_named(client), asked, as_json=as_json)
    else:
        _change(client_named(client), asked, uninstall=uninstall, as_json=as_json)


def _list_clients(scope: Scope, *, as_json: bool) -> None:
    from recollect.adapters.agents.clients import CLIENTS
    from recollect.adapters.agents.install import installed, this_machine

    machine = this_machine()
    states = [
        installed(client.name, machine, scope)
        for client in CLIENTS.values()
        if scope in client.scopes
    ]
    if as_json:
        clients = [
            {
                "client": state.client,
                "status": state.status,
                "found": state.is_found,
                "files": [str(file) for file in state.files],
                "detail": state.detail,
            }
            for state in states
        ]
        print_json({"scope": scope, "clients": clients})
        return
    from recollect.shells.cli.render import plain_table

    rows = plain_table("client", "recollect", "here", "settings")
    for state in states:
        rows.add_row(
            state.client,
            state.status,
            "yes" if state.is_found else "no",
            "\n".join(str(file) for file in state.files),
        )
    show(rows)


def _preview(client: Client, scope: Scope, *, as_json: bool) -> None:
    from recollect.adapters.agents.install import preview, this_command, this_machine

    parts = preview(client, this_machine(), scope, this_command(scope))
    if as_json:
        files = [{"path": str(path), "what": what, "text": text} for path, what, text in parts]
        print_json({"client": client.name, "scope": scope, "files": files})
        return
    for path, what, text in parts:
        show(f"# {what}, in {path}:\n{text}")


def _change(client: Client, scope: Scope, *, uninstall: bool, as_json: bool) -> None:
    from recollect.adapters.agents import install as work

    machine = work.this_machine()
    if uninstall:
        edits = work.uninstall(client, machine, scope)
    else:
        edits = work.install(client, machine, scope, work.this_command(scope))
    if as_json:
        print_json(
            {"client": client.name, "scope": scope, "files": [_as_document(edit) for edit in edits]}
        )
        return
    done = "removed from" if uninstall else "added to"
    if not any(edit.changed for edit in edits):
        state = "not in" if uninstall else "already in"
        show(f"Recollect is {state} {client.title}: nothing was changed")
        return
    for edit in edits:
        if edit.changed:
            kept = f" (backup: {edit.backup})" if edit.backup else ""
            show(f"{done} {edit.path}{kept}")
    show(f"Restart {client.title} to apply the change.")


def _as_document(edited: Edited) -> dict[str, object]:
    backup = str(edited.backup) if edited.backup else None
    return {"path": str(edited.path), "changed": edited.changed, "backup": backup}
