"""What each command may import: imports take nearly all the time of a short command."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest
from tests.processes import environment
from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of, unhurried_home
from tests.waiting import SECONDS

_SERVER_MODULES = {
    "fastapi",
    "mcp",
    "mcp_types",
    "numpy",
    "onnx",
    "onnxruntime",
    "prometheus_client",
    "psycopg",
    "starlette",
    "structlog",
    "tokenizers",
    "uvicorn",
}
_HEAVY = {*_SERVER_MODULES, "httpx", "pydantic", "pydantic_settings"}
_SCRIPT = """
import atexit, pathlib, sys
file, sys.argv = sys.argv[1], ["recollect", *sys.argv[2:]]
known = set(sys.modules)
atexit.register(lambda: pathlib.Path(file).write_text(" ".join({*sys.modules} - known)))
from recollect.main import main
main()
"""


def list_imports(cli: Cli, *arguments: str) -> set[str]:
    """Run a command, which must succeed, and return the modules that it imported."""
    cli.home.mkdir(exist_ok=True)
    file = cli.home / "imported"
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(file), *arguments],
        capture_output=True,
        env=environment(**cli.variables),
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    return set(file.read_text().split())


@pytest.fixture
def filled(cli: Cli) -> Cli:
    unhurried_home(cli.home)
    cli.json("remember", "the ledger is deployed on Fridays")
    return cli


def test_the_version_imports_nothing(cli: Cli) -> None:
    found = {
        module
        for module in list_imports(cli, "--version")
        if module not in sys.builtin_module_names
    }
    assert found == {"__future__", "recollect", "recollect.main"}


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("recall", "--help")])
def test_help_imports_no_store_and_no_tables(cli: Cli, arguments: tuple[str, ...]) -> None:
    found = list_imports(cli, *arguments)
    assert found.isdisjoint({*_HEAVY, "rich", "asyncio", "sqlite3", "recollect.wiring"})


def test_remember_imports_only_what_it_needs(filled: Cli) -> None:
    found = list_imports(filled, "remember", "the vault is audited in May", "--tag", "vault")
    assert "recollect.adapters.sqlite.store" in found
    assert found.isdisjoint(
        {*_HEAVY, "rich", "recollect.core.graph.model", "recollect.core.sync.model"}
    )


@pytest.mark.parametrize(
    "arguments", [("recall", "ledger", "--limit", "3"), ("list",), ("status",)]
)
def test_a_table_costs_rich_and_nothing_else(filled: Cli, arguments: tuple[str, ...]) -> None:
    found = list_imports(filled, *arguments)
    assert "rich" in found
    assert found.isdisjoint(
        {*_HEAVY, "recollect.core.graph.model", "recollect.core.privacy.secrets.rules"}
    )


@pytest.mark.parametrize("arguments", [("recall", "ledger"), ("list",), ("status",)])
def test_json_costs_pydantic_and_nothing_else(filled: Cli, arguments: tuple[str, ...]) -> None:
    found = list_imports(filled, *arguments, "--json")
    assert found.isdisjoint({*_HEAVY, "rich"} - {"pydantic"})


@pytest.mark.parametrize("arguments", [("list",), ("status",)])
def test_what_a_cached_store_answers_alone_imports_no_client(
    filled: Cli, arguments: tuple[str, ...]
) -> None:
    with closing(sqlite3.connect(filled.home / "memories.db")) as store, store:
        store.execute(
            "INSERT INTO sync_link (owner, store, last_sync_at)"
            " SELECT DISTINCT owner, ?, 1 FROM memories",
            [str(uuid4())],
        )
    named = {"RECOLLECT_API_URL": "http://127.0.0.1:9", "RECOLLECT_API_KEY": "rk_x"}
    found = list_imports(Cli(filled.home, named), *arguments)
    assert found.isdisjoint(_HEAVY)


@pytest.mark.parametrize("arguments", [("recall", "ledger"), ("list",), ("status",)])
def test_a_client_imports_nothing_of_a_server(
    server: Running, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    cli = client_of(server, tmp_path / "home")
    cli.json("remember", "the ledger is deployed on Fridays")
    assert list_imports(cli, *arguments).isdisjoint(_SERVER_MODULES)
