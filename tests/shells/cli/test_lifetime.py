"""Lifetimes on the command line."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.shells.cli.commands import Cli


def until(memory: dict[str, object]) -> timedelta:
    return datetime.fromisoformat(str(memory["valid_until"])) - datetime.now(UTC)


def test_expires_sets_the_end_and_an_empty_value_clears_it(cli: Cli) -> None:
    stored = cli.json("remember", "The harbour is closed", "--expires", "30d")
    assert timedelta(days=29) < until(stored) <= timedelta(days=30)
    assert stored["valid_from"] is None
    assert "valid until" in cli("show", stored["id"]).stdout
    assert "valid until" in " ".join(cli("list").stdout.split())
    cleared = cli.json("update", stored["id"], "--valid-until", "")
    assert cleared["valid_until"] is None
    later = cli.json("update", stored["id"], "--expires", "2w", "--valid-from", "2026-01-31T09:30Z")
    assert timedelta(days=13) < until(later) <= timedelta(days=14)
    assert later["valid_from"] == "2026-01-31T09:30:00Z"


def test_expired_memories_are_shown_and_not_recalled(cli: Cli) -> None:
    ended = ("--valid-from", "2020-01-01T00:00Z", "--valid-until", "2020-02-01T00:00Z")
    id = cli.json("remember", "The harbour is closed", *ended)["id"]
    assert cli.json("recall", "harbour")["hits"] == []
    assert cli.json("show", id)["id"] == id
    assert [memory["id"] for memory in cli.json("list")["memories"]] == [id]
    assert "expired" in cli("why", id, "--query", "harbour").stdout
    assert "expired already" in cli("update", id, "--valid-until", "2021-01-01").stdout
    assert "expired already" not in cli("update", id, "--valid-until", "").stdout


def test_audit_lists_what_expires_and_what_has_expired(cli: Cli) -> None:
    ids = {
        when: cli.json("remember", f"Harbour {when}", "--valid-until", when)["id"]
        for when in ("2d", "20d", "2020-01-01")
    }

    def found(*options: str) -> dict[str, str]:
        kinds = ("--kind", "expiring", "--kind", "expired")
        return {
            finding["ids"][0]: finding["kind"]
            for finding in cli.json("audit", *kinds, *options)["findings"]
        }

    soon = {ids["2d"]: "expiring", ids["2020-01-01"]: "expired"}
    assert found() == soon
    assert found("--within", "30d") == {**soon, ids["20d"]: "expiring"}
    assert cli.json("status")["stats"]["expiring"] == 1
    assert "1 within 7 days" in cli("status").stdout


@pytest.mark.parametrize(
    "options",
    [
        ("--expires", "soon"),
        ("--expires", "0d"),
        ("--expires", "-3d"),
        ("--expires", "999999w"),
        ("--expires", "3d", "--valid-until", "2030-01-01"),
        ("--valid-until", "tomorrow"),
        ("--valid-from", "2030-01-02", "--valid-until", "2030-01-01"),
    ],
)
def test_bad_lifetimes_say_what_to_write(cli: Cli, options: tuple[str, ...]) -> None:
    code, problem = cli.error("remember", "The harbour is closed", *options)
    assert code == 2
    assert problem["remedy"]


@pytest.mark.parametrize(("expires", "reason"), [("0d", "too short"), ("999999w", "too long")])
def test_a_lifetime_out_of_range_says_which_way(cli: Cli, expires: str, reason: str) -> None:
    _, problem = cli.error("remember", "The harbour is closed", "--expires", expires)
    assert problem["detail"] == f"--expires {expires} is {reason}"
    assert "30d" in problem["remedy"]


def test_export_and_import_keep_the_lifetime(cli: Cli, tmp_path: Path) -> None:
    stored = cli.json("remember", "The harbour is closed", "--expires", "30d")
    exported = cli("export").stdout
    cli = Cli(tmp_path / "another")
    cli("import", "-", input=exported)
    assert cli.json("show", stored["id"])["valid_until"] == stored["valid_until"]
    record = '{"content": "The quay is open", "valid_until": "2030-01-01T00:00:00Z"}'
    cli("import", "-", input=record)
    [quay] = [memory for memory in cli.json("list")["memories"] if "quay" in memory["content"]]
    assert quay["valid_until"] == "2030-01-01T00:00:00Z"
    assert quay["changed_by"] == "import"
