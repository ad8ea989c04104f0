"""Install Recollect in the settings of the agents on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from recollect.adapters.agents import install
from recollect.adapters.agents.clients import CLIENTS, Client, Scope, client_named, scope_named
from recollect.adapters.agents.files import Edited
from recollect.adapters.agents.install import Installed


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
        return install.install(self.client, machine, self.scope, install.this_command(self.scope))


def open_installer(client: str, scope: str) -> Installer:
    """Raise InvalidInput for an unknown client or scope."""
    return Installer(client_named(client), scope_named(scope))


def find_installed(scope: str = "user") -> Iterator[Installed]:
    """Report for each client with this scope whether Recollect is in its settings."""
    machine, chosen = install.this_machine(), scope_named(scope)
    for client in CLIENTS.values():
        if chosen in client.scopes:
            yield install.read_installation(client.name, machine, chosen)
