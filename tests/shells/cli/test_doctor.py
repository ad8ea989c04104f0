"""`recollect doctor` on healthy homes, and on homes where everything is broken."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.serving import Running, running
from tests.shells.cli.commands import Cli, client_of

from recollect.core.admin.checks import Check
from recollect.shells.doctor import health

MICROSECONDS = 1_000_000


def checks(cli: Cli, *options: str) -> dict[str, Any]:
    result = cli("doctor", *options, "--json")
    assert result.exit_code in (0, 1), result.stderr
    return {check["name"]: check for check in json.loads(result.stdout)["checks"]}


@pytest.fixture(autouse=True)
def _own_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))


def test_a_home_in_use(cli: Cli) -> None:
    cli.json("remember", "the harbour opens at six")
    found = checks(cli)
    for name in ("room", "permissions", "clock"):
        assert found[name]["status"] == "ok", found[name]
    assert "budget is 300 ms" in found["speed"]["detail"]
    (cli.home / "memories.db").chmod(0o644)
    check = checks(cli)["permissions"]
    assert check["status"] == "warn"
    assert "chmod go-rwx" in check["remedy"]


def test_a_memory_from_the_future_means_a_wrong_clock(cli: Cli) -> None:
    cli.json("remember", "the harbour opens at six")
    with closing(sqlite3.connect(cli.home / "memories.db")) as file, file:
        file.execute("UPDATE memories SET updated_at = updated_at + ?", (3600 * MICROSECONDS,))
    assert checks(cli)["clock"]["status"] == "warn"


@pytest.mark.parametrize(
    "command", [("remember", "x"), ("keys", "create", "--start"), ("worker", "--once")]
)
def test_a_home_that_cannot_be_created(command: tuple[str, ...]) -> None:
    """Even root can create no folder in /proc, although its permissions allow it."""
    nowhere = Cli(Path("/proc/below"))
    code, error = nowhere.error(*command)
    assert code == 6
    assert "/proc/below" in error["detail"]
    assert "RECOLLECT_HOME" in error["remedy"]
    assert checks(nowhere)["home"]["status"] == "fail"


def test_settings_that_cannot_be_read(cli: Cli) -> None:
    broken = Cli(cli.home, {"RECOLLECT_PORT": "a harbour"})
    found = checks(broken)
    assert list(found) == ["settings"]
    assert "RECOLLECT_PORT" in found["settings"]["remedy"]
    assert broken("doctor").exit_code == 1


def test_everything_broken_at_once(cli: Cli, tmp_path: Path) -> None:
    cli.home.mkdir()
    (cli.home / "memories.db").write_bytes(b"no database" * 1000)
    agent = tmp_path / "person" / ".claude"
    agent.mkdir(parents=True)
    (agent / "settings.json").write_text("{broken")
    away = {"RECOLLECT_API_URL": "http://127.0.0.1:9", "RECOLLECT_EMBEDDER": "no such model"}
    found = checks(Cli(cli.home, away))
    for name in ("local store", "key", "server", "sync", "embedder", "speed"):
        assert found[name]["status"] == "fail", found[name]
    assert found["clock"]["status"] == "ok"  # the store is at fault, and says so itself
    assert found["agent claude-code"]["status"] == "warn"
    assert "Fix the file" in found["agent claude-code"]["remedy"]
    assert all(check["remedy"] for check in found.values() if check["status"] != "ok")
    assert found["python"]["status"] == "ok"


def test_an_agent_with_recollect_installed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "person" / ".claude").mkdir(parents=True)
    assert "recollect install" in checks(cli)["agent claude-code"]["detail"]


def test_hooks_that_run_twice(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cli("install", "claude-code", "--scope", "project", "--no-model")
    settings = (tmp_path / ".claude" / "settings.json").read_text()
    cli("install", "claude-code", "--scope", "project", "--uninstall")
    cli("install", "claude-code", "--no-model")
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(settings)
    found = checks(cli)["agent claude-code"]
    assert found["status"] == "warn"
    assert "every hook runs twice" in found["detail"]
    assert "--uninstall" in found["remedy"]


def test_sync_with_a_server_and_with_none(tmp_path: Path, database_url: str) -> None:
    with running(database_url, tmp_path / "server") as server:
        named = {"RECOLLECT_API_URL": server.url, "RECOLLECT_API_KEY": server.new_key()}
        cli = Cli(tmp_path / "home", named)
        cli.json("remember", "the harbour opens at six")
        cli.json("sync")
        found = checks(cli)
        assert (found["sync"]["status"], found["key"]["status"]) == ("ok", "ok")
        assert "0 writes waiting" in found["sync"]["detail"]


def test_doctor_warns_of_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    plenty = 10**18
    room = health.check_room(tmp_path / "not" / "there", warn_below=plenty, fail_below=0)
    assert room.status == "warn"
    assert health.check_room(tmp_path, warn_below=plenty, fail_below=plenty).status == "fail"
    assert health.check_room(tmp_path, warn_below=0, fail_below=0).status == "ok"


def test_a_check_that_raises_is_a_finding() -> None:
    found = health.report_failure("speed", ZeroDivisionError())
    assert isinstance(found, Check)
    assert (found.status, "ZeroDivisionError" in found.detail) == ("fail", True)


def test_the_server_check_shows_what_waits_for_the_graph(cli: Cli, server: Running) -> None:
    there = client_of(server, cli.home)
    there.json("remember", "Ada works at the harbour.")
    assert "; 1 waiting to be read for the graph" in checks(there)["server"]["detail"]
