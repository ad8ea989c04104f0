"""The plugin's files are as the client documents them, and refer only to what exists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import ValidationError  # type: ignore[import-untyped]  # it carries no types
from tests.adapters.agents import plugin_schemas
from tests.shells.mcp.schemas import fits, is_sound

from recollect import __version__
from recollect.adapters.agents.command import Command
from recollect.adapters.agents.json_entries import with_hooks
from recollect.shells.cli import app
from recollect.shells.cli.framework.commands import Group
from recollect.shells.mcp.tools import BY_NAME

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "plugin"
FILES = {
    ".claude-plugin/marketplace.json": plugin_schemas.MARKETPLACE,
    "plugin/.claude-plugin/plugin.json": plugin_schemas.MANIFEST,
    "plugin/hooks/hooks.json": plugin_schemas.HOOKS,
    "plugin/.mcp.json": plugin_schemas.SERVERS,
}
COMMANDS = sorted((PLUGIN / "commands").glob("*.md"))
SKILLS = sorted((PLUGIN / "skills").glob("*/SKILL.md"))


def document(name: str) -> Any:
    return json.loads((ROOT / name).read_text())


def front_matter(path: Path) -> tuple[dict[str, str], str]:
    """Return the `name: text` lines between the two rules, and what follows them."""
    found = re.fullmatch(r"---\n(.*?)\n---\n\n(.+)", path.read_text(), re.DOTALL)
    assert found is not None, f"{path} has no front matter"
    fields = dict(line.split(": ", 1) for line in found[1].splitlines())
    return {name: text.strip('"') for name, text in fields.items()}, found[2]


@pytest.mark.parametrize("name", FILES)
def test_each_file_fits_its_schema(name: str) -> None:
    is_sound(FILES[name])
    fits(document(name), FILES[name])


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        (".claude-plugin/marketplace.json", ("plugins", 0, "source"), "../plugin"),
        (".claude-plugin/marketplace.json", ("name",), "claude-plugins-official"),
        ("plugin/.claude-plugin/plugin.json", ("name",), "Recollect Plugin"),
        ("plugin/.claude-plugin/plugin.json", ("autor",), {"name": "x"}),
        ("plugin/hooks/hooks.json", ("hooks", "UserPromptSubmitted"), []),
        ("plugin/hooks/hooks.json", ("hooks", "Stop", 0, "hooks", 0, "timeout"), "60"),
        ("plugin/hooks/hooks.json", ("hooks", "Stop", 0, "matcher"), "*"),
        ("plugin/.mcp.json", ("mcpServers", "recollect", "args"), "mcp"),
    ],
)
def test_a_slip_does_not_fit(name: str, path: tuple[Any, ...], value: object) -> None:
    slip = document(name)
    place = slip
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(ValidationError):
        fits(slip, FILES[name])


def test_the_marketplace_leads_to_the_plugin_of_this_version() -> None:
    (entry,) = document(".claude-plugin/marketplace.json")["plugins"]
    folder = ROOT / entry["source"]
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text())
    assert manifest["name"] == entry["name"]
    assert manifest["version"] == __version__
    assert {path.name for path in folder.iterdir()} == {
        ".claude-plugin",
        ".mcp.json",
        "commands",
        "hooks",
        "skills",
    }


def test_the_hooks_are_those_that_install_writes() -> None:
    written = json.loads(with_hooks("", Command("recollect")))
    assert document("plugin/hooks/hooks.json")["hooks"] == written["hooks"]


def test_every_command_line_is_one_that_there_is() -> None:
    lines = re.findall(r'"command": "(recollect[^"]*)"', (PLUGIN / "hooks/hooks.json").read_text())
    server = document("plugin/.mcp.json")["mcpServers"]["recollect"]
    lines.append(" ".join([server["command"], *server["args"]]))
    assert len(lines) == 5
    for line in lines:
        command: Any = app.ROOT
        for word in line.removesuffix(" || true").split()[1:]:
            assert isinstance(command, Group), line
            assert word in command.names(), line
            command = command.find(word)


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_commands_say_what_they_do_with_tools_that_there_are(path: Path) -> None:
    fields, text = front_matter(path)
    fits(fields, plugin_schemas.COMMAND)
    assert "$ARGUMENTS" in text
    prefix = "mcp__plugin_recollect_recollect__"
    allowed = {tool.removeprefix(prefix) for tool in fields["allowed-tools"].split(", ")}
    assert allowed <= set(BY_NAME)
    assert set(re.findall(r"`(memory_\w+)`", text)) == allowed


def test_the_three_commands_are_there() -> None:
    assert [path.stem for path in COMMANDS] == ["forget", "recall", "remember"]


@pytest.mark.parametrize("path", SKILLS, ids=lambda path: path.parent.name)
def test_a_skill_fits_and_is_named_as_its_folder(path: Path) -> None:
    fields, text = front_matter(path)
    fits(fields, plugin_schemas.SKILL)
    assert fields["name"] == path.parent.name
    assert set(re.findall(r"`(memory_\w+)`", text)) <= set(BY_NAME)
    assert "One fact" in text
    assert "Self-contained" in text
