"""With a server configured and sync off, the local store is a private file that no command may
open, whatever it does afterwards.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import environment, program
from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of
from tests.shells.cli.test_docs import COMMANDS
from tests.waiting import SECONDS

PRIVATE = "My therapist is on Rua Augusta"
UNKNOWN = "019cc2a7-4b59-7000-8000-000000000000"
EVENT = {"session_id": "s", "cwd": "/", "prompt": "Which day is the harbour closed?"}

# One line of arguments for each command; {id} is a memory of the server, {file} an export.
LINES: dict[str, list[str]] = {
    "remember": ["The bridge opens at noon"],
    "recall": ["harbour"],
    "why": ["{id}", "--query", "harbour"],
    "list": [],
    "show": ["{id}"],
    "update": ["{id}", "--importance", "1"],
    "forget": ["{id}", "--forever", "--yes"],
    "link": ["{id}", "see_also", "{id}"],
    "unlink": ["{id}", "see_also", "{id}"],
    "history": ["{id}"],
    "restore": ["{id}", "--version", "1"],
    "audit": [],
    "proposals": [],
    "review": ["--accept-all", "duplicate_of"],
    "undo": [UNKNOWN],
    "erase": ["--owner", "{owner}", "--yes"],
    "backup": ["{folder}"],
    "page": [],
    "export": [],
    "import": ["{file}"],
    "memory-tool": ['{"command": "view", "path": "/memories"}'],
    "status": [],
    "sync": [],
    "doctor": ["--full"],
    "install": [],
    "uninstall": ["--keep-agents"],
    "reembed": [],
    "worker": ["--once"],
    "bench": ["own", "--yes"],
    "project": [],
    "project list": [],
    "project rename": ["nowhere", "else"],
    "project merge": ["nowhere", "else"],
    "conflicts": [],
    "conflicts list": [],
    "conflicts show": [UNKNOWN],
    "conflicts resolve": [UNKNOWN, "--keep", "other"],
    "models": [],
    "models list": [],
    "models get": ["nothing-of-this-name"],
    "graph": [],
    "graph show": ["harbour"],
    "graph path": ["harbour", "bridge"],
    "graph stats": [],
    "graph merge": ["harbour", "bridge"],
    "graph split": ["harbour", "bridge"],
    "graph build": [],
    "graph import": ["{file}"],
    "settings": [],
    "settings set": ["limit", "10"],
    "settings log": [],
    "keys": [],
    "keys create": [],
    "keys rotate": [UNKNOWN],
    "keys list": [],
    "keys revoke": [UNKNOWN],
    "database": [],
    "database distribute": [],
    "hook": [],
    "hook status": [],
}
# These end their process, or wait for it to be ended: they are run in one of their own.
INPUTS: dict[str, list[object]] = {
    "hook recall": [{**EVENT, "hook_event_name": "UserPromptSubmit"}],
    "hook brief": [{**EVENT, "hook_event_name": "SessionStart", "source": "startup"}],
    "hook capture": [{**EVENT, "hook_event_name": "Stop"}],
    "hook compact": [{**EVENT, "hook_event_name": "PreCompact"}],
    "mcp": [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "memory_recall", "arguments": {"query": "harbour"}},
        },
    ],
    "serve": [],
}
REPORTING = """
import os, sys
report = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def hear(event, arguments):
    if event == "sqlite3.connect":
        os.write(report, f"{arguments[0]}\\n".encode())
sys.addaudithook(hear)
from recollect.main import main
main()
"""

_opened: list[str] | None = None


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if event == "sqlite3.connect" and _opened is not None:
        _opened.append(str(arguments[0]))


@pytest.fixture(scope="module", autouse=True)
def _hearing() -> None:
    sys.addaudithook(_hear)


@contextmanager
def listening() -> Iterator[list[str]]:
    """Yield the list of databases that are opened meanwhile."""
    global _opened
    _opened = []
    try:
        yield _opened
    finally:
        _opened = None


@pytest.fixture
def owner(request: pytest.FixtureRequest) -> str:
    return f"remote {request.node.name}"


@pytest.fixture
def remote(server: Running, tmp_path: Path, owner: str) -> Cli:
    """Return a client of the server alone, in a home with private memories from before."""
    Cli(tmp_path / "home").json("remember", PRIVATE)
    return client_of(server, tmp_path / "home", server.new_key(owner))


@pytest.fixture
def filled(remote: Cli, tmp_path: Path, owner: str) -> Callable[[str], str]:
    """Return a function that fills in the placeholders of a line of arguments."""
    id = remote.json("remember", "The harbour is closed on Mondays")["id"]
    file = tmp_path / "notes.md"
    file.write_text("# Notes\n\n- The ferry leaves at nine\n")
    folder = str(tmp_path / "folder")
    named = {"{id}": id, "{file}": str(file), "{owner}": owner, "{folder}": folder}
    return lambda argument: named.get(argument, argument)


def test_every_command_is_in_the_table() -> None:
    assert {" ".join(path) for path in COMMANDS} == {*LINES, *INPUTS}


@pytest.mark.parametrize(
    "command",
    # It creates a database and downloads a model.
    [pytest.param(name, marks=pytest.mark.slow if name == "bench" else ()) for name in LINES],
)
def test_a_command_leaves_the_local_store_closed(
    command: str, remote: Cli, server: Running, filled: Callable[[str], str]
) -> None:
    line = [filled(argument) for argument in LINES[command]]
    with listening() as opened:
        remote(*command.split(), *line)
    assert [path for path in opened if "memories.db" in path] == []
    _assert_nothing_private(server, remote)


@pytest.mark.parametrize("command", INPUTS)
def test_a_process_leaves_the_local_store_closed(
    command: str, remote: Cli, server: Running, filled: Callable[[str], str], tmp_path: Path
) -> None:
    assert filled("{id}")
    report = tmp_path / "opened"
    unreachable = {"RECOLLECT_DATABASE_URL": "postgresql://127.0.0.1:9/none"}
    subprocess.run(
        program(REPORTING, str(report), *command.split()),
        input="".join(f"{json.dumps(message)}\n" for message in INPUTS[command]).encode(),
        capture_output=True,
        env=environment(
            **remote.variables,
            **(unreachable if command == "serve" else {}),
            RECOLLECT_HOOK_BUDGET_MS="60000",
            RECOLLECT_HOOK_START_MS="60000",
        ),
        timeout=SECONDS,
        check=False,
    )
    assert report.exists()
    assert "memories.db" not in report.read_text()
    _assert_nothing_private(server, remote)


def test_the_test_notices_an_open_store(cli: Cli) -> None:
    with listening() as opened:
        cli.json("list")
    assert any("memories.db" in path for path in opened)


def _assert_nothing_private(server: Running, remote: Cli) -> None:
    with server.client(remote.settings["RECOLLECT_API_KEY"]) as client:
        assert PRIVATE not in client.get("memories").text
