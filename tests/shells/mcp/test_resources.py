"""Resources, prompts, progress and cancellation over the real protocol."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent, TextResourceContents
from tests.serving import Running
from tests.shells.cli.commands import unhurried_home
from tests.shells.mcp.test_stdio import INITIALIZE, MODES, STATS, ask, bare, connected
from tests.waiting import SECONDS

from recollect.shells.mcp.prompts import REMEMBER
from recollect.shells.mcp.tools import BY_NAME

pytestmark = pytest.mark.anyio

RECALL = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {
        "name": "memory_recall",
        "arguments": {"query": "anything"},
        "_meta": {"progressToken": "token"},
    },
}
# A question to a server that does not answer ends by itself after 65 seconds.
MAX_CANCEL_SECONDS = 45.0
CANCEL = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}


async def text_of(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    assert isinstance(content, TextResourceContents)
    assert content.uri == uri
    return content.text


@pytest.mark.parametrize("mode", MODES)
async def test_a_memory_and_a_brief_are_read(tmp_path: Path, mode: str) -> None:
    async with connected(tmp_path / "home", mode, RECOLLECT_PROJECT="web shop") as client:
        (listed,) = (await client.list_resources()).resources
        assert listed.uri == "recollect://brief"
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == [
            "recollect://memory/{id}",
            "recollect://brief/{project}",
        ]
        assert await text_of(client, listed.uri) == "Nothing has been remembered here yet."
        stored = await ask(client, "memory_store", content="Tea is in the shed", project="web shop")
        await ask(client, "memory_store", content="Ink is blue", project="blog")
        await ask(client, "memory_store", content="Everywhere holds this", is_global=True)
        await ask(client, "memory_store", content="hush", project="web shop", is_sensitive=True)
        read = json.loads(await text_of(client, f"recollect://memory/{stored['id']}"))
        assert {name: read[name] for name in stored} == stored
        assert stored["id"] in await text_of(client, f"recollect://memory/{stored['id'][:13]}")
        here = await text_of(client, "recollect://brief")
        assert here.index("Tea is in the shed") < here.index("Everywhere holds this")
        assert "Ink" not in here
        assert "hush" not in here
        assert "not instructions" in here
        assert await text_of(client, "recollect://brief/web%20shop") == here
        assert "Ink is blue" in await text_of(client, "recollect://brief/blog")


async def test_unknown_resources_are_reported(tmp_path: Path) -> None:
    unknown = {
        "recollect://memory/01890a5d-0000-7000-8000-000000000000": "(?s)no memory.*memory_list",
        "recollect://memory/..%2f..%2fetc": "not an id",
        "recollect://memory/": "not an id",
        "recollect://nothing": "no resource",
        "file:///etc/passwd": "no resource",
        "recollect://brief/": "blank",
    }
    async with connected(tmp_path / "home") as client:
        for uri, why in unknown.items():
            with pytest.raises(MCPError, match=why):
                await client.read_resource(uri)
        assert (await ask(client, "memory_stats"))["memories"] == 0


async def test_a_server_serves_resources_of_the_keys_owner(server: Running, tmp_path: Path) -> None:
    named = {"RECOLLECT_API_URL": server.url, "RECOLLECT_SYNC": "off"}
    keys = [server.new_key(), server.new_key()]
    async with (
        connected(tmp_path / "one", **named, RECOLLECT_API_KEY=keys[0]) as one,
        connected(tmp_path / "two", **named, RECOLLECT_API_KEY=keys[1]) as two,
    ):
        stored = await ask(one, "memory_store", content="Mine alone")
        assert "Mine alone" in await text_of(one, f"recollect://memory/{stored['id']}")
        with pytest.raises(MCPError, match="no memory"):
            await two.read_resource(f"recollect://memory/{stored['id']}")


@pytest.mark.parametrize("mode", MODES)
async def test_the_prompt_asks_for_the_tools_that_there_are(tmp_path: Path, mode: str) -> None:
    async with connected(tmp_path / "home", mode) as client:
        (listed,) = (await client.list_prompts()).prompts
        assert (listed.name, listed.title) == (REMEMBER, "Remember this session")
        (message,) = (await client.get_prompt(REMEMBER, {"focus": "the new\n harbour"})).messages
        assert message.role == "user"
        assert isinstance(message.content, TextContent)
        text = message.content.text
        assert "above all about: the new harbour." in text
        words = {word.strip(".,:") for word in text.split() if word.startswith("memory_")}
        assert words
        assert words <= set(BY_NAME)
        (plain,) = (await client.get_prompt(REMEMBER)).messages
        assert "above all" not in str(plain.content)
        for name, arguments in [("forget_all", {}), (REMEMBER, {"fokus": "x"})]:
            with pytest.raises(MCPError, match=r"no (prompt|argument)"):
                await client.get_prompt(name, arguments)


@pytest.fixture
def patient(tmp_path: Path) -> Path:
    return unhurried_home(tmp_path / "home")


def test_progress_is_sent_only_to_clients_that_ask(patient: Path) -> None:
    with bare(patient) as pipe:
        pipe.send(INITIALIZE)
        pipe.answer(1)
        pipe.send(RECALL)
        assert progress(pipe.message()) == 0.0
        assert pipe.answer(7)["result"]["structuredContent"]["hits"] == []
        pipe.send(STATS)  # which does not ask for it
        assert pipe.message()["id"] == 3


class Silent:
    """A remote server that receives a request and never answers."""

    def __init__(self, listener: socket.socket) -> None:
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.heard = threading.Event()
        self.left = threading.Event()
        self._thread = threading.Thread(target=self._listen, args=(listener,), daemon=True)
        self._thread.start()

    def _listen(self, listener: socket.socket) -> None:
        caller, _ = listener.accept()
        with caller:
            while data := caller.recv(65_536):
                if b"anything" in data:
                    self.heard.set()
        self.left.set()

    def join(self) -> None:
        self._thread.join(SECONDS)


@contextmanager
def silent() -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Silent(listener)
        yield server
        server.join()


def test_long_call_reports_progress_and_can_be_cancelled(tmp_path: Path) -> None:
    with silent() as server:
        named = {
            "RECOLLECT_API_URL": server.url,
            "RECOLLECT_API_KEY": "rk_test",
            "RECOLLECT_SYNC": "off",
        }
        with bare(tmp_path / "home", **named) as pipe:
            pipe.send(INITIALIZE)
            pipe.answer(1)
            pipe.send(RECALL)
            seconds = [progress(pipe.message()) for _ in range(3)]
            assert seconds == [0.0, 1.0, 2.0]
            assert server.heard.wait(SECONDS)
            assert not server.left.is_set()
            pipe.send(CANCEL)
            # The recall is cancelled, and so is its request to the other machine.
            assert server.left.wait(MAX_CANCEL_SECONDS)
            # A cancelled request is never answered; others are.
            pipe.send({"jsonrpc": "2.0", "id": 8, "method": "tools/list"})
            while (message := pipe.message()).get("id") != 8:
                assert message.get("method") == "notifications/progress"


def progress(message: Any) -> float:
    assert message["method"] == "notifications/progress"
    assert message["params"]["progressToken"] == "token"
    assert message["params"]["message"] == "Recall memories"
    return float(message["params"]["progress"])


def test_a_cancelled_call_leaves_the_store_whole(patient: Path) -> None:
    with bare(patient) as pipe:
        pipe.send(INITIALIZE)
        pipe.answer(1)
        for number in range(20):
            store = {"name": "memory_store", "arguments": {"content": f"fact {number}"}}
            request = {"jsonrpc": "2.0", "id": 100 + number, "method": "tools/call"}
            pipe.send({**request, "params": store})
            pipe.send({**CANCEL, "params": {"requestId": 100 + number}})
        pipe.send(STATS)
        stored = pipe.answer(3)["result"]["structuredContent"]["memories"]
        assert 0 <= stored <= 20


def test_nothing_is_imported_for_resources_before_they_are_asked_for() -> None:
    program = (
        "import sys, recollect.shells.mcp.stdio\n"
        "assert 'recollect.shells.mcp.resources' not in sys.modules\n"
        "assert 'recollect.wiring' not in sys.modules\n"
        "assert 'recollect.shells.mcp.tools' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=SECONDS)
