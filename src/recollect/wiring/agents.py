"""Recollect in the settings of the agents on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from recollect.adapters.agents import install
from recollect.adapters.agents.clients import CLIENTS, Client, Scope, find_client, parse_scope
from recollect.adapters.agents.files import Edited
from recollect.adapters.agents.install import Installed


@dataclass(frozen=True, slots=True)
class Installer:
    """Recollect in one client's settings: the user's, or those of this folder."""

    client: Client
    scope: Scope

    def preview(self) -> list[tuple[Path, str, str]]:
        """For each file: where it is, what goes in, and the text that would be written."""
        command = install.this_command(self.scope)
        return install.preview(self.client, install.this_machine(), self.scope, command)

    def change(self, *, uninstall: bool) -> list[Edited]:
        """Put it in, or take it out."""
        machine = install.this_machine()
        if uninstall:
            return install.uninstall(self.client, machine, self.scope)
        return install.install(self.client, machine, self.scope, install.this_command(self.scope))


def open_installer(client: str, scope: str) -> Installer:
    """InvalidInput names the client or scope that does not exist."""
    return Installer(find_client(client), parse_scope(scope))


def find_installed(scope: str = "user") -> Iterator[Installed]:
    """Whether Recollect is in the settings of each client that has such a scope."""
    machine, wanted = install.this_machine(), parse_scope(scope)
    for client in CLIENTS.values():
        if wanted in client.scopes:
            yield install.read_installation(client.name, machine, wanted)
