"""The command that adds Recollect to an agent's settings."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

from recollect.core.errors import RecollectError
from recollect.shells.cli.framework.commands import Argument, Option
from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import note, print_json, show

if TYPE_CHECKING:
    from recollect.wiring.agents import Edited, Installer


def install(
    client: Annotated[
        str | None,
        Argument(metavar="[CLIENT]", help="The client to set up; omit it to list the clients."),
    ] = None,
    *,
    print_only: Annotated[
        bool, Option("--print", help="Show what would be written, and write nothing.")
    ] = False,
    uninstall: Annotated[
        bool, Option("--uninstall", help="Remove Recollect from the client.")
    ] = False,
    scope: Annotated[
        str,
        Option(
            "--scope", help="Which settings to change: user, or project for those of this folder."
        ),
    ] = "user",
    no_model: Annotated[
        bool,
        Option("--no-model", help="Do not download the embedding model: recall by words only."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Add Recollect to an agent's settings: its MCP server and, for Claude Code, the hooks."""
    from recollect.wiring.agents import open_installer

    if client is None:
        _list_clients(scope, as_json=as_json)
    elif print_only:
        _preview(open_installer(client, scope), as_json=as_json)
    else:
        _change(open_installer(client, scope), uninstall=uninstall, as_json=as_json)
        if not uninstall and not no_model:
            _fetch_model(as_json=as_json)


def uninstall(
    *,
    keep_agents: Annotated[
        bool, Option("--keep-agents", help="Change nothing; show which files start Recollect.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Remove Recollect from every agent's settings, and show where memories and models remain.
    Remove the program itself the way it was installed.
    """
    from recollect.settings import load
    from recollect.wiring.agents import remove_everywhere

    removal, settings = remove_everywhere(keep=keep_agents), load()
    left = {"memories": settings.home, "models": settings.models_folder}
    left = {what: folder for what, folder in left.items() if folder.is_dir()}
    if as_json:
        files = [_edit_json(edit) for edit in removal.edits]
        print_json(
            {
                "files": files,
                "kept": [*map(str, removal.kept)],
                "errors": removal.errors,
                "folders": {what: str(folder) for what, folder in left.items()},
            }
        )
    else:
        for edit in removal.edits:
            _show_edit("removed from", edit)
        for path in removal.kept:
            show(f"still in {path}")
        if not (removal.edits or removal.kept or removal.errors):
            show("Recollect is in no agent's settings.")
        for what, folder in left.items():
            show(f"{what} remain in {folder}")
        if left:
            folders = {f for f in left.values() if not any(o in f.parents for o in left.values())}
            show(f"To remove them, too: rm -r {shlex.join(sorted(map(str, folders)))}")
    if removal.errors:
        raise RecollectError(
            "\n".join(removal.errors), remedy="Remove the entries of these files by hand."
        )


def _list_clients(scope: str, *, as_json: bool) -> None:
    from recollect.wiring.agents import find_installed

    states = [*find_installed(scope)]
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
    from recollect.shells.cli.render.tables import plain_table

    rows = plain_table("client", "recollect", "here", "settings")
    for state in states:
        rows.add_row(
            state.client,
            state.status,
            "yes" if state.is_found else "no",
            "\n".join(str(file) for file in state.files),
        )
    show(rows)


def _preview(installer: Installer, *, as_json: bool) -> None:
    parts = installer.preview()
    if as_json:
        files = [{"path": str(path), "what": what, "text": text} for path, what, text in parts]
        print_json({"client": installer.client.name, "scope": installer.scope, "files": files})
        return
    for path, what, text in parts:
        show(f"# {what}, in {path}:\n{text}")


def _change(installer: Installer, *, uninstall: bool, as_json: bool) -> None:
    client = installer.client
    edits = installer.change(uninstall=uninstall)
    if as_json:
        files = [_edit_json(edit) for edit in edits]
        print_json({"client": client.name, "scope": installer.scope, "files": files})
        return
    done = "removed from" if uninstall else "added to"
    if not any(edit.changed for edit in edits):
        state = "not in" if uninstall else "already in"
        show(f"Recollect is {state} {client.title}: nothing was changed")
        return
    for edit in edits:
        if edit.changed:
            _show_edit(done, edit)
    show(f"Restart {client.title} to apply the change.")


def _edit_json(edit: Edited) -> dict[str, object]:
    backup = str(edit.backup) if edit.backup else None
    return {"path": str(edit.path), "changed": edit.changed, "backup": backup}


def _show_edit(done: str, edit: Edited) -> None:
    if not edit.path.exists():
        show(f"removed {edit.path}, which held nothing else")
    else:
        show(f"{done} {edit.path}{f' (backup: {edit.backup})' if edit.backup else ''}")


def _fetch_model(*, as_json: bool) -> None:
    """Download the model for recall by meaning, unless it is there or not needed. Recollect works
    without it, so a failure is reported but does not undo the rest.
    """
    from recollect.settings import load
    from recollect.shells.progress import step_bar
    from recollect.wiring.models import fetch_model, find_missing_model

    settings = load()
    model = find_missing_model(settings)
    if model is None:
        return
    if not as_json:
        note(
            f"Downloading {model.title} once ({model.download_size // 1_000_000} MB), for recall "
            "by meaning. It runs on this machine. Until it is ready, recall goes by words; "
            "--no-model skips it."
        )
    try:
        with nullcontext(lambda *_: None) if as_json else step_bar() as step:
            fetch_model(settings, model.name, step)
    except RecollectError as error:
        note(f"{error}\n→ {error.remedy} Until then, recall goes by words.")
    else:
        if not as_json:
            show(f"{model.title} is ready: recall goes by meaning, too.")
