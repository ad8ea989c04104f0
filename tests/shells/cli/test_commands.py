"""What each command does, on a real SQLite store."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from tests.shells.cli.commands import Cli

from recollect import __version__
from recollect.core.errors import InvalidInput
from recollect.core.recall.settings import RecallSettings
from recollect.shells.cli.framework.options import parse_moment

SHORT_ID = re.compile(r"\b[0-9a-f]{8}\b")


def test_what_is_remembered_is_recalled_by_a_word(cli: Cli) -> None:
    stored = cli.json("remember", "The staging database is read-only on Fridays")
    found = cli.json("recall", "staging")
    assert [hit["memory"] for hit in found["hits"]] == [stored]
    assert found["hits"][0]["explanation"] is None
    assert found["legs"] is None


def test_every_field_of_a_memory_can_be_given(cli: Cli) -> None:
    id = "01890a5d-ac96-774b-bcce-b302099a8057"
    options = "--category decision --tag a --tag b --keyword k --importance 0.9 --sensitive"
    place = f"--project shop --session s1 --id {id}"
    stored = cli.json("remember", "We ship on Mondays", *options.split(), *place.split())
    assert stored["id"] == id
    assert (stored["category"], stored["tags"]) == ("decision", ["a", "b"])
    assert (stored["expanded_keywords"], stored["importance"]) == (["k"], 0.9)
    assert (stored["is_sensitive"], stored["project"], stored["session"]) == (True, "shop", "s1")
    assert stored["version"] == 1
    assert stored["created_at"].endswith("Z")
    assert cli.json("show", id[:8]) == stored


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_a_memory_is_read_from_stdin(cli: Cli, arguments: tuple[str, ...]) -> None:
    stored = cli.json("remember", *arguments, input="Zürich is\nin Switzerland\n")
    assert stored["content"] == "Zürich is\nin Switzerland"


def test_people_read_short_ids_that_commands_accept(cli: Cli) -> None:
    output = cli("remember", "Deploy with make ship").stdout
    match = SHORT_ID.search(output)
    assert match is not None
    shown = cli("show", match[0])
    assert "Deploy with make ship" in shown.stdout
    assert str(UUID(cli.json("show", match[0])["id"])) in shown.stdout


def test_recall_explains_a_hit_as_a_sum(cli: Cli) -> None:
    cli.json("remember", "apples are red", "--importance", "1")
    found = cli.json("recall", "apples", "--explain")
    why = found["hits"][0]["explanation"]
    assert why["legs"]["lexical"]["contribution"] == pytest.approx(RecallSettings().vote)
    assert why["prior"] == pytest.approx(0.7 + 0.3 * 1)
    assert found["legs"]["dense"]["status"] == "absent"
    text = " ".join(cli("recall", "apples", "--explain").stdout.split())  # lines are wrapped
    assert "rank 1" in text
    assert f"fused {RecallSettings().vote:.2f} × prior" in text
    assert "dense absent" in text
    # The scores of the other fusions are small, and shown with more decimals.
    cli.json("settings", "set", "fusion", "rrf")
    shown = " ".join(cli("recall", "apples", "--explain").stdout.split())
    assert "fused 0.0164" in shown


def test_recall_applies_scope_limit_order_exclusion_and_weights(cli: Cli) -> None:
    first = cli.json("remember", "tea in the shop", "--project", "shop", "--tag", "drink")
    second = cli.json("remember", "tea at home", "--importance", "1", "--session", "s")

    def ids(*options: str) -> list[str]:
        return [hit["memory"]["id"] for hit in cli.json("recall", "tea", *options)["hits"]]

    assert ids("--project", "shop") == [first["id"]]
    assert ids("--session", "s") == [second["id"]]
    assert ids("--tag", "drink") == [first["id"]]
    assert ids("--category", "lesson") == []
    assert ids("--since", "1h", "--sort-by", "recency") == [second["id"], first["id"]]
    assert ids("--until", "1h") == []
    assert ids("--limit", "1", "--sort-by", "importance") == [second["id"]]
    assert ids("--exclude", second["id"]) == [first["id"]]
    refused, _ = cli.error("recall", "tea", "--weight", "lexical=0")  # no other leg is here
    assert refused == 2


def test_recall_reads_its_query_from_stdin(cli: Cli) -> None:
    stored = cli.json("remember", "the kettle is blue")
    result = cli("recall", "-", "--json", input=b"kettle \xff\xfe")
    assert stored["id"] in result.stdout


def test_no_hits_is_not_a_failure(cli: Cli) -> None:
    result = cli("recall", "unicorn")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "nothing found" in result.stderr


def test_listing_goes_page_by_page(cli: Cli) -> None:
    stored = [cli.json("remember", f"memory {number}")["id"] for number in range(3)]
    first = cli.json("list", "--limit", "2")
    rest = cli.json("list", "--limit", "2", "--after", first["next_cursor"])
    listed = [memory["id"] for page in (first, rest) for memory in page["memories"]]
    assert listed == stored[::-1]
    assert rest["next_cursor"] is None
    last = first["memories"][-1]["id"]
    assert f"for more, add --after {last[-4:]}" in cli("list", "--limit", "2").stderr


def test_update_changes_what_is_named_and_empties_what_is_empty(cli: Cli) -> None:
    options = ("--tag", "x", "--project", "shop")
    stored = cli.json("remember", "old text", *options)
    changed = cli.json("update", stored["id"], "--content", "-", "--tag", "", input="new text")
    assert (changed["content"], changed["tags"], changed["project"]) == ("new text", [], "shop")
    assert changed["version"] == 2
    cleared = cli.json("update", stored["id"], "--project", "", "--not-sensitive")
    assert cleared["project"] is None


def test_forget_hides_and_forever_erases(cli: Cli) -> None:
    first, second = (cli.json("remember", f"secret plan {number}")["id"] for number in (1, 2))
    assert cli.json("forget", first, second) == {"forgotten": [first, second], "forever": False}
    assert cli.json("recall", "plan")["hits"] == []
    assert cli.json("status")["stats"]["forgotten"] == 2
    assert cli.json("forget", first, "--forever", "--yes")["forever"] is True
    assert cli.json("status")["stats"]["forgotten"] == 1


def test_forget_stops_at_the_first_failure_and_says_what_was_forgotten(cli: Cli) -> None:
    first, second = (cli.json("remember", f"note {number}")["id"] for number in (1, 2))
    result = cli("forget", first, "01890a5d", second, "--json")
    assert result.exit_code == 3
    assert f'"{first}"' in result.stdout
    assert "01890a5d" in result.stderr
    assert cli.json("status")["stats"] == {
        "memories": 1,
        "forgotten": 1,
        "sensitive": 0,
        "by_category": {"fact": 1},
        "by_project": {},
        "by_language": {"en": 1},
        "expiring": 0,
        "embedding": None,
        "graph": None,
        "curation": None,
        "former_names": {},
    }


def test_erase_needs_yes_without_a_terminal(cli: Cli) -> None:
    id = cli.json("remember", "keep me")["id"]
    code, error = cli.error("forget", id, "--forever")
    assert code == 2
    assert "--yes" in error["remedy"]
    assert cli.json("show", id)["content"] == "keep me"


def test_status_names_the_store(cli: Cli) -> None:
    cli.json("remember", "one", "--sensitive")
    status = cli.json("status")
    assert status["store"] == "local"
    assert status["location"] == str(cli.home / "memories.db")
    assert status["version"] == __version__
    assert status["stats"]["sensitive"] == 1
    assert "fact 1" in cli("status").stdout


def test_settings_are_shown_and_changed(cli: Cli) -> None:
    assert cli.json("settings")["fusion"] == "standout"
    assert cli.json("settings", "set", "rrf_k", "10") == {"rrf_k": {"old": 60, "new": 10}}
    assert cli.json("settings")["rrf_k"] == 10
    assert re.search(r"rrf_k\s+10", cli("settings").stdout)


def test_settings_set_shows_only_what_changed(cli: Cli) -> None:
    assert cli("settings", "set", "second_stage", "off").stdout == "second_stage: late → off\n"
    assert cli("settings", "set", "second_stage", "off").stdout == "second_stage is already off\n"


def test_a_setting_that_leaves_no_leg_is_refused(cli: Cli) -> None:
    code, error = cli.error("settings", "set", "lexical_weight", "0")
    assert (code, error["field"]) == (2, "lexical_weight")
    assert cli.json("settings")["lexical_weight"] == 1.0


def test_doctor_passes_a_healthy_home(cli: Cli) -> None:
    cli.json("remember", "one")
    report = cli.json("doctor")
    assert report["healthy"] is True
    by_name = {check["name"]: check for check in report["checks"]}
    assert "holds 1 memory" in by_name["local store"]["detail"]
    assert "FTS5" in by_name["sqlite"]["detail"]
    assert "not installed yet" in by_name["embedded postgres"]["detail"]
    assert not (cli.home / "postgres").exists()


def test_doctor_creates_nothing_in_a_missing_home(cli: Cli) -> None:
    assert cli.json("doctor")["healthy"] is True
    assert not cli.home.exists()


def test_doctor_finds_damage_and_says_what_to_do(cli: Cli) -> None:
    cli.home.mkdir()
    (cli.home / "memories.db").write_bytes(b"this is no database at all" * 100)
    result = cli("doctor")
    assert result.exit_code == 1
    assert "fail" in result.stdout
    assert "→" in result.stdout


def test_doctor_warns_when_halfvec_crashes(cli: Cli) -> None:
    installation = cli.home / "postgres" / "installation"
    installation.mkdir(parents=True)
    (installation / "probe.json").write_text(
        '{"binaries": "18.1", "processor": "x", "postgres": "18.1", "pgvector": "0.8.5",'
        ' "available": false, "reason": "signal 4"}'
    )
    report = cli.json("doctor")
    (check,) = (check for check in report["checks"] if check["name"] == "embedded postgres")
    assert (report["healthy"], check["status"]) == (True, "warn")
    assert "signal 4" in check["detail"]
    assert "RECOLLECT_DATABASE_URL" in check["remedy"]


def test_doctor_names_a_home_that_cannot_be_one(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = Cli(tmp_path / "file" / "home")("doctor", "--json")
    assert result.exit_code == 1
    assert "RECOLLECT_HOME" in result.stdout


def test_doctor_says_when_the_server_is_gone(cli: Cli) -> None:
    away = {
        "RECOLLECT_API_URL": "http://127.0.0.1:9",
        "RECOLLECT_API_KEY": "rk_x",
        "RECOLLECT_SYNC": "off",
    }
    result = Cli(cli.home, away)("doctor", "--json")
    assert result.exit_code == 1
    assert "recollect serve" in result.stdout


NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", NOW - timedelta(minutes=30)),
        ("12h", NOW - timedelta(hours=12)),
        ("7d", NOW - timedelta(days=7)),
        ("2w", NOW - timedelta(weeks=2)),
        ("2026-01-30T09:00:00+02:00", datetime(2026, 1, 30, 7, tzinfo=UTC)),
        ("2026-01-30", datetime(2026, 1, 30).astimezone(UTC)),  # local midnight
    ],
)
def test_times_are_written_as_dates_or_ages(text: str, expected: datetime) -> None:
    assert parse_moment(text, "since", NOW) == expected


@pytest.mark.parametrize("text", ["yesterday", "7y", "2026-13-01", "999999w", ""])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_moment(text, "since", NOW)
    assert "--since" in refused.value.remedy
