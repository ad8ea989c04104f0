"""`recollect install`: what it prints, and what it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.shells.cli.commands import Cli

from recollect.adapters.agents.clients import CLIENTS
from recollect.adapters.models.embedders.local_models import MINILM


@pytest.fixture
def at_home(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command with a home and a folder of its own, whatever the machine has."""
    home = tmp_path / "person"
    (home / "app").mkdir(parents=True)
    monkeypatch.chdir(home / "app")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return Cli(cli.home, {"HOME": str(home), "RECOLLECT_EMBEDDER": "none"})


def test_without_a_client_they_are_listed(at_home: Cli) -> None:
    listed = at_home.json("install")["clients"]
    assert [row["client"] for row in listed] == list(CLIENTS)
    assert {row["status"] for row in listed} == {"absent"}
    result = at_home("install")
    assert all(name in result.stdout for name in CLIENTS)
    projects = at_home.json("install", "--scope", "project")["clients"]
    assert "claude-desktop" not in [row["client"] for row in projects]


@pytest.mark.parametrize("name", CLIENTS)
def test_install_and_uninstall(name: str, at_home: Cli) -> None:
    shown = at_home.json("install", name, "--print")["files"]
    assert not any(Path(file["path"]).exists() for file in shown)
    done = at_home.json("install", name)["files"]
    assert [Path(file["path"]).read_text() for file in done] == [file["text"] for file in shown]
    assert str(Path(sys.executable).parent / "recollect") in shown[0]["text"]
    (state,) = [row for row in at_home.json("install")["clients"] if row["client"] == name]
    assert state["status"] == "installed"
    assert "already in" in at_home("install", name).stdout
    assert all(file["changed"] for file in at_home.json("install", name, "--uninstall")["files"])
    assert "not in" in at_home("install", name, "--uninstall").stdout


def test_what_a_project_shares_names_no_place_of_this_machine(at_home: Cli) -> None:
    at_home.json("install", "claude-code", "--scope", "project")
    shared = json.loads(Path(".mcp.json").read_text())
    assert shared == {"mcpServers": {"recollect": {"command": "recollect", "args": ["mcp"]}}}
    assert sys.prefix not in Path(".claude/settings.json").read_text()


def test_install_reports_the_backup(at_home: Cli, tmp_path: Path) -> None:
    path = tmp_path / "person" / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text("{ }")
    output = at_home("install", "gemini").stdout
    (backup,) = path.parent.glob("*.recollect-backup-*")
    assert str(backup) in output
    assert "Restart Gemini CLI" in output


def test_uninstall_removes_it_from_every_agent(
    at_home: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "person"
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text('model = "o3"\n')
    at_home("install", "codex")
    at_home("install", "cursor")
    at_home("install", "claude-code", "--scope", "project")
    elsewhere = home / "other"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    at_home("remember", "Tests need Docker")

    named = at_home.json("uninstall", "--keep-agents")
    assert {*named["kept"]} == {
        f"{home}/{name}"
        for name in (
            ".codex/config.toml",
            ".cursor/mcp.json",
            "app/.claude/settings.json",
            "app/.mcp.json",
        )
    }
    assert (named["files"], named["errors"]) == ([], [])
    assert "still in" in at_home("uninstall", "--keep-agents").stdout

    done = at_home("uninstall")
    assert done.exit_code == 0
    assert f"memories remain in {at_home.home}" in done.stdout
    assert f"rm -r {at_home.home}" in done.stdout
    assert [path for path in home.rglob("*") if path.is_file()] == [home / ".codex" / "config.toml"]
    assert (home / ".codex" / "config.toml").read_text() == 'model = "o3"\n'
    assert "in no agent's settings" in at_home("uninstall").stdout
    assert len(at_home.json("list")["memories"]) == 1


def test_uninstall_in_the_home_folder_names_each_file_once(
    at_home: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "person"
    monkeypatch.chdir(home)
    at_home("install", "claude-code")
    kept = at_home.json("uninstall", "--keep-agents")["kept"]
    assert sorted(kept) == [f"{home}/.claude.json", f"{home}/.claude/settings.json"]
    (home / ".claude" / "settings.json").write_text("oops")
    assert at_home("uninstall").stderr.count(".claude/settings.json") == 1


def test_uninstall_names_a_file_that_it_cannot_edit_and_goes_on(
    at_home: Cli, tmp_path: Path
) -> None:
    home = tmp_path / "person"
    at_home("install", "cursor")
    (home / ".gemini").mkdir()
    (home / ".gemini" / "settings.json").write_text("oops")
    done = at_home("uninstall")
    assert done.exit_code == 1
    assert str(home / ".gemini" / "settings.json") in done.stderr
    assert not (home / ".cursor").exists()


def test_refusals(at_home: Cli, tmp_path: Path) -> None:
    code, error = at_home.error("install", "emacs")
    assert code == 2
    assert "claude-code" in error["remedy"]
    code, error = at_home.error("install", "claude-desktop", "--scope", "project")
    assert code == 2
    code, error = at_home.error("install", "cursor", "--scope", "team")
    assert code == 2
    path = tmp_path / "person" / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"recollect": {"url": "https://example.org"}}}')
    code, error = at_home.error("install", "cursor")
    assert code == 5
    assert str(path) in error["detail"]


def test_install_downloads_the_model_once(
    at_home: Cli, models_folder: Path, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    cli = Cli(
        at_home.home,
        {**at_home.settings, "RECOLLECT_EMBEDDER": "minilm", "RECOLLECT_MODELS": str(models)},
    )
    assert "MB" not in cli("install", "cursor", "--no-model").stderr
    assert "MB" not in cli("install", "cursor", "--print").stderr
    assert not models.exists()
    # Where it cannot be built, the settings are changed all the same.
    models.write_text("no folder")
    failed = cli("install", "cursor")
    assert failed.exit_code == 0
    assert f"once ({MINILM.download_size // 1_000_000} MB)" in failed.stderr
    assert "Until then, recall goes by words." in failed.stderr
    models.unlink()
    models.symlink_to(models_folder)
    assert "MB" not in cli("install", "cursor").stderr


@pytest.mark.slow
def test_install_gets_a_model_that_recall_uses(at_home: Cli) -> None:
    cli = Cli(at_home.home, {**at_home.settings, "RECOLLECT_EMBEDDER": "minilm"})
    done = cli("install", "cursor")
    assert done.exit_code == 0
    assert f"{MINILM.title} is ready" in done.stdout
    assert f"fetching {MINILM.title}" in done.stderr
    cli("remember", "My automobile is being repaired until Thursday")
    found = cli.json("recall", "Has a mechanic fixed her car?", "--explain")
    assert found["legs"]["dense"]["status"] == "ran"


def test_install_with_a_server_downloads_nothing(at_home: Cli) -> None:
    server = {"RECOLLECT_API_URL": "http://127.0.0.1:9", "RECOLLECT_API_KEY": "rk_x"}
    client = Cli(at_home.home, {**at_home.settings, **server, "RECOLLECT_EMBEDDER": "minilm"})
    done = client("install", "cursor")
    assert done.exit_code == 0
    assert "MB" not in done.stderr
