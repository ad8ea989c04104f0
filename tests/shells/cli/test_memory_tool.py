"""Anthropic's memory tool from the command line."""

from __future__ import annotations

import json

from tests.shells.cli.commands import Cli

VIEW = json.dumps({"command": "view", "path": "/memories"})


def test_the_models_input_comes_as_an_argument_or_on_stdin(cli: Cli) -> None:
    create = json.dumps({"command": "create", "path": "/memories/a", "file_text": "  [b]One[/b]"})
    assert cli("memory-tool", create).stdout == "File created successfully at: /memories/a\n"
    again = cli("memory-tool", input=create)
    assert (again.exit_code, again.stdout) == (0, "Error: File /memories/a already exists\n")
    view = json.dumps({"command": "view", "path": "/memories/a"})
    assert cli("memory-tool", "-", input=view).stdout.endswith("     1\t[b]One[/b]\n")
    assert cli.json("memory-tool", create) == {
        "content": "Error: File /memories/a already exists",
        "is_error": True,
    }


def test_each_project_has_its_own_directory(cli: Cli) -> None:
    create = json.dumps({"command": "create", "path": "/memories/a", "file_text": "One"})
    cli.json("memory-tool", create, "--project", "shop")
    assert "/memories/a" in cli("memory-tool", VIEW, "--project", "shop").stdout
    assert "/memories/a" not in cli("memory-tool", VIEW).stdout


def test_what_is_no_input_is_refused(cli: Cli) -> None:
    for text in ("view", "[]", '"view"', ""):
        code, error = cli.error("memory-tool", text)
        assert code == 2
        assert "JSON object" in error["detail"]
