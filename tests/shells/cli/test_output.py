"""What reaches a person's terminal: text as text, complete ids, no control sequences, passages of
long memories, local times.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from collections.abc import Iterator

import pytest
from tests.processes import COMMAND, environment
from tests.shells.cli.commands import Cli
from tests.waiting import SECONDS

from recollect.shells.cli.framework.output import escape_controls, one_line

ESCAPE = "\x1b"


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J\x1b]0;owned\x07", "␛[2J␛]0;owned␇"),
        ("over\rwrite", "over␍write"),
        ("\x9b31mred", "\\x9b31mred"),
        ("\u202egnirts", "\\u202egnirts"),
        ("back\x08space\x7f", "back␈space␡"),
        ("half \ud83d", "half \\ud83d"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("emoji 🎉 and العربية", "emoji 🎉 and العربية"),
    ],
)
def test_control_characters_are_shown_instead_of_sent(hostile: str, shown: str) -> None:
    assert escape_controls(hostile) == shown


def test_one_line_is_one_line() -> None:
    assert one_line("a\nb\u2028c\x0bd") == "a b\\u2028c␋d"


@pytest.mark.parametrize("command", ["recall", "list", "show"])
def test_markup_is_literal_and_escapes_are_not_obeyed(cli: Cli, command: str) -> None:
    text = "danger [red]not markup[/red] :smile: [link=x] \x1b[31mescape"
    id = cli.json("remember", text)["id"]
    result = cli(command, *{"recall": ["danger"], "list": [], "show": [id]}[command])
    unfolded = " ".join(result.stdout.split())
    assert "[red]not markup[/red] :smile: [link=x] ␛[31mescape" in unfolded
    assert ESCAPE not in result.stdout


def test_labels_are_as_harmless_as_texts(cli: Cli) -> None:
    id = cli.json("remember", "x", "--project", "p\x1b[1m", "--tag", "[b]\x1b[2m")["id"]
    for command in (("show", id), ("status",)):
        assert ESCAPE not in cli(*command).stdout
    result = cli("show", "zz\x1b[31m")
    assert result.exit_code == 2
    assert ESCAPE not in result.stderr


def test_json_keeps_every_character(cli: Cli) -> None:
    text = "\x1b[31m[red] “quoted” 🎉"
    id = cli.json("remember", text)["id"]
    assert cli.json("show", id)["content"] == text


@pytest.mark.parametrize("columns", ["20", "60", "200"])
def test_ids_are_never_cut_or_folded(cli: Cli, columns: str) -> None:
    stored = cli.json("remember", "a long text " * 40)
    narrow = Cli(cli.home, {"COLUMNS": columns})
    assert stored["id"][-4:] in narrow("list").stdout
    assert stored["id"][-4:] in narrow("recall", "long").stdout
    assert stored["id"] in narrow("show", stored["id"]).stdout


def test_scripts_get_json_in_utf8_whatever_the_locale(cli: Cli) -> None:
    stored = cli.json("remember", "Zürich 🎉")
    done = cli.process("show", stored["id"], "--json", PYTHONIOENCODING="latin-1")
    assert json.loads(done.stdout) == stored
    shown = cli.process("show", stored["id"], PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, b"")


def _on_a_terminal(cli: Cli, *arguments: str, **variables: str) -> bytes:
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        env=environment(**cli.variables, TERM="xterm", **variables),
    )
    os.close(terminal)
    written = b""
    try:
        while chunk := os.read(controller, 65_536):
            written += chunk
    except OSError:  # how a terminal reports that the other end is closed
        pass
    os.close(controller)
    assert process.wait(SECONDS) == 0
    return written


def test_colours_only_on_a_terminal_and_not_with_no_color(cli: Cli) -> None:
    cli.json("remember", "a secret", "--sensitive")
    assert b"\x1b[33m" in _on_a_terminal(cli, "list")
    assert b"\x1b[3" not in _on_a_terminal(cli, "list", NO_COLOR="1")
    assert b"\x1b" not in cli.process("list", FORCE_COLOR="1").stdout


FILLER = "The weather was fine and nothing else was said about the matter that day. "
FACT = "The ferry to Marblehead leaves at nine."
TEXT = FILLER * 600 + FACT + " " + FILLER * 600


def test_recall_shows_the_passage_of_a_long_memory(cli: Cli) -> None:
    stored = cli.json("remember", "-", input=TEXT)
    assert stored["content"] == TEXT.strip()
    (hit,) = cli.json("recall", "ferry to Marblehead")["hits"]
    passage = hit["passage"]
    assert FACT in passage["text"]
    assert stored["content"][passage["start"] : passage["end"]] == passage["text"]
    shown = cli("recall", "ferry to Marblehead").stdout
    assert "Marblehead" in shown
    assert f"of {len(stored['content']):,}" in shown
    assert len(shown) < 10_000


def test_a_short_memory_has_no_passage(cli: Cli) -> None:
    cli.json("remember", FACT)
    (hit,) = cli.json("recall", "ferry")["hits"]
    assert hit["passage"] is None


def test_a_list_shows_the_beginning_of_a_long_memory(cli: Cli) -> None:
    cli.json("remember", "-", input="A heading\n\n" + TEXT)
    cli.json("remember", FACT)
    shown = cli("list").stdout
    assert "A heading The weather" in " ".join(shown.split())
    assert "characters" in shown
    assert len(shown) < 3_000
    assert len(cli.json("list")["memories"][1]["content"]) > 80_000


def test_recall_without_a_matching_passage_shows_the_beginning(cli: Cli) -> None:
    cli.json("remember", "-", "--keyword", "zeppelin", input=TEXT)
    (hit,) = cli.json("recall", "zeppelin")["hits"]
    assert hit["passage"] is None
    shown = cli("recall", "zeppelin").stdout
    assert "The weather was fine" in " ".join(shown.split())
    assert "characters 1 to 1,500 of" in " ".join(shown.split())
    assert len(shown) < 10_000


@pytest.fixture
def in_kathmandu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Kathmandu")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("in_kathmandu")
def test_times_are_local_with_their_offset_and_json_is_in_utc(cli: Cli) -> None:
    ended = ("--valid-from", "2020-01-01T00:00Z", "--valid-until", "2020-02-01T00:00Z")
    stored = cli.json("remember", "The harbour is closed", *ended)
    assert stored["valid_until"] == "2020-02-01T00:00:00Z"
    end, id = "2020-02-01 05:45+05:45", stored["id"]
    assert f"recalled only until {end}" in cli("audit", "--kind", "expired").stdout
    assert f"it expired at {end}" in cli("why", id, "--query", "harbour").stdout
    shown = {line.split("  ")[0]: line for line in cli("show", id).stdout.splitlines()}
    assert shown["valid until"].endswith(end)
    changed = shown["changed"].split("  ")[-1].strip()
    assert changed.endswith("+05:45")
    assert f"version 1, {changed} by cli" in cli("history", id).stdout
    assert "valid until 2020-02-01 05:45" in " ".join(cli("list").stdout.split())
    assert cli.json("update", id, "--valid-until", end)["valid_until"] == stored["valid_until"]


@pytest.mark.usefixtures("in_kathmandu")
def test_doctor_shows_the_local_clock(cli: Cli) -> None:
    clock = next(check for check in cli.json("doctor")["checks"] if check["name"] == "clock")
    assert clock["detail"].endswith("+05:45")
