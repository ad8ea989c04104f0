"""MCP over a real pipe: the SDK's own client, and a bare one for what a client never sends."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult, TextContent
from tests.processes import COMMAND, environment
from tests.serving import Running
from tests.shells.cli.commands import client_of, unhurried_home
from tests.shells.mcp.schemas import fits
from tests.waiting import SECONDS

from recollect.core.admin.checks import WORDS_ONLY
from recollect.shells.mcp import compact
from recollect.shells.mcp.tools import TOOLS

pytestmark = pytest.mark.anyio

MODES = ("legacy", "auto")  # the handshake of 2025 and the one of 2026
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
STATS = {
    "jsonrpc": "2.0",
    "id": 3,
    "method": "tools/call",
    "params": {"name": "memory_stats", "arguments": {}},
}

BAD = (
    b"not json",
    b"",
    b"{",
    b"[]",
    b"null",
    b'{"jsonrpc": "2.0"}',
    b"\xff\xfe",
    b"[" * 9999,
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": []}}',
)


@asynccontextmanager
async def connected(
    home: Path, mode: str = "auto", folder: Path | str | None = None, **settings: str
) -> AsyncIterator[Client]:
    """Connect the SDK's client to a server of its own, which must print nothing to stderr."""
    errors = home.with_suffix(".stderr")
    parameters = StdioServerParameters(
        command=COMMAND[0],
        args=[*COMMAND[1:], "mcp"],
        env=environment(RECOLLECT_HOME=str(home), **settings),
        cwd=folder,
    )
    with errors.open("w") as errlog:
        async with Client(stdio_client(parameters, errlog), mode=mode) as client:
            yield client
    assert errors.read_text() == ""


async def ask(client: Client, tool: str, **arguments: Any) -> Any:
    """Return the structured answer of a call that must succeed and fit the output schema."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result.content
    (described,) = [listed for listed in (await client.list_tools()).tools if listed.name == tool]
    assert described.output_schema is not None
    fits(result.structured_content, described.output_schema)
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert json.loads(text.text.split("\n")[3]) == result.structured_content
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """Return the error of a call that must fail."""
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    assert result.is_error
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert "Traceback" not in text.text
    what, remedy = text.text.split("\n→ ")
    assert what
    assert remedy
    return text.text


@pytest.fixture
def patient(tmp_path: Path) -> Path:
    return unhurried_home(tmp_path / "home")


async def test_session_gets_the_words_only_hint_once(patient: Path) -> None:
    for _ in range(2):
        async with connected(patient) as client:
            first = await ask(client, "memory_recall", query="tea")
            assert first["hint"] == WORDS_ONLY
            assert "hint" not in await ask(client, "memory_recall", query="coffee")


@pytest.mark.usefixtures("real_processes")
@pytest.mark.parametrize("mode", MODES)
async def test_every_tool_through_a_real_client(patient: Path, mode: str) -> None:
    async with connected(patient, mode) as client:
        stored = await ask(client, "memory_store", content="Tea is kept in the shed", tags=["tea"])
        found = await ask(client, "memory_recall", query="where is the tea?")
        assert [hit["memory"] for hit in found["hits"]] == [stored]
        assert found["hits"][0].keys() == {"memory", "score"}
        assert "legs" not in found
        explained = await ask(client, "memory_recall", query="tea", explain=True)
        assert explained["hits"][0]["explanation"]["legs"]["lexical"]["rank"] == 1
        assert (await ask(client, "memory_list", limit=5))["memories"] == [stored]
        prefix = stored["id"][:13]
        why = await ask(client, "memory_why", id=prefix, query="tea", exclude=[stored["id"]])
        assert (why["memory"], why["recalled"], why["place"]) == (stored, False, 1)
        assert why["kept_out"][0]["kind"] == "excluded"
        assert why["legs"]["lexical"]["rank"] == 1
        assert await ask(client, "memory_get", id=prefix) == stored
        changed = await ask(client, "memory_update", id=prefix, importance=0.9, based_on=1)
        assert (changed["importance"], changed["version"]) == (0.9, 2)
        assert changed["tags"] == ["tea"]
        assert (await ask(client, "memory_stats"))["memories"] == 1
        deleted = await ask(client, "memory_delete", id=prefix)
        assert deleted == {"id": stored["id"], "forever": False}
        erased = await ask(client, "memory_delete", id=prefix, forever=True)
        assert erased == {"id": stored["id"], "forever": True}
        assert await ask(client, "memory_stats") == {
            "memories": 0,
            "forgotten": 0,
            "sensitive": 0,
            "by_category": {},
            "by_project": {},
            "by_language": {},
            "expiring": 0,
            "former_names": {},
        }


async def test_errors_reach_the_model_with_their_remedy(tmp_path: Path) -> None:
    async with connected(tmp_path / "home") as client:
        stored = await ask(client, "memory_store", content="x")
        assert "content is empty" in await refusal(client, "memory_store", content=" ")
        assert "outside 0..1" in await refusal(client, "memory_store", content="x", importance=2)
        assert "unknown category" in await refusal(
            client, "memory_store", content="x", category="gossip"
        )
        assert "contents" in await refusal(client, "memory_store", contents="x")
        assert "query" in await refusal(client, "memory_recall")
        assert "outside 1..100" in await refusal(client, "memory_recall", query="x", limit=0)
        unknown = await refusal(client, "memory_get", id="01890a5d")
        assert "no memory 01890a5d" in unknown
        # An agent has tools, and no command line.
        assert "Run memory_list" in unknown
        unread = await refusal(client, "memory_delete", id="everything")
        assert "not an id" in unread
        assert "an id that memory_list shows" in unread
        assert "no change" in await refusal(client, "memory_update", id=stored["id"])
        assert "version 1 is current" in await refusal(
            client, "memory_update", id=stored["id"], content="y", based_on=7
        )
        assert "cursor" in await refusal(client, "memory_list", cursor="nonsense")


async def test_a_store_that_cannot_be_opened_is_retried(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "memories.db").write_bytes(b"no database" * 1000)
    async with connected(home) as client:
        assert "backup" in await refusal(client, "memory_stats")
        (home / "memories.db").unlink()
        assert (await ask(client, "memory_stats"))["memories"] == 0


async def test_invalid_settings_are_reported_at_the_first_call(tmp_path: Path) -> None:
    async with connected(tmp_path / "home", RECOLLECT_MAX_CONTENT="many") as client:
        assert "RECOLLECT_MAX_CONTENT" in await refusal(client, "memory_stats")


async def test_it_works_on_a_server_when_one_is_named(server: Running, tmp_path: Path) -> None:
    key = server.new_key()
    named = {"RECOLLECT_API_URL": server.url, "RECOLLECT_API_KEY": key, "RECOLLECT_SYNC": "off"}
    async with connected(tmp_path / "home", **named) as client:
        stored = await ask(client, "memory_store", content="kept on the server")
    shown = client_of(server, tmp_path, key).process("show", stored["id"], "--json")
    assert compact.answer(json.loads(shown.stdout)) == stored
    assert not (tmp_path / "home").exists()


class Pipe:
    """A client that can send anything."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self._in.write(line + b"\n")
        self._in.flush()

    def answer(self, id: int) -> Any:
        """Return the answer to a request; every line before it must be protocol, too."""
        while True:
            message = self.message()
            if message.get("id") == id:
                return message

    def message(self) -> Any:
        """Return the next line, which must be protocol."""
        message = json.loads(self._out.readline())
        assert message["jsonrpc"] == "2.0"
        return message


