"""How the words of a command line become the arguments of a function."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from tests.command_line import run_command

from recollect.core.errors import InvalidInput
from recollect.shells.cli.framework.commands import Argument, Group, Option
from recollect.shells.cli.framework.parser import invoke

_called: list[dict[str, Any]] = []


def copy(
    source: Annotated[Path, Argument(metavar="SOURCE", help="What to copy.")],
    targets: Annotated[list[str], Argument(metavar="TARGET...", help="Where to.")],
    *,
    times: Annotated[int, Option("--times", min=1, max=9, help="How often.")] = 1,
    pace: Annotated[float | None, Option("--pace", help="How fast.", variable="PACE")] = None,
    unit: Annotated[Literal["day", "week"], Option("--unit", help="Of the pace.")] = "day",
    tag: Annotated[list[str] | None, Option("--tag", help="Repeatable.")] = None,
    check: Annotated[bool, Option("--check/--no-check", help="Compare afterwards.")] = True,
    quiet: Annotated[bool, Option("--quiet", help="Print nothing.")] = False,
) -> None:
    """Copy one thing to many places."""
    _called.append(dict(locals()))


tool = Group("A tool.", {"copy": copy, "tags": Group("Tags of copies.", {"list": copy})})


def values(*words: str) -> dict[str, Any]:
    _called.clear()
    invoke(tool, ["copy", *words], "tool")
    return _called[0]


def test_what_is_left_out_has_its_default() -> None:
    assert values("a", "b", "c") == {
        "source": Path("a"),
        "targets": ["b", "c"],
        "times": 1,
        "pace": None,
        "unit": "day",
        "tag": None,
        "check": True,
        "quiet": False,
    }


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (("--times=3", "a", "b"), "times", 3),
        (("a", "--times", "2", "b"), "times", 2),
        (("a", "b", "--times", "2", "--times", "4"), "times", 4),
        (("a", "b", "--pace", "-2.5"), "pace", -2.5),
        (("a", "b", "--unit", "week"), "unit", "week"),
        (("a", "b", "--tag", "x", "--tag="), "tag", ["x", ""]),
        (("a", "b", "--tag", "--quiet"), "tag", ["--quiet"]),
        (("a", "b", "--no-check"), "check", False),
        (("a", "-", "--quiet"), "targets", ["-"]),
        (("a", "b", "--", "--quiet"), "targets", ["b", "--quiet"]),
    ],
)
def test_words_become_values(words: tuple[str, ...], name: str, value: object) -> None:
    assert values(*words)[name] == value


def test_a_variable_replaces_its_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PACE", "1.5")
    assert values("a", "b")["pace"] == 1.5
    assert values("a", "b", "--pace", "2")["pace"] == 2.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("copy",), "Missing argument 'SOURCE'."),
        (("copy", "a"), "Missing argument 'TARGET...'."),
        (("copy", "a", "b", "--tims", "2"), "No such option: --tims (Possible options: --times)"),
        (("copy", "a", "b", "-q"), "No such option: -q"),
        (("copy", "a", "b", "--times"), "Option '--times' requires an argument."),
        (("copy", "a", "b", "--quiet=yes"), "Option '--quiet' does not take a value."),
        (("copy", "a", "b", "--times", "x"), "Invalid value for '--times': Input should be a"),
        (("copy", "a", "b", "--times", "10"), "should be less than or equal to 9"),
        (("copy", "a", "b", "--unit", "year"), "Input should be 'day' or 'week'"),
        (("copi",), "No such command 'copi'. Did you mean 'copy'?"),
        (("tags", "x"), "No such command 'x'."),
        (("--quiet",), "No such option: --quiet"),
    ],
)
def test_errors_are_reported_before_anything_runs(words: tuple[str, ...], message: str) -> None:
    _called.clear()
    with pytest.raises(InvalidInput) as raised:
        invoke(tool, words, "tool")
    assert message in str(raised.value)
    assert "--help` for usage." in raised.value.remedy
    assert _called == []


def test_help_is_distinguished_from_a_value_and_from_what_follows_two_dashes() -> None:
    shown = run_command(["copy", "--unknown-later", "--help"], tool)
    assert shown.exit_code == 2
    shown = run_command(["copy", "-h"], tool)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Usage: recollect copy [OPTIONS] SOURCE TARGET...\n")
    assert "--times TIMES" in shown.stdout
    assert "[default: 1; 1<=x<=9]" in shown.stdout
    assert "--unit <day|week>" in shown.stdout
    assert values("a", "--", "--help")["targets"] == ["--help"]
