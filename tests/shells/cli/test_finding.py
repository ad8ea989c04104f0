"""`recollect why`, sensitive queries and the settings log, on a real SQLite store."""

from __future__ import annotations

import re

import pytest
from tests.shells.cli.commands import Cli

from recollect.core.recall.settings import RecallSettings


def test_why_says_what_kept_a_memory_out_and_what_would_bring_it_in(cli: Cli) -> None:
    stored = cli.json("remember", "Lunch is at [bold]noon\x1b[2J", "--project", "kitchen")
    options = ("--query", "lunch", "--project", "garden")
    report = cli.json("why", stored["id"][:18], *options)
    assert (report["recalled"], report["place"]) == (False, 1)
    assert [reason["kind"] for reason in report["kept_out"][:1]] == ["out_of_scope"]
    shown = cli("why", stored["id"], *options).stdout
    assert "project is kitchen; the scope requires garden" in shown
    assert "→ Ask for project kitchen, or for no project." in shown
    assert re.search(r"lexical\s+1\s+1 ", shown)
    assert "[bold]noon" in shown
    assert "\x1b" not in shown


def test_why_of_a_hit_shows_its_score_as_a_product(cli: Cli) -> None:
    stored = cli.json("remember", "Lunch is at noon", "--importance", "1")
    shown = cli("why", stored["id"], "--query", "lunch").stdout
    assert "yes, at place 1 of at most 10" in shown
    alone = f"{RecallSettings().vote:.2f}"
    assert f"fused {alone} × prior 1.000 = {alone}" in shown


def test_why_reads_a_long_query_from_stdin(cli: Cli) -> None:
    stored = cli.json("remember", "Lunch is at noon")
    assert cli.json("why", stored["id"], "--query", "-", input="lunch?\n")["recalled"]


def test_recall_and_why_say_that_an_update_is_shown_first(cli: Cli) -> None:
    old = cli.json("remember", "The car park API runs on port 8000.")["id"]
    new = cli.json("remember", "The API moved to port 9000, says the car park.")["id"]
    query = "car park API runs on port"
    reason = f"hown before {old[-8:]}, which it updates: 8000 became 9000"
    assert reason.replace(old[-8:], old[-4:]) in " ".join(cli("recall", query).stdout.split())
    output = " ".join(cli("why", new, "--query", query).stdout.split())
    assert f"It is s{reason}." in output
    lost = " ".join(cli("why", old, "--query", query).stdout.split())
    assert f"{new[-8:]}, which updates it, is shown first: 8000 became 9000." in lost


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("why", "0193a5f0", "--query", "q"), 3),
        (("why", "0193a5f0"), 2),
        (("why", "0193a5f0", "--query", "q", "--sort-by", "luck"), 2),
        (("settings", "log", "--limit", "0"), 2),
    ],
)
def test_what_cannot_be_answered_is_refused(
    cli: Cli, arguments: tuple[str, ...], code: int
) -> None:
    assert cli.error(*arguments)[0] == code


def test_a_sensitive_query_is_answered_from_the_local_store(cli: Cli) -> None:
    stored = cli.json("remember", "The safe is behind the painting")
    found = cli.json("recall", "safe", "--sensitive")
    assert [hit["memory"] for hit in found["hits"]] == [stored]


def test_the_settings_log_names_who_and_what(cli: Cli) -> None:
    assert cli.json("settings", "log") == {"changes": []}
    assert cli("settings", "log").stderr == "no setting has been changed yet\n"
    cli.json("settings", "set", "dense_weight", "0.5")
    cli.json("settings", "set", "second_stage", "cross-encoder")
    changes = cli.json("settings", "log", "--limit", "1")["changes"]
    assert [(change["name"], change["old"], change["new"], change["by"]) for change in changes] == [
        ("second_stage", None, "cross-encoder", "me")
    ]
    shown = cli("settings", "log").stdout
    assert re.search(r"me\s+second_stage\s+late → cross-encoder", shown)
    assert re.search(rf"me\s+dense_weight\s+{RecallSettings().dense_weight} → 0.5", shown)
    assert re.search(r"second_stage\s+cross-encoder", cli("settings").stdout)


def test_the_settings_log_shows_changes_as_they_were_shown_when_made(cli: Cli) -> None:
    for value in ("10", "20"):
        name, change = cli("settings", "set", "rrf_k", value).stdout.strip().split(": ")
        assert re.search(rf"me\s+{name}\s+{change}\n", cli("settings", "log").stdout)


def test_recall_reports_a_missing_rerank(cli: Cli) -> None:
    cli.json("remember", "Lunch is at noon")
    cli.json("settings", "set", "second_stage", "cross-encoder")
    result = cli("recall", "lunch")
    assert "the hits were not reranked: no reranking model is configured" in result.stderr
    assert "recollect settings set second_stage late" in result.stderr
    assert "cross-encoder absent" in cli("recall", "lunch", "--explain").stdout
    assert cli.json("recall", "lunch")["rerank"]["status"] == "absent"
