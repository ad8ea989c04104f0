"""A pasted credential makes its memory sensitive, and every shell says so without repeating it; the
caller can overrule it; and a client does not send it to another machine.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult
from tests.core.privacy.secret_samples import some
from tests.processes import COMMAND, environment
from tests.serving import Running, running
from tests.shells.cli.commands import Cli, client_of

from recollect.adapters.http.client import RemoteService
from recollect.core.errors import InvalidInput
from recollect.core.memory.memory import Draft, Memory
from recollect.ports.service import Service
from recollect.usecases.context import Context
from recollect.usecases.service import LocalService
from recollect.wiring.context import SystemClock
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio

TOKEN = "ghp_" + some(36)
NOTE = f"the deploy bot signs in with {TOKEN}"
BECAUSE = {"kind": "GitHub token", "confidence": 0.97}


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    for name in ("RECOLLECT_API_URL", "RECOLLECT_API_KEY", "RECOLLECT_DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return Cli(tmp_path / "home")


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Running]:
    with running(database_url, tmp_path / "server") as up:
        yield up


async def test_the_caller_overrules_the_detected_secret() -> None:
    store = InMemoryStore()
    mine = LocalService(Context(store, store, SystemClock(), {}), "me")

    found = await mine.remember(Draft(NOTE))
    assert found.is_sensitive
    assert await mine.remember(Draft(NOTE, id=found.id)) == found  # a repeat is still harmless
    overruled = await mine.remember(Draft(f"{NOTE}, or not", is_sensitive=False))
    assert not overruled.is_sensitive
    rated = await mine.update(str(overruled.id), {"content": overruled.content, "importance": 0.9})
    assert not rated.is_sensitive  # an overruled text stays overruled
    plain = await mine.remember(Draft("tea is in the shed"))
    assert not plain.is_sensitive
    reference = str(plain.id)
    assert (await mine.update(reference, {"content": NOTE})).is_sensitive
    assert (await mine.update(reference, {"content": "tea again"})).is_sensitive  # never undone
    assert not (await mine.update(reference, {"is_sensitive": False})).is_sensitive
    tagged = await mine.update(reference, {"tags": (TOKEN,), "is_sensitive": False})
    assert not tagged.is_sensitive
    assert (await store.get("me", plain.id)) == tagged


def test_cli_reports_a_detected_secret(cli: Cli) -> None:
    stored = cli.json("remember", NOTE)
    assert (stored["is_sensitive"], stored["sensitive_because"]) == (True, BECAUSE)
    output = cli("remember", NOTE).stdout
    assert (
        "marked as sensitive: its text looks like a secret (GitHub token, confidence 0.97); "
        "override with --not-sensitive"
    ) in output
    assert TOKEN not in output
    overruled = cli.json("remember", f"{NOTE}, or not", "--not-sensitive")
    assert not overruled["is_sensitive"]
    assert "sensitive_because" not in overruled
    assert "marked" not in cli("remember", "tea is in the shed").stdout
    assert "sensitive_because" not in cli.json("remember", "the PIN is in the safe", "--sensitive")
    changed = cli("update", overruled["id"], "--tag", TOKEN)
    assert "marked as sensitive" in changed.stdout
    assert TOKEN not in changed.stdout
    assert cli.json("show", overruled["id"])["is_sensitive"]
    assert not cli.json("update", overruled["id"], "--not-sensitive")["is_sensitive"]


def test_api_and_client_report_a_detected_secret(server: Running, tmp_path: Path) -> None:
    with server.client() as client:
        stored = client.post("memories", json={"content": NOTE}).json()
        assert (stored["is_sensitive"], stored["sensitive_because"]) == (True, BECAUSE)
        assert client.post("memories", json={"content": NOTE, "is_sensitive": None}).json()[
            "is_sensitive"
        ]
        path = f"memories/{stored['id']}"
        assert "sensitive_because" not in client.get(path).json()
        overruled = client.patch(path, json={"is_sensitive": False}).json()
        assert not overruled["is_sensitive"]
        assert "sensitive_because" not in overruled
        again = client.patch(path, json={"content": f"{NOTE}, still"}).json()
        assert (again["is_sensitive"], again["sensitive_because"]) == (True, BECAUSE)
    cli = client_of(server, tmp_path / "client")
    assert cli.json("remember", NOTE)["sensitive_because"] == BECAUSE
    assert not cli.json("remember", f"{NOTE}, or not", "--not-sensitive")["is_sensitive"]


def test_the_page_leaves_the_decision_to_the_server() -> None:
    """An unticked box does not overrule the detected secret."""
    from importlib.resources import files

    script = files("recollect.shells.web").joinpath("memories/form.js").read_text()
    assert "isSensitive ? draft : rest" in script


async def test_mcp_reports_a_detected_secret(tmp_path: Path) -> None:
    parameters = StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "mcp"],
        env=environment(RECOLLECT_HOME=str(tmp_path / "home")),
    )

    async def call(client: Client, tool: str, **arguments: Any) -> tuple[Any, list[str]]:
        result = await client.call_tool(tool, arguments)
        assert isinstance(result, CallToolResult)
        assert not result.is_error
        return result.structured_content, [getattr(part, "text", "") for part in result.content]

    # The newer handshake would give a server that starts slowly ten seconds and no more.
    async with Client(stdio_client(parameters), mode="legacy") as client:
        stored, texts = await call(client, "memory_store", content=NOTE)
        assert (stored["is_sensitive"], stored["sensitive_because"]) == (True, BECAUSE)
        assert json.loads(texts[0].split("\n")[3]) == stored
        assert "marked as sensitive" in texts[1]
        assert "GitHub token" in texts[1]
        assert TOKEN not in texts[1]
        overruled, texts = await call(client, "memory_update", id=stored["id"], is_sensitive=False)
        assert "is_sensitive" not in overruled
        assert len(texts) == 1
        again, texts = await call(client, "memory_update", id=stored["id"], tags=[TOKEN])
        assert (again["is_sensitive"], len(texts)) == (True, 2)


Question = Callable[[Service], Awaitable[Memory]]
ELSEWHERE = "https://recollect.invalid"
ID = str(uuid4())


async def ask(question: Question) -> Memory:
    async with RemoteService(ELSEWHERE, "rk_x") as remote:
        return await question(remote)


@pytest.mark.parametrize(
    "question",
    [
        lambda remote: remote.remember(Draft(NOTE)),
        lambda remote: remote.remember(Draft("x", tags=(TOKEN,))),
        lambda remote: remote.remember(Draft("x", expanded_keywords=(TOKEN,))),
        lambda remote: remote.remember(Draft("x", project=TOKEN)),
        lambda remote: remote.remember(Draft("x", session=TOKEN)),
        lambda remote: remote.update(ID, {"content": NOTE}),
        lambda remote: remote.update(ID, {"project": TOKEN}),
        lambda remote: remote.update(ID, {"tags": (TOKEN,)}),
    ],
)
async def test_a_client_sends_no_secret_to_another_machine(question: Question) -> None:
    """The refusal comes before any connection: the name does not even resolve."""
    with pytest.raises(InvalidInput, match="GitHub token") as raised:
        await ask(question)
    assert raised.value.field == "is_sensitive"
    assert "RECOLLECT_API_URL" in raised.value.remedy
    assert "--not-sensitive" in raised.value.remedy
    assert TOKEN not in f"{raised.value} {raised.value.remedy}"


async def test_new_text_for_a_memory_that_is_sensitive_there_stays_here(
    server: Running,
) -> None:
    """As if the server were on another machine: it is asked first if the memory is sensitive."""
    async with RemoteService(server.url, server.new_key()) as remote:
        stored = await remote.remember(Draft("the safe's code", is_sensitive=True))
        plain = await remote.remember(Draft("the shed"))
        remote.is_here = False
        with pytest.raises(InvalidInput, match="stays on this machine"):
            await remote.update(str(stored.id), {"content": "the safe's new code"})
        assert (await remote.get(str(stored.id))).content == "the safe's code"
        rated = await remote.update(str(stored.id), {"importance": 0.9})
        assert rated == replace(stored, importance=0.9, version=2, updated_at=rated.updated_at)
        assert (await remote.update(str(plain.id), {"content": "the barn"})).version == 2
        flagged = await remote.update(str(plain.id), {"is_sensitive": True})
        assert flagged.is_sensitive
