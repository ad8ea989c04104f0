"""Where each client keeps its settings on each system, as computed on this one."""

from __future__ import annotations

from pathlib import PurePath, PurePosixPath, PureWindowsPath

import pytest

from recollect.adapters.agents.clients import CLIENTS, Machine, Scope, find_client, slots
from recollect.core.errors import InvalidInput

LINUX = Machine("linux", PurePosixPath("/home/ada"), PurePosixPath("/srv/app"), {})
MAC = Machine("darwin", PurePosixPath("/Users/ada"), PurePosixPath("/srv/app"), {})
WINDOWS = Machine(
    "windows",
    PureWindowsPath("C:\\Users\\ada"),
    PureWindowsPath("D:\\app"),
    {"APPDATA": "C:\\Users\\ada\\AppData\\Roaming"},
)
SUPPORT = "/Users/ada/Library/Application Support"
ROAMING = "C:\\Users\\ada\\AppData\\Roaming"


@pytest.mark.parametrize(
    ("name", "machine", "expected"),
    [
        ("claude-code", LINUX, ["/home/ada/.claude/settings.json", "/home/ada/.claude.json"]),
        ("claude-desktop", LINUX, ["/home/ada/.config/Claude/claude_desktop_config.json"]),
        ("claude-desktop", MAC, [f"{SUPPORT}/Claude/claude_desktop_config.json"]),
        ("claude-desktop", WINDOWS, [f"{ROAMING}\\Claude\\claude_desktop_config.json"]),
        ("cursor", WINDOWS, ["C:\\Users\\ada\\.cursor\\mcp.json"]),
        ("vscode", LINUX, ["/home/ada/.config/Code/User/mcp.json"]),
        ("vscode", MAC, [f"{SUPPORT}/Code/User/mcp.json"]),
        ("vscode", WINDOWS, [f"{ROAMING}\\Code\\User\\mcp.json"]),
        ("codex", MAC, ["/Users/ada/.codex/config.toml"]),
        ("gemini", LINUX, ["/home/ada/.gemini/settings.json"]),
    ],
)
def test_the_users_settings(name: str, machine: Machine, expected: list[str]) -> None:
    found = [slot.path for slot in slots(CLIENTS[name], machine, "user")]
    assert [str(path) for path in found] == expected
    assert all(isinstance(path, PurePath) for path in found)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-code", ["/srv/app/.claude/settings.json", "/srv/app/.mcp.json"]),
        ("cursor", ["/srv/app/.cursor/mcp.json"]),
        ("vscode", ["/srv/app/.vscode/mcp.json"]),
        ("codex", ["/srv/app/.codex/config.toml"]),
        ("gemini", ["/srv/app/.gemini/settings.json"]),
    ],
)
def test_a_projects_settings(name: str, expected: list[str]) -> None:
    assert [str(slot.path) for slot in slots(CLIENTS[name], LINUX, "project")] == expected


@pytest.mark.parametrize(
    ("name", "variable", "expected"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", ["/x/settings.json", "/x/.claude.json"]),
        ("codex", "CODEX_HOME", ["/x/config.toml"]),
        ("vscode", "XDG_CONFIG_HOME", ["/x/Code/User/mcp.json"]),
    ],
)
def test_a_variable_moves_the_settings_unless_it_names_no_folder(
    name: str, variable: str, expected: list[str]
) -> None:
    def find_paths(value: str) -> list[str]:
        machine = Machine("linux", LINUX.home, LINUX.folder, {variable: value})
        return [str(slot.path) for slot in slots(CLIENTS[name], machine, "user")]

    usual = [str(slot.path) for slot in slots(CLIENTS[name], LINUX, "user")]
    assert find_paths("/x") == expected
    assert find_paths("") == usual
    assert find_paths("relative") == usual


def test_unknown_clients_and_scopes_are_named() -> None:
    with pytest.raises(InvalidInput, match="emacs") as refused:
        find_client("emacs")
    assert all(name in refused.value.remedy for name in CLIENTS)
    scope: Scope = "project"
    with pytest.raises(InvalidInput, match="Claude Desktop"):
        slots(CLIENTS["claude-desktop"], LINUX, scope)
