"""A machine for one test, with the files of one client on it."""

from __future__ import annotations

from pathlib import Path

from tests.adapters.agents.samples import FILES

from recollect.adapters.agents.clients import CLIENTS, Client, Machine, Scope, slots
from recollect.adapters.agents.command import Command

COMMAND = Command("/opt/recollect/bin/recollect")


def machine_in(folder: Path) -> Machine:
    return Machine("linux", folder / "home", folder / "project", {})


def paths(client: Client, machine: Machine, scope: Scope = "user") -> list[Path]:
    return [Path(slot.path) for slot in slots(client, machine, scope)]


def set_up_client(name: str, folder: Path, scope: Scope = "user") -> tuple[Client, Machine]:
    """Create the client's settings files and return the client and its machine."""
    client, machine = CLIENTS[name], machine_in(folder)
    for path, text in zip(paths(client, machine, scope), FILES[name], strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return client, machine


def folder_texts(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder, to compare before and after."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
