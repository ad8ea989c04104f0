"""The page names every command and option, and every command explains itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.shells.cli.commands import Cli
from typer.core import TyperGroup
from typer.main import get_command

from recollect.main import build
from recollect.shells.cli.framework.errors import MEANINGS, ExitCode
from recollect_bench.cli.app import app as bench_app

PAGE = Path(__file__).parents[3] / "docs" / "cli.md"
# What mcp prints is the protocol; what follows `bench` is the benchmark's own.
WITHOUT_JSON = {"mcp", "bench"}


def _commands(group: TyperGroup, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for name, command in group.commands.items():
        found[*path, name] = command
        if isinstance(command, TyperGroup):
            found |= _commands(command, (*path, name))
    return found


def _all_commands() -> dict[tuple[str, ...], Any]:
    group = get_command(build())
    assert isinstance(group, TyperGroup)
    return _commands(group)


COMMANDS = _all_commands()
_paths = pytest.mark.parametrize("path", COMMANDS, ids=" ".join)


@_paths
def test_the_page_names_every_command_and_option(path: tuple[str, ...]) -> None:
    page = PAGE.read_text()
    command = f"recollect {' '.join(path)}"
    assert f"`{command}" in page, f"docs/cli.md does not name {command}"
    section = page.split(f"`{command}", 1)[1].split("\n## ", 1)[0]
    for parameter in COMMANDS[path].params:
        for option in parameter.opts:
            if option.startswith("--") and option not in ("--help", "--json"):
                assert f"{option}" in section, f"docs/cli.md does not name {command} {option}"


def _groups() -> dict[tuple[str, ...], TyperGroup]:
    bench = get_command(bench_app)
    assert isinstance(bench, TyperGroup)
    everything = {**COMMANDS, ("bench",): bench, **_commands(bench, ("bench",))}
    return {path: one for path, one in everything.items() if isinstance(one, TyperGroup)}


GROUPS = _groups()


def test_every_group_is_known() -> None:
    names = {" ".join(path) for path in GROUPS}
    assert {"hook", "keys", "settings", "bench", "bench convert"} <= names
    # Without a subcommand a group does what its help says, or shows its help.
    assert all(one.invoke_without_command or one.no_args_is_help for one in GROUPS.values())


@pytest.mark.parametrize(
    "path", [path for path, one in GROUPS.items() if not one.invoke_without_command], ids=" ".join
)
def test_a_group_without_a_subcommand_shows_its_help(path: tuple[str, ...], cli: Cli) -> None:
    asked = cli(*path, "--help")
    result = cli(*path)
    assert (result.exit_code, result.stdout) == (ExitCode.INVALID, "")
    assert result.stderr == asked.stdout
    assert "\nCommands:\n" in result.stderr


@pytest.mark.parametrize(
    "path", [*COMMANDS, *(path for path in GROUPS if path[0] == "bench"), ("bench", "run")]
)
def test_help_shows_no_types_of_python(path: tuple[str, ...], cli: Cli) -> None:
    shown = cli(*path, "--help").stdout
    assert not re.search(r"<(?:list|str|int|float|bool|path|file)\b", shown), shown


@_paths
def test_every_command_has_help(path: tuple[str, ...], cli: Cli) -> None:
    if path == ("bench",):
        assert COMMANDS[path].help
        return
    result = cli(*path, "--help")
    assert result.exit_code == 0
    assert COMMANDS[path].help.split("\n")[0][:40] in result.stdout


@_paths
def test_every_command_speaks_json(path: tuple[str, ...]) -> None:
    options = {option for parameter in COMMANDS[path].params for option in parameter.opts}
    is_only_a_group = path in (("keys",), ("hook",), ("database",))
    is_for_agents = path[0] == "hook" and path != ("hook", "status")  # JSON unless --text is said
    speaks = path[0] not in WITHOUT_JSON and not is_only_a_group and not is_for_agents
    assert ("--json" in options) == speaks


def test_the_page_has_the_exit_codes() -> None:
    page = PAGE.read_text()
    for code, meaning in MEANINGS.items():
        assert f"| {code.value} | {meaning} |" in page
