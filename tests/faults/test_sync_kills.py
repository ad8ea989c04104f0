"""Clients and servers killed with SIGKILL at random moments, and processes that write at once:
every acknowledged write is there in the end, and no memory twice.

RECOLLECT_TEST_EFFORT multiplies the number of rounds. The test says how many were run and
how many writes they acknowledged.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from tests.effort import scaled
from tests.processes import environment, program
from tests.serving import running
from tests.shells.cli.commands import Cli
from tests.sync.clients import Client, settle

pytestmark = pytest.mark.anyio

ROUNDS = scaled(24)
CHILD = "import json; from tests.sync.children import run; run(json.loads(sys.argv[1]))"
TOKEN = re.compile(r"zqp\w+")


@dataclass
class Children:
    """Processes that are started and killed, and what they report."""

    _lines: BinaryIO
    _to_lines: int
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    stored: set[str] = field(default_factory=set)
    over: set[str] = field(default_factory=set)
    reported: Counter[str] = field(default_factory=Counter)

    def hear(self) -> dict[str, Any]:
        line: dict[str, Any] = json.loads(self._lines.readline())
        assert "failed" not in line, line
        self.reported.update(line.keys())
        if "stored" in line:
            self.stored.add(line["stored"])
        if line.get("over"):
            # Whether or not the write that replaces it is acknowledged.
            self.over.add(line["over"])
        return line

    def hear_of(self, name: str) -> Any:
        while name not in (line := self.hear()):
            pass
        return line[name]

    def start(self, run: str, **what: object) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            program(CHILD, json.dumps({"run": run, **what})),
            stdout=self._to_lines,
            stderr=subprocess.DEVNULL,
            env=environment(),
        )
        self.running.append(process)
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait()
        self.running.remove(process)
        # This line follows all that the process reported.
        with subprocess.Popen(["echo", '{"ended": true}'], stdout=self._to_lines):
            self.hear_of("ended")


@contextmanager
def no_children() -> Iterator[Children]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as lines, os.fdopen(writing, "wb"):
        children = Children(lines, writing)
        try:
            yield children
        finally:
            for process in children.running:  # a test that failed has not ended them
                process.kill()
                process.wait()


@dataclass(frozen=True)
class House:
    """A database, a port for servers that come and go, and a key."""

    database_url: str
    home: Path
    port: int
    key: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self, children: Children) -> subprocess.Popen[bytes]:
        process = children.start(
            "server", database_url=self.database_url, home=str(self.home), port=self.port
        )
        children.hear_of("serving")
        return process


@pytest.fixture
def house(database_url: str, tmp_path: Path) -> Iterator[House]:
    with running(database_url, tmp_path / "server") as up:
        key = up.new_key("kills")
    # Bound, but never listening: no other process gets the port while no server has it.
    with socket.socket() as reserved:
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        yield House(database_url, tmp_path / "server", reserved.getsockname()[1], key)


async def check(house: House, homes: list[Path], children: Children) -> None:
    """Sync all, then check that every acknowledged write is current or in a stored revision."""
    clients = [Client(home, house.url, house.key) for home in homes]
    for client in clients:
        await client.open()
    try:
        await settle(*clients)
        everything = [await client.all() for client in clients]
        assert all(memories == everything[0] for memories in everything)
        found = {
            token for memory in everything[0].values() for token in TOKEN.findall(memory.content)
        }
        for client in clients:
            for revision in (await client.revisions()).values():
                found |= set(TOKEN.findall(str(revision.fields)))
        lost = children.stored - children.over - found
        assert lost == set()
        there = await clients[0].remote.stats()
        assert there.memories == len(everything[0])
        contents = [memory.content for memory in everything[0].values()]
        assert len(contents) == len(set(contents))
    finally:
        for client in clients:
            await client.close()


async def test_killed_clients_and_servers_lose_nothing(
    house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(5)
    homes = [tmp_path / "one", tmp_path / "two"]
    killed: Counter[str] = Counter()
    with no_children() as children:
        serving = house.serve(children)
        agents: dict[Path, subprocess.Popen[bytes]] = {}
        for number in range(ROUNDS):
            for home in homes:
                if home not in agents:
                    agents[home] = children.start(
                        "client",
                        home=str(home),
                        url=house.url,
                        key=house.key,
                        name=f"{home.name}{number}",
                        writes=100_000,
                    )
            before = len(children.stored)
            while len(children.stored) < before + chance.randrange(1, 20):
                children.hear()
            if number % 3 == 2:
                killed["server"] += 1
                children.kill(serving)
                while len(children.stored) < before + 25:  # written while it is away
                    children.hear()
                serving = house.serve(children)
            else:
                killed["client"] += 1
                children.kill(agents.pop(homes[number % 2]))
        for agent in agents.values():
            children.kill(agent)
        await check(house, homes, children)
        children.kill(serving)
    with capsys.disabled():
        sys.stderr.write(
            f"\nsync kills: {dict(killed)}, {len(children.stored)} writes acknowledged, 0 lost\n"
        )


async def test_two_agents_and_the_command_line_write_at_once(house: House, tmp_path: Path) -> None:
    """One file, three kinds of writers, one engine."""
    home = tmp_path / "one"
    named = {"RECOLLECT_API_URL": house.url, "RECOLLECT_API_KEY": house.key}
    cli = Cli(home, named)
    with no_children() as children:
        serving = house.serve(children)
        agents = [
            children.start(
                "client", home=str(home), url=house.url, key=house.key, name=name, writes=40
            )
            for name in ("a", "b")
        ]
        for number in range(3):
            result = cli.process("remember", f"note zqpcli{number}")
            assert result.returncode == 0, result.stderr
            assert result.stderr == b""
            children.stored.add(f"zqpcli{number}")
        while children.reported["done"] < 2:
            children.hear()
        for agent in agents:
            children.kill(agent)
        assert len(children.stored) == 83
        await check(house, [home, tmp_path / "other"], children)
        children.kill(serving)
