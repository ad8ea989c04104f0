"""One table of exit codes, used by every error and shown in the help."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.shells.cli.commands import Cli

from recollect.core import errors
from recollect.core.errors import InvalidInput, RecollectError
from recollect.shells.cli.framework.exit import MEANINGS, ExitCode, exit_code
from recollect.shells.cli.framework.shell import guarded

CODES = {
    errors.InvalidInput: 2,
    errors.AmbiguousId: 2,
    errors.NotFound: 3,
    errors.NotAllowed: 4,
    errors.Forbidden: 4,
    errors.Conflict: 5,
    errors.ModelUnavailable: 6,
    errors.ModelBusy: 6,
    errors.ModelSlow: 6,
    errors.StoreError: 6,
    errors.StoreUnavailable: 6,
    errors.StoreBusy: 6,
    errors.StoreReadOnly: 6,
    errors.StoreFull: 6,
    errors.Overloaded: 6,
    errors.RateLimited: 6,
}


def _all_errors(kind: type[RecollectError] = RecollectError) -> set[type[RecollectError]]:
    found = {error for error in kind.__subclasses__() if error.__module__ == errors.__name__}
    return found.union(*(_all_errors(error) for error in found))


def test_the_table_names_every_error() -> None:
    assert set(CODES) == _all_errors()


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
def test_each_error_has_its_exit_code(kind: type[RecollectError]) -> None:
    error = (
        kind("what", field="f", remedy="do")
        if issubclass(kind, InvalidInput)
        else kind("what", remedy="do")
    )
    assert exit_code(error) == CODES[kind]


def test_help_shows_every_exit_code(cli: Cli) -> None:
    text = cli("--help").stdout
    for code in ExitCode:
        assert f"{code:>3}  {MEANINGS[code]}" in text


def test_an_error_is_two_lines_for_a_person(cli: Cli) -> None:
    result = cli("remember", "x", "--importance", "7")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == (
        "importance 7.0 is outside 0..1\n→ Pass a number from 0 (trivial) to 1 (vital).\n"
    )


def test_unknown_reranker_is_reported_by_its_variable(cli: Cli) -> None:
    code, error = replace(cli, settings={"RECOLLECT_RERANKER": "bge"}).error("recall", "x")
    assert (code, error["field"]) == (2, "RECOLLECT_RERANKER")
    assert error["detail"] == "RECOLLECT_RERANKER cannot be 'bge'"
    assert "folder:/path" in error["remedy"]


def test_an_error_is_the_problem_of_the_rest_api_for_a_script(cli: Cli) -> None:
    code, error = cli.error("remember", "x", "--importance", "7")
    assert code == 2
    assert error["type"] == "urn:recollect:problem:invalid-input"
    assert error["detail"] == "importance 7.0 is outside 0..1"
    assert error["field"] == "importance"


@pytest.mark.parametrize(
    "arguments",
    [
        ("rememberr", "x"),
        ("recall",),
        ("recall", "x", "--limit", "many"),
        ("recall", "x", "--nonsense"),
        ("recall", "x", "--limit", "0"),
        ("recall", "x", "--sort-by", "luck"),
        ("recall", "x", "--weight", "lexical"),
        ("recall", "x", "--weight", "luck=1"),
        ("recall", "x", "--weight", "lexical=6"),
        ("recall", "x", "--exclude", "0189"),
        ("recall", "x", "--since", "yesterday"),
        ("list", "--after", "nonsense"),
        ("list", "--limit", "501"),
        ("update", "01890a5d"),
        ("settings", "set", "fusion", "luck"),
        ("settings", "set", "luck", "1"),
        ("remember", "x", "--id", "7"),
        ("remember", "x", "--category", "episode"),
    ],
)
def test_bad_usage_and_invalid_input_are_2_and_say_what_to_do(
    cli: Cli, arguments: tuple[str, ...]
) -> None:
    code, error = cli.error(*arguments)
    assert code == 2
    assert error["detail"]
    assert error["remedy"]


def test_unexpected_error_exits_1_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise KeyError("surprise")

    assert guarded(fails, as_json=False) == 1
    output = capsys.readouterr().err
    assert "KeyError" in output
    assert "Traceback" not in output
    assert "RECOLLECT_DEBUG=1" in output


def test_debug_shows_where(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise KeyError("surprise")

    monkeypatch.setenv("RECOLLECT_DEBUG", "1")
    assert guarded(fails, as_json=True) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_conflict_is_5(cli: Cli) -> None:
    id = cli.json("remember", "x")["id"]
    cli.json("update", id, "--content", "y")
    code, error = cli.error("update", id, "--content", "z", "--based-on", "1")
    assert code == 5
    assert "version 2 is current" in error["detail"]


@pytest.mark.parametrize(
    "command",
    [("graph", "build"), ("reembed", "--status"), ("worker", "--once")],
)
def test_a_command_for_the_servers_database_does_not_use_the_one_of_this_home(
    cli: Cli, command: tuple[str, ...]
) -> None:
    away = Cli(
        cli.home,
        {
            "RECOLLECT_API_URL": "http://127.0.0.1:9",
            "RECOLLECT_API_KEY": "rk_x",
            "RECOLLECT_SYNC": "off",
        },
    )
    code, error = away.error(*command)
    assert code == 2
    assert "on the server's machine" in error["remedy"]
    assert not cli.home.exists()


def test_keys_without_a_command_prints_its_help(cli: Cli) -> None:
    result = cli("keys")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "\n  revoke " in result.stderr
    assert "→" not in result.stderr


def test_a_server_without_a_key_is_2(cli: Cli) -> None:
    away = Cli(cli.home, {"RECOLLECT_API_URL": "http://127.0.0.1:9"})
    code, error = away.error("status")
    assert code == 2
    assert "RECOLLECT_API_KEY" in error["remedy"]


@pytest.mark.parametrize(
    ("command", "field", "remedy"),
    [
        (("remember", "x", "--importance", "high"), "importance", "0 (trivial)"),
        (("recall", "x", "--limit", "ten"), "limit", "a whole number"),
        (("list", "--limit", "ten"), "limit", "a whole number"),
        (("update", "0193a5f0", "--based-on", "x"), "based_on", "a whole number"),
    ],
)
def test_wrong_type_is_reported_in_our_own_words(
    cli: Cli, command: tuple[str, ...], field: str, remedy: str
) -> None:
    code, error = cli.error(*command)
    assert (code, error["field"]) == (2, field)
    assert remedy in error["remedy"]
    assert "Input should" not in error["detail"]
