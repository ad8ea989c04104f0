"""The supported clients, and where each keeps its settings on each system.

Pure functions: the machine is an argument, so a test on one system can check the paths of another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any, Final, Literal

from recollect.adapters.agents import json_entries, toml_entries
from recollect.adapters.agents.command import Command
from recollect.core.errors import InvalidInput

Scope = Literal["user", "project"]
System = Literal["linux", "darwin", "windows"]


@dataclass(frozen=True, slots=True)
class Machine:
    """What determines where files are: the system, the home, the environment, the current
    folder.
    """

    system: System
    home: PurePath
    folder: PurePath
    environ: Mapping[str, str]

    def path_from(self, variable: str) -> PurePath | None:
        value = self.environ.get(variable, "")
        path = type(self.home)(value)
        return path if value and path.is_absolute() else None

    @property
    def applications(self) -> PurePath:
        """The folder where desktop programs store a user's data."""
        if self.system == "darwin":
            return self.home / "Library" / "Application Support"
        if self.system == "windows":
            return self.path_from("APPDATA") or self.home / "AppData" / "Roaming"
        return self.path_from("XDG_CONFIG_HOME") or self.home / ".config"


@dataclass(frozen=True, slots=True)
class Slot:
    """One settings file of a client, and how Recollect's entry in it is edited: text in, text out.
    `runs` returns the program and arguments that it currently starts, None if there is no entry.
    """

    path: PurePath
    what: str
    put: Callable[[str, Command], str]
    take: Callable[[str], str]
    runs: Callable[[str], list[str] | None]


@dataclass(frozen=True, slots=True)
class Client:
    """A client, by the name that users type."""

    name: str
    title: str
    scopes: tuple[Scope, ...]
    slots: Callable[[Machine, Scope], tuple[Slot, ...]]


def find_client(name: str) -> Client:
    try:
        return CLIENTS[name]
    except KeyError:
        raise InvalidInput(
            f"unknown client {name[:60]!r}",
            field="client",
            remedy=f"Choose one of: {', '.join(CLIENTS)}.",
        ) from None


def parse_scope(name: str) -> Scope:
    for scope in _BOTH:
        if name == scope:
            return scope
    raise InvalidInput(
        f"there is no scope {name[:60]!r}",
        field="scope",
        remedy="Choose user, or project for the settings of this folder.",
    )


def slots(client: Client, machine: Machine, scope: Scope) -> tuple[Slot, ...]:
    """Return the client's files in one scope; raise InvalidInput if it has no such scope."""
    if scope not in client.scopes:
        raise InvalidInput(
            f"{client.title} has no project settings",
            field="scope",
            remedy="Omit --scope: it only has user settings.",
        )
    return client.slots(machine, scope)


def _json_server(path: PurePath, key: str = "mcpServers", *, typed: bool = False) -> Slot:
    def put(text: str, command: Command) -> str:
        entry: dict[str, Any] = {"type": "stdio"} if typed else {}
        return json_entries.with_server(text, key, {**entry, **command.server()})

    def runs(text: str) -> list[str] | None:
        entry = json_entries.server_in(text, key)
        return None if entry is None else [entry["command"], *entry["args"]]

    take = partial(json_entries.without_server, key=key)
    return Slot(path, "MCP server", put, take, runs)


def _toml_server(path: PurePath) -> Slot:
    def put(text: str, command: Command) -> str:
        return toml_entries.with_server(text, command.server())

    def runs(text: str) -> list[str] | None:
        entry = toml_entries.server_in(text)
        return None if entry is None else [entry["command"], *entry["args"]]

    return Slot(path, "MCP server", put, toml_entries.without_server, runs)


def _claude_hooks(path: PurePath) -> Slot:
    def runs(text: str) -> list[str] | None:
        found = json_entries.hooks_in(text)
        if len(found) < len(json_entries.HOOKS):
            return None
        return [found["UserPromptSubmit"]]

    return Slot(path, "hooks", json_entries.with_hooks, json_entries.without_hooks, runs)


def _claude_code(machine: Machine, scope: Scope) -> tuple[Slot, ...]:
    if scope == "project":
        settings = machine.folder / ".claude" / "settings.json"
        return _claude_hooks(settings), _json_server(machine.folder / ".mcp.json")
    named = machine.path_from("CLAUDE_CONFIG_DIR")
    settings = (named or machine.home / ".claude") / "settings.json"
    return _claude_hooks(settings), _json_server((named or machine.home) / ".claude.json")


def _claude_desktop(machine: Machine, _: Scope) -> tuple[Slot, ...]:
    return (_json_server(machine.applications / "Claude" / "claude_desktop_config.json"),)


def _cursor(machine: Machine, scope: Scope) -> tuple[Slot, ...]:
    base = machine.home if scope == "user" else machine.folder
    return (_json_server(base / ".cursor" / "mcp.json"),)


def _vscode(machine: Machine, scope: Scope) -> tuple[Slot, ...]:
    path = (
        machine.applications / "Code" / "User" / "mcp.json"
        if scope == "user"
        else machine.folder / ".vscode" / "mcp.json"
    )
    return (_json_server(path, "servers", typed=True),)


def _codex(machine: Machine, scope: Scope) -> tuple[Slot, ...]:
    base = (
        machine.path_from("CODEX_HOME") or machine.home / ".codex"
        if scope == "user"
        else machine.folder / ".codex"
    )
    return (_toml_server(base / "config.toml"),)


def _gemini(machine: Machine, scope: Scope) -> tuple[Slot, ...]:
    base = machine.home if scope == "user" else machine.folder
    return (_json_server(base / ".gemini" / "settings.json"),)


_BOTH: Final[tuple[Scope, ...]] = ("user", "project")
CLIENTS: Final = {
    client.name: client
    for client in (
        Client("claude-code", "Claude Code", _BOTH, _claude_code),
        Client("claude-desktop", "Claude Desktop", ("user",), _claude_desktop),
        Client("cursor", "Cursor", _BOTH, _cursor),
        Client("vscode", "VS Code", _BOTH, _vscode),
        Client("codex", "Codex", _BOTH, _codex),
        Client("gemini", "Gemini CLI", _BOTH, _gemini),
    )
}