@contextmanager
def bare(home: Path, **settings: str) -> Iterator[Pipe]:
    """Run a session that must print nothing but protocol and end cleanly when stdin closes."""
    process = subprocess.Popen(
        [*COMMAND, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(RECOLLECT_HOME=str(home), **settings),
    )
    with process:
        yield Pipe(process)
        rest, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, rest, errors) == (0, b"", b"")


def test_bad_lines_are_survived(tmp_path: Path) -> None:
    """Before the client has introduced itself, and after."""
    with bare(tmp_path / "home") as pipe:
        pipe.send(*BAD, INITIALIZE)
        assert pipe.answer(1)["result"]["serverInfo"]["name"] == "recollect"
        for number, line in enumerate(BAD, start=10):
            pipe.send(line, {**STATS, "id": number})
            stats = pipe.answer(number)["result"]["structuredContent"]
            assert stats["memories"] == 0, line


def test_half_of_a_surrogate_pair_is_stored_as_its_replacement(tmp_path: Path) -> None:
    """A client that cuts a text inside an emoji sends one."""
    arguments = {"content": "a broken \ud83e harbour"}
    store = {**STATS, "params": {"name": "memory_store", "arguments": arguments}}
    with bare(tmp_path / "home") as pipe:
        pipe.send(INITIALIZE, json.dumps(store).encode())
        memory = pipe.answer(3)["result"]["structuredContent"]
        assert memory["content"] == "a broken \ufffd harbour"


def test_an_unknown_tool_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    with bare(tmp_path / "home") as pipe:
        pipe.send(INITIALIZE, {**STATS, "params": {"name": "memory_sell", "arguments": {}}})
        assert "memory_sell" in pipe.answer(3)["error"]["message"]


def test_nothing_is_opened_or_asked_before_the_first_call(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        callers: list[socket.socket] = []

        def count() -> None:
            caller, _ = listener.accept()
            callers.append(caller)
            caller.close()

        counting = threading.Thread(target=count, daemon=True)
        counting.start()
        named = {"RECOLLECT_API_URL": url, "RECOLLECT_API_KEY": "rk_test", "RECOLLECT_SYNC": "off"}
        with bare(tmp_path / "home", **named) as pipe:
            pipe.send(INITIALIZE, LIST)
            assert len(pipe.answer(2)["result"]["tools"]) == len(TOOLS)
            assert callers == []
            assert not (tmp_path / "home").exists()
            pipe.send(STATS)
            assert pipe.answer(3)["result"]["isError"] is True
            counting.join(SECONDS)
            assert len(callers) == 1


def test_the_local_store_is_created_by_the_first_call(tmp_path: Path) -> None:
    with bare(tmp_path / "home") as pipe:
        pipe.send(INITIALIZE, LIST)
        pipe.answer(2)
        assert not (tmp_path / "home").exists()
        pipe.send(STATS)
        pipe.answer(3)
        assert (tmp_path / "home" / "memories.db").exists()


@pytest.mark.parametrize("messages", [(INITIALIZE,), (INITIALIZE, STATS)])
def test_ctrl_c_ends_it_while_stdin_is_open(
    tmp_path: Path, messages: tuple[dict[str, Any], ...]
) -> None:
    """With and without a store that must be closed."""
    with subprocess.Popen(
        [*COMMAND, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(RECOLLECT_HOME=str(tmp_path / "home")),
        # A run in the background inherits an ignored SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        pipe = Pipe(process)
        pipe.send(*messages)
        pipe.answer(messages[-1]["id"])
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""
