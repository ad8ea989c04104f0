"""What reaches a person's terminal: text as text, complete ids, no control sequences."""

from __future__ import annotations

import json
import os
import pty
import subprocess

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
