"""`recollect link`, `unlink`, how links change `show`, `recall` and `why`, and `--as-of`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from tests.shells.cli.commands import Cli, client_of


def test_a_memory_that_supersedes_another_is_served_in_its_place(cli: Cli) -> None:
    old = cli.json("remember", "The harbour is shallow")["id"]
    new = cli.json("remember", "Dredged in May", "--supersedes", old[:18])
    assert new["links"] == [{"kind": "supersedes", "target": old}]
    (hit,) = cli.json("recall", "harbour")["hits"]
    assert (hit["memory"]["id"], hit["stands_for"], hit["ranked_as"]) == (new["id"], [old], old)
    shown = cli("recall", "harbour").stdout
    assert "Dredged in May" in shown
    assert f"stands for {old[-4:]}, which it supersedes" in shown
    output = cli("why", old, "--query", "harbour").stdout
    assert f"it is superseded, and {new['id']} stands in its place" in output
    standing = cli("why", new["id"], "--query", "harbour").stdout
    assert f"yes, at place 1 of at most 10, standing for {old[-8:]}" in standing
    assert cli.json("unlink", new["id"], "supersedes", old[:18])["links"] == []
    assert cli.json("recall", "harbour")["hits"][0]["memory"]["id"] == old


def test_links_are_shown_with_what_they_lead_to(cli: Cli) -> None:
    trouble = cli.json("remember", "The harbour floods")["id"]
    wall = cli.json("remember", "A wall\x1b[2J was built")["id"]
    tides = cli.json("remember", "Tides")["id"]
    output = cli("link", trouble, "resolved_by", wall[:18]).stdout
    assert f"(version 2): resolved by {wall[-8:]}" in output
    cli.json("link", trouble, "see_also", tides)
    cli.json("forget", tides)
    shown = cli("recall", "floods").stdout
    assert f"resolved by {wall[-4:]}: A wall␛[2J was built" in shown
    assert f"see also {tides[-4:]} (missing)" in shown
    card = cli("show", trouble).stdout
    assert f"resolved by {wall[-8:]}\n" in card
    assert f"see also {tides[-8:]} (missing)" in card
    again = cli.json("show", trouble)
    assert [link["kind"] for link in again["links"]] == ["resolved_by", "see_also"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("link", "{a}", "mocks", "{b}"), 2, "unknown kind of link 'mocks'"),
        (("link", "{a}", "see_also", "{a}"), 2, "linked to itself"),
        (("link", "{a}", "see_also", "0193a5f0"), 3, "no memory 0193a5f0"),
        (("unlink", "{a}", "see_also", "{b}"), 3, "has no link see_also"),
        (("remember", "text", "--supersedes", "0193a5f0"), 3, "no memory 0193a5f0"),
    ],
)
def test_what_cannot_be_linked_is_refused(
    cli: Cli, arguments: tuple[str, ...], code: int, message: str
) -> None:
    ids = {name: cli.json("remember", f"memory {name}")["id"] for name in "ab"}
    found, problem = cli.error(*(argument.format(**ids) for argument in arguments))
    assert found == code
    assert message in str(problem)


def test_a_recall_as_of_a_moment_shows_the_text_of_then(cli: Cli) -> None:
    stored = cli.json("remember", "The harbour is shallow")
    cli.json("update", stored["id"], "--content", "The port is deep")
    then = ("--as-of", stored["updated_at"])
    (hit,) = cli.json("recall", "harbour", *then)["hits"]
    assert (hit["memory"]["content"], hit["memory"]["version"]) == ("The harbour is shallow", 1)
    assert "The harbour is shallow" in cli("recall", "harbour", *then).stdout
    assert cli.json("recall", "harbour")["hits"] == []
    assert cli.json("recall", "harbour", "--as-of", "1d")["hits"] == []
    assert cli.json("why", stored["id"], "--query", "harbour", *then)["recalled"]
    late = cli.json("why", stored["id"], "--query", "harbour", "--as-of", "2020-01-31")
    assert late["kept_out"][0]["kind"] == "not_known_then"
    assert cli.error("recall", "harbour", "--as-of", "soon")[0] == 2


@pytest.mark.parametrize("where", ["local", "server"])
def test_a_replaced_memory_says_by_which_one(
    where: str, cli: Cli, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if where == "server":
        cli = client_of(request.getfixturevalue("server"), tmp_path / "client")
    old = cli.json("remember", "The API runs on port 8000")["id"]
    new = cli.json("remember", "The API moved to port 9000", "--supersedes", old)
    today = datetime.fromisoformat(new["updated_at"]).astimezone().strftime("%Y-%m-%d")
    message = f"replaced by {new['id'][-8:]}"
    assert cli.json("show", old)["superseded_by"] == new["id"]
    assert cli.json("show", new["id"])["superseded_by"] is None
    assert f"{message} on {today}" in " ".join(cli("show", old).stdout.split())
    assert cli("history", old).stdout.startswith(f"{message} on {today}\n")
    listed = {memory["id"]: memory["superseded_by"] for memory in cli.json("list")["memories"]}
    assert listed == {old: new["id"], new["id"]: None}
    shown = -4 if where == "local" else -8
    assert f"replaced by {new['id'][shown:]}" in " ".join(cli("list").stdout.split())
    output = cli("why", old, "--query", "API port").stdout
    assert f"no, it was {message}" in " ".join(output.split())
    cli.json("update", new["id"], "--valid-until", "2020-01-01")
    assert cli.json("show", old)["superseded_by"] is None, "an expired memory replaces nothing"
    assert "replaced" not in cli("list").stdout
