"""`recollect history` and `recollect restore`."""

from __future__ import annotations

from tests.shells.cli.commands import Cli


def test_history_shows_what_each_version_changed(cli: Cli) -> None:
    id = cli.json("remember", "The API runs on port 8000")["id"]
    cli.json("update", id, "--content", "The API runs on port 9000", "--importance", "1")
    shown = cli("history", id[:18]).stdout.splitlines()
    assert shown[0].startswith("version 2, ")
    assert shown[0].endswith(" UTC by cli: changed content, importance")
    assert shown[1] == "  The API runs on port 9000"
    assert shown[2].startswith("version 1, ")
    assert shown[2].endswith(" UTC by cli: stored")
    assert [each["version"] for each in cli.json("history", id)["versions"]] == [2, 1]


def test_restore_undoes_a_link(cli: Cli) -> None:
    old = cli.json("remember", "The harbour is shallow")["id"]
    new = cli.json("remember", "Dredged in May")["id"]
    cli.json("link", new, "supersedes", old)
    said = cli("restore", new, "--version", "1").stdout
    assert said == f"{new[:13]}: restored version 1 as version 3\n"
    assert cli.json("recall", "harbour")["hits"][0]["memory"]["id"] == old


def test_restore_of_an_unknown_version_is_not_found(cli: Cli) -> None:
    id = cli.json("remember", "The harbour is shallow")["id"]
    code, problem = cli.error("restore", id, "--version", "7")
    assert code == 3
    assert "has no version 7" in str(problem)
