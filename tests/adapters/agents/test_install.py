"""Install, reinstall and uninstall on realistic files of each client; and what is rejected."""

from __future__ import annotations

import json
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.agents.machines import COMMAND, folder_texts, machine_in, paths, set_up_client
from tests.adapters.agents.samples import CLAUDE_SETTINGS, CODEX, FILES, VSCODE

from recollect.adapters.agents import jsonc
from recollect.adapters.agents.clients import CLIENTS, Scope
from recollect.adapters.agents.command import Command
from recollect.adapters.agents.install import install, preview, read_installation, uninstall
from recollect.adapters.agents.json_entries import HOOKS
from recollect.core.errors import Conflict, InvalidInput, RecollectError

_each_client = pytest.mark.parametrize("name", CLIENTS)
_each_scope = pytest.mark.parametrize(
    ("name", "scope"),
    [(client.name, scope) for client in CLIENTS.values() for scope in client.scopes],
)
SERVER = {"command": COMMAND.program, "args": ["mcp"]}


def read(path: Path) -> Any:
    text = path.read_text()
    return tomllib.loads(text) if path.suffix == ".toml" else jsonc.parse(text).value


def our_server(document: Any) -> Any:
    for key in ("mcpServers", "servers", "mcp_servers"):
        if key in document:
            return document[key].get("recollect")
    return None


@_each_scope
def test_it_is_put_in_once_and_taken_out_without_a_trace(
    name: str, scope: Scope, tmp_path: Path
) -> None:
    client, machine = set_up_client(name, tmp_path, scope)
    files = paths(client, machine, scope)
    before = [path.read_bytes() for path in files]
    documents = [read(path) for path in files]

    edits = install(client, machine, scope, COMMAND)
    assert [edit.path for edit in edits] == files
    for edit, text in zip(edits, before, strict=True):
        assert edit.changed
        assert edit.backup is not None
        assert edit.backup.read_bytes() == text
    server = our_server(read(files[-1]))
    assert server == ({"type": "stdio", **SERVER} if name == "vscode" else SERVER)
    for path, document in zip(files, documents, strict=True):
        now = read(path)
        assert [key for key in now if key in document] == list(document)
        assert {**document, **{key: now[key] for key in ("hooks",) if key in now}} == {
            key: without_ours(value) for key, value in now.items()
        }

    texts = folder_texts(tmp_path)
    assert not any(edit.changed for edit in install(client, machine, scope, COMMAND))
    assert folder_texts(tmp_path) == texts

    assert all(edit.changed for edit in uninstall(client, machine, scope))
    assert [path.read_bytes() for path in files] == before
    assert not any(edit.changed for edit in uninstall(client, machine, scope))


def without_ours(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: one for key, one in value.items() if key != "recollect"}
    return value


@_each_client
def test_it_is_put_into_files_that_are_not_there_yet(name: str, tmp_path: Path) -> None:
    client, machine = CLIENTS[name], machine_in(tmp_path)
    edits = install(client, machine, "user", COMMAND)
    assert all(edit.changed and edit.backup is None for edit in edits)
    for edit, (path, _, text) in zip(edits, preview(client, machine, "user", COMMAND), strict=True):
        assert edit.path == path
        assert edit.path.read_text() == text
        assert edit.path.stat().st_mode & 0o777 == 0o600


