"""`recollect review`, `proposals` and `undo`, on what the worker proposed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.chat_loopback import ChatLoopback
from tests.shells.cli.commands import Cli

OLD = "The API runs on port 8000"
NEW = "The API moved to port 9000"


@pytest.fixture
def curated(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return the command on a store with one proposal."""
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    monkeypatch.setenv("RECOLLECT_CURATION", "propose")
    cli("remember", OLD)
    cli("remember", NEW)
    done = work(cli)
    assert (done["proposed"], done["applied"]) == (1, 0)
    return cli


def work(cli: Cli) -> Any:
    done = cli("worker", "--once", "--local", "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def recall_contents(cli: Cli) -> set[str]:
    return {hit["memory"]["content"] for hit in cli.json("recall", "API port")["hits"]}


def test_proposals_are_listed_with_their_quotes(curated: Cli) -> None:
    (found,) = curated.json("proposals")["proposals"]
    assert (found["kind"], found["newer_quote"], found["older_quote"]) == ("supersedes", NEW, OLD)
    shown = curated("proposals").stdout
    assert NEW in shown
    assert found["reason"] in shown
    assert "1 to decide" in curated("status").stdout


def test_one_kind_of_work_that_fails_does_not_block_the_others(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_CURATION", "propose")
    cli("remember", OLD)
    cli("remember", NEW)
    done = cli("worker", "--once", "--local")
    assert done.exit_code == 6
    assert done.stdout == "embedded 0 memories, read 2 for the graph, proposed 1 change\n"
    assert "is not on this machine\n→ Run `recollect models get minilm`" in done.stderr
    assert len(cli.json("proposals")["proposals"]) == 1


def test_curation_needs_neither_a_model_nor_the_graph(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    monkeypatch.setenv("RECOLLECT_GRAPH", "off")
    monkeypatch.setenv("RECOLLECT_CURATION", "apply")
    cli("remember", OLD)
    cli("remember", f"{OLD}!")
    done = cli("worker", "--once", "--local")
    assert done.stdout == (
        "embedded 0 memories, read 0 for the graph, proposed 1 change, applied 1\n"
    )


def test_a_configured_model_decides_what_the_rules_do_not(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = "The spare key of the beach house is under the blue flower pot."
    new = "The spare key of the beach house is in the shoe rack."
    answer = {"verdict": "supersedes", "newer_quote": "shoe rack", "older_quote": "flower pot"}
    monkeypatch.setenv("RECOLLECT_EMBEDDER", "none")
    monkeypatch.setenv("RECOLLECT_CURATION", "propose")
    with ChatLoopback(lambda _: json.dumps(answer)) as chat:
        monkeypatch.setenv("RECOLLECT_LLM_URL", chat.url)
        monkeypatch.setenv("RECOLLECT_LLM_MODEL", "small")
        cli("remember", old)
        cli("remember", new)
        assert work(cli)["proposed"] == 0
        assert chat.requests == []  # it may be there for other work
        monkeypatch.setenv("RECOLLECT_CURATION_CALLS", "200")
        cli("update", cli.json("list")["memories"][0]["id"], "--content", new + " Really.")
        assert work(cli)["proposed"] == 1
        assert chat.requests[0]["model"] == "small"
        (found,) = cli.json("proposals")["proposals"]
        assert (found["decided_by"], found["newer_quote"]) == ("small", "shoe rack")
        monkeypatch.setenv("RECOLLECT_CURATION_CALLS", "1")
        cli("remember", "The spare key of the beach house is in the garage drawer.")
        assert work(cli)["proposed"] == 0
        assert len(chat.requests) == 1


def test_review_accepts_and_undo_reverts(curated: Cli) -> None:
    output = curated("review", input="?\na\n").stdout
    assert "accepted: " in output
    assert recall_contents(curated) == {NEW}
    assert curated.json("proposals")["proposals"] == []
    assert curated("undo").stdout.startswith("undone: ")
    assert recall_contents(curated) == {OLD, NEW}
    code, problem = curated.error("undo")
    assert (code, "nothing to undo" in str(problem)) == (3, True)


@pytest.mark.parametrize(("key", "left"), [("r", []), ("l", ["later"]), ("q", ["open"])])
def test_review_rejects_puts_off_and_quits(curated: Cli, key: str, left: list[str]) -> None:
    curated("review", input=f"{key}\n")
    assert [each["state"] for each in curated.json("proposals")["proposals"]] == left
    assert recall_contents(curated) == {OLD, NEW}


def test_review_can_keep_the_older(curated: Cli) -> None:
    curated("review", input="o\n")
    assert recall_contents(curated) == {OLD}


def test_accept_all_of_a_kind(curated: Cli) -> None:
    assert curated("review", "--accept-all", "duplicate_of").stdout == ""
    assert "accepted: " in curated("review", "--accept-all", "supersedes").stdout
    assert recall_contents(curated) == {NEW}
    code, problem = curated.error("review", "--accept-all", "nonsense")
    assert (code, "duplicate_of" in str(problem)) == (2, True)


def test_apply_reports_what_it_did(curated: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CURATION", "apply")
    curated("remember", "the api moved to port 9000!")
    assert work(curated)["applied"] == 1
    assert "1 applied" in curated("status").stdout
    assert curated.json("status")["stats"]["curation"]["applied"] == 1


def test_nothing_is_examined_once_it_is_switched_off(
    curated: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_CURATION", "off")
    curated("remember", "the API moved to port 9100")
    assert work(curated)["proposed"] == 0
    assert len(curated.json("proposals")["proposals"]) == 1


@pytest.mark.parametrize("command", [("proposals",), ("review",)])
@pytest.mark.parametrize(
    ("mode", "message"), [("off", "curation is off"), ("propose", "`recollect worker --local`")]
)
def test_a_store_without_proposals_says_how_they_are_made(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, mode: str, message: str, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("RECOLLECT_CURATION", mode)
    assert message in " ".join(cli(*command).stderr.split())
