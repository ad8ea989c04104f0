"""`recollect history` and `recollect restore`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.shells.cli.commands import Cli, client_of


def test_history_shows_what_each_version_changed(cli: Cli) -> None:
    id = cli.json("remember", "The API runs on port 8000")["id"]
    cli.json("update", id, "--content", "The API runs on port 9000", "--importance", "1")
    shown = cli("history", id[:18]).stdout.splitlines()
    assert shown[0].startswith("version 2, ")
    assert shown[0].endswith(" by cli: changed text, importance")
    assert shown[1] == "  The API runs on port 9000"
    assert shown[2].startswith("version 1, ")
    assert shown[2].endswith(" by cli: stored")
    assert [each["version"] for each in cli.json("history", id)["versions"]] == [2, 1]


def test_history_names_changes_in_words(cli: Cli) -> None:
    id = cli.json("remember", "The API runs on port 8000")["id"]
    cli.json("update", id, "--expires", "3d", "--keyword", "server", "--tag", "api")
    cli("forget", id)
    cli("restore", id, "--version", "2")
    lines = cli("history", id).stdout.splitlines()[::2]
    assert [line.partition(" by cli: ")[2] for line in lines] == [
        "brought back",
        "forgotten",
        "changed tags, keywords, expiry",
        "stored",
    ]


def test_history_does_not_control_the_terminal(cli: Cli) -> None:
    id = cli.json("remember", "port \x1b[31m8000")["id"]
    assert "\x1b" not in cli("history", id).stdout


def test_restore_undoes_a_link(cli: Cli) -> None:
    old = cli.json("remember", "The harbour is shallow")["id"]
    new = cli.json("remember", "Dredged in May")["id"]
    cli.json("link", new, "supersedes", old)
    output = cli("restore", new, "--version", "1").stdout
    assert output == f"{new[-8:]}: restored version 1 as version 3\n"
    assert cli.json("recall", "harbour")["hits"][0]["memory"]["id"] == old


def test_restore_of_an_id_asks_for_the_version(cli: Cli) -> None:
    id = cli.json("remember", "The harbour is shallow")["id"]
    code, problem = cli.error("restore", id)
    assert (code, "say which version" in problem["detail"]) == (2, True)
    assert f"recollect restore {id} --version N" in problem["remedy"]
    assert "there is no backup" in cli.error("restore", "nowhere")[1]["detail"]


def test_restore_of_an_unknown_version_is_not_found(cli: Cli) -> None:
    id = cli.json("remember", "The harbour is shallow")["id"]
    code, problem = cli.error("restore", id, "--version", "7")
    assert code == 3
    assert "has no version 7" in str(problem)


@pytest.fixture(params=["local", "server"])
def either(request: pytest.FixtureRequest, cli: Cli, tmp_path: Path) -> Cli:
    """The command on a local store, and as a client of a server."""
    if request.param == "local":
        return cli
    return client_of(request.getfixturevalue("server"), tmp_path / "client")


def test_a_forgotten_memory_has_a_history_and_a_way_back(either: Cli) -> None:
    id = either.json("remember", "The harbour is shallow")["id"]
    either.json("update", id, "--importance", "1")
    back = f"restore {id[-8:]} --version 2"
    assert either("forget", id).stdout == f"forgot {id}; to bring it back: recollect {back}\n"
    assert either.error("show", id)[0] == 3
    assert [each["version"] for each in either.json("history", id[:13])["versions"]] == [3, 2, 1]
    assert "forgotten" in either("history", id).stdout.splitlines()[0]
    either(*back.split())
    shown = either.json("show", id)
    assert (shown["version"], shown["importance"], shown["deleted_at"]) == (4, 1.0, None)
    either("forget", id, "--forever", "--yes")
    assert either.error("history", id)[0] == 3
    assert either.error("restore", id, "--version", "1")[0] == 3