def test_hooks_are_added_next_to_the_users_own(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    install(client, machine, "user", COMMAND)
    hooks = read(paths(client, machine)[0])["hooks"]
    assert set(hooks) == {*HOOKS, "PreToolUse"}
    assert len(hooks["Stop"]) == 2
    assert hooks["Stop"][1]["hooks"] == [
        {
            "type": "command",
            "command": "/opt/recollect/bin/recollect hook capture || true",
            "timeout": 60,
            "async": True,
        }
    ]
    assert hooks["SessionStart"][0]["matcher"] == "startup|resume|clear|compact"


@_each_client
def test_a_program_that_has_moved_is_brought_up_to_date(name: str, tmp_path: Path) -> None:
    client, machine = set_up_client(name, tmp_path)
    install(client, machine, "user", Command("/old place/recollect"))
    install(client, machine, "user", COMMAND)
    for path in paths(client, machine):
        assert "/old place" not in path.read_text()
    uninstall(client, machine, "user")
    assert [path.read_bytes().decode() for path in paths(client, machine)] == [*FILES[name]]


@pytest.mark.parametrize("name", ["cursor", "codex"])
def test_what_a_person_added_to_our_entry_stays(name: str, tmp_path: Path) -> None:
    client, machine = set_up_client(name, tmp_path)
    install(client, machine, "user", Command("/old/recollect"))
    (path,) = paths(client, machine)
    text = path.read_text()
    path.write_text(
        text.replace('"/old/recollect",', '"/old/recollect", "env": {"RECOLLECT_OWNER": "ada"},')
        if name == "cursor"
        else f'{text}startup_timeout_sec = 30 # slow disk\n[mcp_servers.recollect.env]\nA = "b"\n'
    )
    install(client, machine, "user", COMMAND)
    server = our_server(read(path))
    assert server["command"] == COMMAND.program
    assert server["env"]
    assert name == "cursor" or "# slow disk" in path.read_text()
    uninstall(client, machine, "user")
    assert path.read_text() == FILES[name][0]


def test_a_program_with_blanks_in_its_path_is_quoted_for_the_shell(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    for program in ("/opt/my tools/recollect", "C:\\My Tools\\recollect.exe"):
        install(client, machine, "user", Command(program))
        hook = read(paths(client, machine)[0])["hooks"]["UserPromptSubmit"][0]["hooks"][0]
        assert hook["command"].strip("'\"").startswith(program)
        assert hook["command"].endswith(("' hook recall || true", '" hook recall'))
    assert len(read(paths(client, machine)[0])["hooks"]["UserPromptSubmit"]) == 1


def test_without_a_script_python_runs_the_module(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    before = [path.read_bytes() for path in paths(client, machine)]
    install(client, machine, "user", Command("/usr/bin/python3", ("-m", "recollect.main")))
    settings = read(paths(client, machine)[0])
    assert settings["hooks"]["PreCompact"][0]["hooks"][0]["command"] == (
        "/usr/bin/python3 -m recollect.main hook compact || true"
    )
    uninstall(client, machine, "user")
    assert [path.read_bytes() for path in paths(client, machine)] == before


REFUSED = [
    ("cursor", '{"mcpServers": {', "not JSON"),
    ("cursor", '["mcpServers"]', "not a JSON object"),
    ("cursor", '{"mcpServers": []}', "not an object of servers"),
    ("cursor", '{"mcpServers": {}, "mcpServers": {}}', "twice"),
    (
        "cursor",
        '{"mcpServers": {"recollect": {"url": "https://a.example/mcp"}}}',
        "did not write",
    ),
    ("cursor", '{"mcpServers": {"recollect": {"command": "npx", "args": ["x"]}}}', "did not write"),
    ("cursor", '{"mcpServers": {"recollect": "x"}}', "did not write"),
    ("gemini", '{"mcpServers": {"recollect": {"command": "recollect", "args": ["x"]}}}', "did not"),
    ("codex", '[mcp_servers.recollect]\ncommand = "x/recollect"\nargs = ["a"]\n', "did not write"),
    ("claude-desktop", "mcpServers:\n", "not JSON"),
    ("codex", "[mcp_servers\n", "not TOML"),
    ("codex", "mcp_servers = 3\n", "not a table"),
    ("codex", 'mcp_servers = { a = { command = "x" } }\n', "cannot be edited safely"),
    ("codex", '[mcp_servers.recollect]\nurl = "https://example.org"\n', "did not write"),
    ("codex", 'a = """\n[mcp_servers.recollect]\n', "not TOML"),
    ("vscode", "{\n// only a comment", "not JSON"),
]


@pytest.mark.parametrize(("name", "text", "why"), REFUSED)
def test_what_is_not_understood_is_refused_and_left_alone(
    name: str, text: str, why: str, tmp_path: Path
) -> None:
    client, machine = CLIENTS[name], machine_in(tmp_path)
    (path,) = paths(client, machine)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    before = folder_texts(tmp_path)
    with pytest.raises((InvalidInput, Conflict), match=why) as refused:
        install(client, machine, "user", COMMAND)
    assert str(path) in str(refused.value)
    assert "--print" in refused.value.remedy
    assert folder_texts(tmp_path) == before
    state = read_installation(name, machine)
    assert state.status == ("absent" if "safely" in why else "unclear")


@pytest.mark.parametrize(
    "hooks",
    ['"none"', '{"Stop": {}}', '{"Stop": ["x"]}', '{"Stop": [{"command": "x"}]}'],
)
def test_odd_hooks_leave_both_files_as_they_were(hooks: str, tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    paths(client, machine)[0].write_text(f'{{"hooks": {hooks}}}')
    before = folder_texts(tmp_path)
    with pytest.raises(InvalidInput, match=r"\.claude/settings\.json: "):
        install(client, machine, "user", COMMAND)
    assert folder_texts(tmp_path) == before


def test_odd_settings_of_a_project_do_not_stop_the_users(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    odd = paths(client, machine, "project")[0]
    odd.parent.mkdir(parents=True)
    odd.write_text("{ /* mine")
    assert all(edit.changed for edit in install(client, machine, "user", COMMAND))
    uninstall(client, machine, "user")
    with pytest.raises(InvalidInput, match="project"):
        install(client, machine, "project", COMMAND)
    assert odd.read_text() == "{ /* mine"


def test_a_second_file_that_is_odd_leaves_the_first_as_it_was(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    paths(client, machine)[1].write_text("oops")
    before = folder_texts(tmp_path)
    with pytest.raises(InvalidInput, match=r"\.claude\.json"):
        install(client, machine, "user", COMMAND)
    assert folder_texts(tmp_path) == before


def test_hooks_do_not_run_twice_when_the_plugin_is_installed(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    settings = paths(client, machine)[0]
    settings.write_text(
        CLAUDE_SETTINGS.replace('"formatter@team"', '"recollect@recollect": true, "formatter@team"')
    )
    for scope in client.scopes:
        with pytest.raises(Conflict, match="twice"):
            install(client, machine, scope, COMMAND)
    assert read_installation("claude-code", machine).status == "plugin"


def test_hooks_do_not_run_twice_for_two_scopes(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    other: dict[Scope, Scope] = {"user": "project", "project": "user"}
    for scope in client.scopes:
        install(client, machine, scope, COMMAND)
        before = folder_texts(tmp_path)
        with pytest.raises(Conflict, match="twice") as refused:
            install(client, machine, other[scope], COMMAND)
        assert f"--scope {scope} --uninstall" in refused.value.remedy
        assert folder_texts(tmp_path) == before
        uninstall(client, machine, scope)


def test_hooks_that_run_twice_are_reported(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    settings, *_ = paths(client, machine, "project")
    install(client, machine, "project", COMMAND)
    pulled = settings.read_text()
    uninstall(client, machine, "project")
    install(client, machine, "user", COMMAND)
    # As when a colleague installed it in the project, and it was pulled.
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(pulled)
    for scope in client.scopes:
        assert read_installation("claude-code", machine, scope).status == "twice"
    state = read_installation("claude-code", machine)
    assert str(settings) in state.detail
    uninstall(client, machine, "project")
    assert read_installation("claude-code", machine).status != "twice"
    users = paths(client, machine)[0]
    users.write_text(
        users.read_text().replace('"formatter@team"', '"recollect@x": true, "formatter@team"')
    )
    assert read_installation("claude-code", machine).status == "twice"


def test_in_the_home_folder_both_scopes_share_their_hooks(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    install(client, machine, "user", COMMAND)
    install(client, replace(machine, folder=machine.home), "project", COMMAND)
    assert len(read(paths(client, machine)[0])["hooks"]["UserPromptSubmit"]) == 1


@_each_scope
def test_a_file_that_install_created_goes_with_its_folder(
    name: str, scope: Scope, tmp_path: Path
) -> None:
    client, machine = CLIENTS[name], machine_in(tmp_path)
    for folder in (machine.home, machine.folder):
        Path(folder).mkdir()
    install(client, machine, scope, Command("/old/recollect"))
    install(client, machine, scope, COMMAND)
    assert all(edit.changed for edit in uninstall(client, machine, scope))
    assert folder_texts(tmp_path) == {}
    assert not paths(client, machine, scope)[0].parent.exists()
    assert Path(machine.folder).is_dir()


def test_no_backup_of_an_empty_file_is_kept(tmp_path: Path) -> None:
    client, machine = set_up_client("gemini", tmp_path)
    (path,) = paths(client, machine)
    path.write_text("{ }")
    install(client, machine, "user", COMMAND)
    uninstall(client, machine, "user")
    assert [*folder_texts(tmp_path)] == [str(path.relative_to(tmp_path))]


@_each_scope
def test_one_backup_is_kept_and_none_when_all_is_as_before(
    name: str, scope: Scope, tmp_path: Path
) -> None:
    client, machine = set_up_client(name, tmp_path, scope)
    before = folder_texts(tmp_path)
    for place in ("/a", "/b", "/c"):
        edits = install(client, machine, scope, Command(f"{place}/recollect"))
    files = paths(client, machine, scope)
    kept = [[*path.parent.glob(f"{path.name}.recollect-backup-*")] for path in files]
    changed = [edit.backup for edit in edits if edit.changed]
    assert [backup for one in kept for backup in one] == changed
    uninstall(client, machine, scope)
    left = {name for name in folder_texts(tmp_path) if "backup" not in name}
    assert left == {*before}


def test_a_removed_program_reports_nothing_to_the_agent(tmp_path: Path) -> None:
    for program in (f"{tmp_path}/gone/recollect", f"{tmp_path}/not here/recollect", "no-recollect"):
        hook = subprocess.run(Command(program).hook("recall"), shell=True, capture_output=True)
        assert (hook.returncode, hook.stdout) == (0, b"")


def test_comments_in_claudes_settings_survive(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    settings = paths(client, machine)[0]
    text = CLAUDE_SETTINGS.replace("{", "{ // mine", 1)
    settings.write_text(text)
    install(client, machine, "user", COMMAND)
    assert "// mine" in settings.read_text()
    uninstall(client, machine, "user")
    assert settings.read_text() == text


@pytest.mark.parametrize("name", ["claude-code", "vscode", "cursor", "gemini"])
@pytest.mark.parametrize("text", ["// mine", "// mine\n", "/* mine */\n\n// and\n"])
def test_a_file_of_comments_alone_is_an_empty_object_and_keeps_them(
    name: str, text: str, tmp_path: Path
) -> None:
    client, machine = CLIENTS[name], machine_in(tmp_path)
    for path in paths(client, machine):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    install(client, machine, "user", COMMAND)
    for path in paths(client, machine):
        assert path.read_text().startswith(text.rstrip())
        assert read(path)
    assert not any(edit.changed for edit in install(client, machine, "user", COMMAND))
    assert all(edit.changed for edit in uninstall(client, machine, "user"))
    for path in paths(client, machine):
        assert path.read_text().startswith(text.rstrip())
        assert read(path) == {}
    assert not any(edit.changed for edit in uninstall(client, machine, "user"))


def test_a_table_inside_a_string_is_not_a_table(tmp_path: Path) -> None:
    client, machine = set_up_client("codex", tmp_path)
    (path,) = paths(client, machine)
    text = CODEX + 'note = """\n[mcp_servers.recollect]\ncommand = "x"\n"""\n'
    path.write_text(text)
    install(client, machine, "user", COMMAND)
    with pytest.raises(RecollectError):  # our table looks like the one in the string
        uninstall(client, machine, "user")
    assert tomllib.loads(path.read_text())["mcp_servers"]["recollect"] == SERVER


def test_comments_of_a_neighbour_stay_when_our_table_goes(tmp_path: Path) -> None:
    client, machine = set_up_client("codex", tmp_path)
    (path,) = paths(client, machine)
    ours = '[mcp_servers.recollect]\ncommand = "/x/recollect"\nargs = ["mcp"]\n\n'
    path.write_text(CODEX.replace("# where I let", f"{ours}# where I let"))
    uninstall(client, machine, "user")
    assert path.read_text() == CODEX


def test_states(tmp_path: Path) -> None:
    client, machine = set_up_client("claude-code", tmp_path)
    assert read_installation("claude-code", machine).status == "absent"
    assert read_installation("codex", machine).is_found is False
    program = tmp_path / "recollect"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    install(client, machine, "user", Command(str(program)))
    state = read_installation("claude-code", machine)
    assert (state.status, state.is_found, state.detail) == ("installed", True, str(program))
    paths(client, machine)[1].write_text("{}")
    assert read_installation("claude-code", machine).status == "partly"
    program.unlink()
    assert read_installation("claude-code", machine).status == "stale"


def test_vs_codes_trailing_commas_and_comments_survive(tmp_path: Path) -> None:
    client, machine = set_up_client("vscode", tmp_path)
    install(client, machine, "user", COMMAND)
    text = paths(client, machine)[0].read_text()
    for line in VSCODE.splitlines():
        assert line in text.splitlines()
    assert json.dumps("recollect") in text
