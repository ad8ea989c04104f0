"""The wheel, installed like a program with the runtime pins alone, does what README promises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from tests.waiting import SECONDS, wait_until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Program:
    path: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if "RECOLLECT_" not in name}
        folder = str(self.path.parent)
        return {
            **inherited,
            "HOME": str(self.home),
            "PATH": f"{folder}:/usr/bin:/bin",
            "RECOLLECT_HOME": str(self.home / "memories"),
            "RECOLLECT_WORKER": "off",
        }

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["recollect", *arguments],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )


def _install(prefix: Path, *options: str) -> str:
    command = [sys.executable, str(ROOT / "tools" / "install.py"), "--prefix", str(prefix)]
    # Uninstalling edits the agents' settings of this home.
    env = {**os.environ, "HOME": str(prefix / "home")}
    done = subprocess.run(
        [*command, *options], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def program(open_folder: Path) -> Iterator[Program]:
    """In a folder that Postgres's own account can read, as a real prefix is."""
    prefix = open_folder / "installed"
    home = prefix / "home"
    home.mkdir(parents=True)
    _install(prefix)
    installed = Program(prefix / "bin" / "recollect", home)
    yield installed
    assert installed("install", "cursor", "--no-model").returncode == 0
    entry = home / ".cursor" / "mcp.json"
    assert str(installed.path) in entry.read_text()
    removed = _install(prefix, "--uninstall")
    assert "Removed" in removed
    assert not entry.exists()
    assert not list((prefix / "bin").iterdir())


def test_installed_command_remembers_and_recalls(program: Program) -> None:
    stored = program("remember", "Deployments go out with make release.")
    assert stored.returncode == 0, stored.stderr
    found = program("recall", "how do deployments go out?", "--json")
    hits = json.loads(found.stdout)["hits"]
    assert [hit["memory"]["content"] for hit in hits] == ["Deployments go out with make release."]


@pytest.mark.anyio
async def test_installed_command_serves_mcp(program: Program) -> None:
    parameters = StdioServerParameters(
        command=str(program.path), args=["mcp"], env=program.environment
    )
    async with Client(stdio_client(parameters)) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
    assert {"memory_store", "memory_recall"} <= tools


def test_installed_command_serves_the_api_and_web_page(program: Program) -> None:
    with _serving(program) as url:
        page = httpx.get(url, trust_env=False, timeout=SECONDS)
        assert page.status_code == 200
        assert "<title>Recollect" in page.text
        script = httpx.get(f"{url}/assets/memories/memories.js", trust_env=False, timeout=SECONDS)
        assert script.status_code == 200
        assert (
            httpx.get(f"{url}/api/v1/health/live", trust_env=False, timeout=SECONDS).status_code
            == 200
        )


@contextmanager
def _serving(program: Program) -> Iterator[str]:
    ready = program.home / "ready.json"
    with subprocess.Popen(
        ["recollect", "serve", "--port", "0", "--ready-file", str(ready)],
        env=program.environment,
        stdout=subprocess.DEVNULL,
    ) as server:
        try:
            wait_until(lambda: server.poll() is not None or ready.exists())
            assert server.poll() is None
            yield str(json.loads(ready.read_text())["url"])
        finally:
            server.terminate()
            server.wait(SECONDS)


def test_agents_get_the_link_that_survives_an_upgrade(program: Program) -> None:
    printed = program("install", "claude-code", "--print")
    assert printed.returncode == 0, printed.stderr
    assert str(program.path) in printed.stdout
    assert str(program.path.resolve()) not in printed.stdout


def test_installed_bench_says_what_to_install(program: Program) -> None:
    refused = program("bench", "run")
    assert refused.returncode != 0
    assert "make install EXTRAS=bench" in refused.stderr


def test_only_the_runtime_pins_are_installed(program: Program) -> None:
    listed = subprocess.run(
        [program.path.resolve().parent / "python", "-m", "pip", "list", "--format=json"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {package["name"].lower() for package in json.loads(listed.stdout)}
    assert {"recollect", "fastapi", "pip"} <= names
    assert not names & {"pytest", "mypy", "ruff", "hatchling", "scipy", "matplotlib", "fastembed"}


def test_an_upgrade_keeps_one_environment(program: Program) -> None:
    library = program.path.parent.parent / "lib" / "recollect"
    before = program.path.resolve()
    _install(program.path.parent.parent)
    assert program.path.resolve() != before
    assert not before.exists()
    assert len([each for each in library.iterdir() if each.is_dir()]) == 1
    assert program("--version").returncode == 0
