"""The commands that run Recollect as a service of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recollect.shells.cli.framework.options import AsJson
from recollect.shells.cli.framework.output import print_json, show
from recollect.shells.cli.framework.typed import Commands

service_app = Commands(
    no_args_is_help=True, help="Run the server as a service of systemd or launchd."
)

Root = Annotated[
    Path | None,
    typer.Option("--root", help="Work on the file system of another machine, such as an image."),
]


@service_app.command("install")
def install(
    *,
    worker: Annotated[
        bool, typer.Option("--worker", help="Run the worker as a service of its own.")
    ] = False,
    backups: Annotated[
        Path | None,
        typer.Option("--backup", help="Back up to this directory every night, and verify it."),
    ] = None,
    print_: Annotated[
        bool, typer.Option("--print", help="Print the files, and change nothing.")
    ] = False,
    root: Root = None,
    as_json: AsJson = False,
) -> None:
    """Install and start the services: for the whole machine as root, else for this account. Run it
    again after an upgrade, or to change the options.
    """
    from recollect.settings import load
    from recollect.wiring.services import install_services, render_services

    settings = load()
    if print_:
        files = render_services(settings, worker=worker, backups=backups, root=root)
        if as_json:
            print_json({"files": {str(path): text for path, text in files.items()}})
        else:
            show(*(f"# {path}\n{text}" for path, text in files.items()))
        return
    paths = install_services(settings, worker=worker, backups=backups, root=root)
    if as_json:
        print_json({"installed": [str(path) for path in paths]})
    else:
        show(*(f"installed {path}" for path in paths))


@service_app.command("status")
def status(*, root: Root = None, as_json: AsJson = False) -> None:
    """Say which services are installed, and which run."""
    from recollect.wiring.services import read_services

    found = read_services(root)
    if as_json:
        print_json({"services": {**found}})
    else:
        show(*(f"{name}: {state}" for name, state in found.items()))


@service_app.command("remove")
def remove(*, root: Root = None, as_json: AsJson = False) -> None:
    """Stop the services and remove their files. The data stays."""
    from recollect.wiring.services import remove_services

    paths = remove_services(root)
    if as_json:
        print_json({"removed": [str(path) for path in paths]})
    else:
        show(*(f"removed {path}" for path in paths) if paths else ("no service is installed",))
