"""The pages name every command and no unknown option, and `--help` explains every option."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.shells.cli.commands import Cli

from recollect.shells.cli.app import ROOT
from recollect.shells.cli.framework.commands import Command, Group
from recollect.shells.cli.framework.exit import MEANINGS, ExitCode
from recollect_bench.cli.app import app as bench_app

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "cli.md"
PAGES = (PAGE, DOCS / "cli-admin.md", DOCS / "cli-bench.md")
# `mcp` prints the protocol; what follows `bench` belongs to the benchmark.
WITHOUT_JSON = {"mcp", "bench"}


def _commands(group: Group, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Command]:
    found: dict[tuple[str, ...], Command] = {}
    for name in group.names():
        command = found[*path, name] = group.find(name)
        if isinstance(command, Group):
            found |= _commands(command, (*path, name))
    return found


COMMANDS = _commands(ROOT)
BENCH_COMMANDS = {("bench",): bench_app, **_commands(bench_app, ("bench",))}
_paths = pytest.mark.parametrize("path", COMMANDS, ids=" ".join)


def _options(command: Command) -> set[str]:
    return {name for parameter in command.parameters for name in parameter.names} | {"--help"}


@pytest.mark.parametrize("path", COMMANDS | BENCH_COMMANDS, ids=" ".join)
def test_a_page_names_every_command(path: tuple[str, ...]) -> None:
    command = re.compile(rf"`recollect {' '.join(path)}\b")
    assert any(command.search(page.read_text()) for page in PAGES), path


@pytest.mark.parametrize("path", COMMANDS | BENCH_COMMANDS, ids=" ".join)
def test_help_explains_every_option(path: tuple[str, ...]) -> None:
    for parameter in (COMMANDS | BENCH_COMMANDS)[path].parameters:
        assert parameter.declared.help, parameter.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_name_only_options_that_exist(page: Path) -> None:
    """An option belongs to some command; after a command, it belongs to that command."""
    commands = COMMANDS | BENCH_COMMANDS
    known = {option for command in commands.values() for option in _options(command)}
    known.add("--version")
    text = page.read_text()
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text)) <= known
    for words in re.findall(r"`recollect ([^`]+)`", text):
        path = tuple(words.split())
        while path and path not in commands:
            path = path[:-1]
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", words))
        assert not path or named <= _options(commands[path]), words


def _groups() -> dict[tuple[str, ...], Group]:
    everything = COMMANDS | BENCH_COMMANDS
    return {path: group for path, group in everything.items() if isinstance(group, Group)}


GROUPS = _groups()


def test_every_group_is_known() -> None:
    names = {" ".join(path) for path in GROUPS}
    assert {"hook", "keys", "settings", "bench", "bench convert"} <= names


@pytest.mark.parametrize(
    "path", [path for path, group in GROUPS.items() if group.run is None], ids=" ".join
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
    is_only_a_group = path in (("keys",), ("hook",), ("database",))
    is_for_agents = path[0] == "hook" and path != ("hook", "status")  # JSON unless --text is given
    speaks = path[0] not in WITHOUT_JSON and not is_only_a_group and not is_for_agents
    assert ("--json" in _options(COMMANDS[path])) == speaks


def test_the_page_has_the_exit_codes() -> None:
    page = PAGE.read_text()
    for code, meaning in MEANINGS.items():
        assert f"| {code.value} | {meaning} |" in page
