"""Install Recollect in the settings of the agents on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from recollect.adapters.agents import install
from recollect.adapters.agents.clients import (
    CLIENTS,
    Client,
    Machine,
    Scope,
    find_client,
    parse_scope,
)
from recollect.adapters.agents.files import Edited as Edited
from recollect.adapters.agents.install import Installed
from recollect.core.errors import RecollectError
from recollect.settings import load


@dataclass(frozen=True, slots=True)
class Installer:
    """Edits one client's settings: the user's, or those of this folder."""

    client: Client
    scope: Scope

    def preview(self) -> list[tuple[Path, str, str]]:
        """Return each file's path, what is added to it, and the text that would be written."""
        command = install.this_command(self.scope)
        return install.preview(self.client, install.this_machine(), self.scope, command)

    def change(self, *, uninstall: bool) -> list[Edited]:
        """Install Recollect, or uninstall it."""
        machine = install.this_machine()
        if uninstall:
            return install.uninstall(self.client, machine, self.scope)
        command = install.this_command(self.scope)
        edits = install.install(self.client, machine, self.scope, command)
        if self.scope == "project":
            _note_folder(Path(machine.folder))
        return edits


def open_installer(client: str, scope: str) -> Installer:
    """Raise InvalidInput for an unknown client or scope."""
    return Installer(find_client(client), parse_scope(scope))


def find_installed(scope: str = "user") -> Iterator[Installed]:
    """Report for each client with this scope whether Recollect is in its settings."""
    machine, chosen = install.this_machine(), parse_scope(scope)
    for client in CLIENTS.values():
        if chosen in client.scopes:
            yield install.read_installation(client.name, machine, chosen)


@dataclass(frozen=True, slots=True)
class Removal:
    """What `uninstall` changed, and why it could not change the rest. With `keep`, nothing is
    changed, and `kept` are the files that start Recollect.
    """

    edits: list[Edited]
    kept: list[Path]
    errors: list[str]


def remove_everywhere(*, keep: bool) -> Removal:
    """Remove Recollect from every agent's settings. A file that cannot be edited stops no other."""
    removal = Removal([], [], [])
    for client, machine, scope in _find_places():
        try:
            if keep:
                found = install.files_with_entries(client, machine, scope)
                # In the home folder, a project's settings are the user's.
                removal.kept.extend(path for path in found if path not in removal.kept)
            else:
                edits = install.uninstall(client, machine, scope)
                removal.edits.extend(edited for edited in edits if edited.changed)
        except RecollectError as error:
            if str(error) not in removal.errors:
                removal.errors.append(str(error))
    if not keep and not removal.errors:
        _folders_file().unlink(missing_ok=True)
    return removal


def _find_places() -> Iterator[tuple[Client, Machine, Scope]]:
    """Where `install` may have written to: each client's user settings, and those of the folders
    where it was run with `--scope project`.
    """
    machine = install.this_machine()
    folders = [*dict.fromkeys([Path(machine.folder), *_noted_folders()])]
    for client in CLIENTS.values():
        yield client, machine, "user"
        if "project" in client.scopes:
            for folder in folders:
                yield client, replace(machine, folder=folder), "project"


def _note_folder(folder: Path) -> None:
    noted = _noted_folders()
    if folder not in noted:
        file = _folders_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{one}\n" for one in (*noted, folder)))


def _noted_folders() -> list[Path]:
    with suppress(FileNotFoundError):
        return [Path(line) for line in _folders_file().read_text().splitlines()]
    return []


def _folders_file() -> Path:
    return load().home / "installed-in.txt"
