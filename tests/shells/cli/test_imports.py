"""What each command may import: importing is nearly all that a short command takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import environment
from tests.serving import Running
from tests.shells.cli.commands import Cli, client_of, unhurried_home
from tests.waiting import SECONDS

_OF_A_SERVER = {
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
_HEAVY = {*_OF_A_SERVER, "httpx", "pydantic", "pydantic_settings"}
_SCRIPT = """
import atexit, pathlib, sys
file, sys.argv = sys.argv[1], ["recollect", *sys.argv[2:]]
known = set(sys.modules)
atexit.register(lambda: pathlib.Path(file).write_text(" ".join({*sys.modules} - known)))
from recollect.main import main
main()
"""


def imported(cli: Cli, *arguments: str) -> set[str]:
    """The modules that a command has imported when it ends; it must end well."""
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
    found = {one for one in imported(cli, "--version") if one not in sys.builtin_module_names}
    assert found == {"__future__", "recollect", "recollect.main"}


@pytest.mark.parametrize("arguments", [("--help",), ("-h",), ("recall", "--help")])
def test_help_imports_no_store_and_no_tables(cli: Cli, arguments: tuple[str, ...]) -> None:
    found = imported(cli, *arguments)
    assert found.isdisjoint({*_HEAVY, "rich", "asyncio", "sqlite3", "recollect.wiring"})


def test_remember_imports_only_what_it_needs(filled: Cli) -> None:
    found = imported(filled, "remember", "the vault is audited in May", "--tag", "vault")
    assert "recollect.adapters.sqlite.store" in found
    assert found.isdisjoint(
        {*_HEAVY, "rich", "recollect.core.graph.model", "recollect.core.sync.model"}
    )


@pytest.mark.parametrize(
    "arguments", [("recall", "ledger", "--limit", "3"), ("list",), ("status",)]
)
def test_a_table_costs_rich_and_nothing_else(filled: Cli, arguments: tuple[str, ...]) -> None:
    found = imported(filled, *arguments)
    assert "rich" in found
    assert found.isdisjoint(
        {*_HEAVY, "recollect.core.graph.model", "recollect.core.privacy.secrets.rules"}
    )


@pytest.mark.parametrize("arguments", [("recall", "ledger"), ("list",), ("status",)])
def test_json_costs_pydantic_and_nothing_else(filled: Cli, arguments: tuple[str, ...]) -> None:
    found = imported(filled, *arguments, "--json")
    assert found.isdisjoint({*_HEAVY, "rich"} - {"pydantic"})


@pytest.mark.parametrize("arguments", [("list",), ("status",)])
def test_what_a_cached_store_answers_alone_imports_no_client(
    filled: Cli, arguments: tuple[str, ...]
) -> None:
    named = {"RECOLLECT_API_URL": "http://127.0.0.1:9", "RECOLLECT_API_KEY": "rk_x"}
    found = imported(Cli(filled.home, named), *arguments)
    assert found.isdisjoint(_HEAVY)


@pytest.mark.parametrize("arguments", [("recall", "ledger"), ("list",), ("status",)])
def test_a_client_imports_nothing_of_a_server(
    server: Running, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    cli = client_of(server, tmp_path / "home")
    cli.json("remember", "the ledger is deployed on Fridays")
    assert imported(cli, *arguments).isdisjoint(_OF_A_SERVER)
