"""MCP over a real socket: a key opens its owner's memories, and no others."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from httpx2 import AsyncClient
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from tests.serving import Running
from tests.shells.mcp.schemas import fits
from tests.waiting import SECONDS

from recollect.shells.mcp.tools import TOOLS

pytestmark = pytest.mark.anyio

MODES = ("legacy", "auto")
MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@asynccontextmanager
async def connected(server: Running, key: str, mode: str = "auto") -> AsyncIterator[Client]:
    async with (
        AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=SECONDS) as http,
        Client(streamable_http_client(_url(server), http_client=http), mode=mode) as client,
    ):
        yield client


def _url(server: Running) -> str:
    return f"{server.url}/mcp"


async def call(client: Client, tool: str, **arguments: Any) -> CallToolResult:
    result = await client.call_tool(tool, arguments)
    assert isinstance(result, CallToolResult)
    return result


@pytest.mark.parametrize("mode", MODES)
async def test_the_same_tools_over_http(server: Running, mode: str) -> None:
    async with connected(server, server.new_key(), mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert len(tools) == len(TOOLS)
        stored = await call(client, "memory_store", content="Tea is kept in the shed")
        found = await call(client, "memory_recall", query="tea")
        assert found.structured_content["hits"][0]["memory"] == stored.structured_content
        fits(found.structured_content, tools["memory_recall"].output_schema)
        id = stored.structured_content["id"]
        why = await call(client, "memory_why", id=id, query="coffee", weights={"dense": 0})
        fits(why.structured_content, tools["memory_why"].output_schema)
        assert why.structured_content["memory"] == stored.structured_content
        kept_out = [
            (reason["kind"], reason.get("leg")) for reason in why.structured_content["kept_out"]
        ]
        assert kept_out[:2] == [("no_match", "lexical"), ("leg_skipped", "dense")]
        assert "--weight dense=" in why.structured_content["kept_out"][1]["remedy"]
        failed = await call(client, "memory_store", content="")
        assert failed.is_error


async def test_a_key_opens_only_its_owners_memories(server: Running) -> None:
    async with (
        connected(server, server.new_key()) as mine,
        connected(server, server.new_key()) as theirs,
    ):
        stored = await call(mine, "memory_store", content="a private matter", tags=["mine"])
        id = stored.structured_content["id"]
        for tool, arguments in {
            "memory_get": {"id": id},
            "memory_why": {"id": id, "query": "private matter"},
            "memory_update": {"id": id, "content": "taken"},
            "memory_delete": {"id": id, "forever": True},
        }.items():
            assert (await call(theirs, tool, **arguments)).is_error, tool
        found = await call(theirs, "memory_recall", query="private matter")
        assert found.structured_content["hits"] == []
        assert (await call(theirs, "memory_list")).structured_content["memories"] == []
        assert (await call(theirs, "memory_stats")).structured_content["memories"] == 0
        # The same id is another memory, so an id that exists elsewhere is not reported.
        assert not (await call(theirs, "memory_store", content="my own", id=id)).is_error
        memory = await call(mine, "memory_get", id=id)
        assert memory.structured_content == stored.structured_content


async def test_links_are_made_served_and_asked_as_of_a_moment(server: Running) -> None:
    async with connected(server, server.new_key()) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        old = (
            await call(client, "memory_store", content="the ferry leaves at six")
        ).structured_content
        link = {"kind": "supersedes", "target": old["id"]}
        new = await call(client, "memory_store", content="the ferry leaves at seven", links=[link])
        assert new.structured_content["links"] == [link]
        found = await call(client, "memory_recall", query="ferry")
        fits(found.structured_content, tools["memory_recall"].output_schema)
        (hit,) = found.structured_content["hits"]
        assert (hit["memory"]["id"], hit["stands_for"]) == (
            new.structured_content["id"],
            [old["id"]],
        )
        then = await call(client, "memory_recall", query="ferry", as_of=old["created_at"])
        assert [hit["memory"]["id"] for hit in then.structured_content["hits"]] == [old["id"]]
        changed = await call(client, "memory_update", id=hit["memory"]["id"], links=[])
        assert "links" not in changed.structured_content
        assert (
            len((await call(client, "memory_recall", query="ferry")).structured_content["hits"])
            == 2
        )
        odd = {"kind": "marries", "target": old["id"]}
        assert (await call(client, "memory_update", id=old["id"], links=[odd])).is_error


async def test_a_recall_is_counted_like_any_other(server: Running) -> None:
    async def counted() -> float:
        async with httpx.AsyncClient(timeout=SECONDS) as http:
            text = (await http.get(f"{server.url}/api/v1/metrics")).text
        lines = [
            line for line in text.splitlines() if line.startswith("recollect_recall_seconds_c")
        ]
        return float(lines[0].split()[1])

    before = await counted()
    async with connected(server, server.new_key()) as client:
        await call(client, "memory_recall", query="tea")
    assert await counted() == before + 1


@pytest.mark.parametrize("shown", [None, "Bearer rk_wrong", "Bearer", "Basic cms6cms="])
async def test_without_a_known_key_nothing_is_answered(server: Running, shown: str | None) -> None:
    headers = HEADERS if shown is None else {**HEADERS, "Authorization": shown}
    async with httpx.AsyncClient(timeout=SECONDS) as http:
        answer = await http.post(_url(server), json=MESSAGE, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert "tools" not in answer.text
    assert answer.json()["remedy"]


async def test_half_of_a_surrogate_pair_is_stored_as_its_replacement(server: Running) -> None:
    store = {"name": "memory_store", "arguments": {"content": "a broken \ud83e harbour"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": store}
    headers = {**HEADERS, "Authorization": f"Bearer {server.new_key()}"}
    async with httpx.AsyncClient(headers=headers, timeout=SECONDS) as client:
        answer = await client.post(_url(server), content=json.dumps(message))
    memory = answer.json()["result"]["structuredContent"]
    assert memory["content"] == "a broken \ufffd harbour"


async def test_a_foreign_host_is_refused_even_with_a_key(server: Running) -> None:
    shown = {**HEADERS, "Authorization": f"Bearer {server.new_key()}", "Host": "evil.example"}
    async with httpx.AsyncClient(timeout=SECONDS) as http:
        answer = await http.post(_url(server), json=MESSAGE, headers=shown)
    assert answer.status_code == 421


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_there_are_no_sessions_to_listen_to_or_end(server: Running, method: str) -> None:
    shown = {**HEADERS, "Authorization": f"Bearer {server.new_key()}"}
    async with httpx.AsyncClient(timeout=SECONDS) as http:
        answer = await http.request(method, _url(server), headers=shown)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


@pytest.mark.parametrize("mode", MODES)
async def test_resources_and_prompts_over_http(server: Running, mode: str) -> None:
    async with (
        connected(server, server.new_key(), mode) as mine,
        connected(server, server.new_key(), mode) as theirs,
    ):
        stored = await call(mine, "memory_store", content="The shed is locked", project="garden")
        await call(mine, "memory_store", content="Everywhere holds this")
        uri = f"recollect://memory/{stored.structured_content['id']}"
        assert "The shed is locked" in str(await mine.read_resource(uri))
        with pytest.raises(MCPError, match="no memory"):
            await theirs.read_resource(uri)
        # A server works in no folder: its brief has no project until one is named.
        brief = str(await mine.read_resource("recollect://brief"))
        assert "Everywhere holds this" in brief
        assert "shed" not in brief
        assert "The shed is locked" in str(await mine.read_resource("recollect://brief/garden"))
        assert "Nothing has been remembered" in str(await theirs.read_resource("recollect://brief"))
        (prompt,) = (await mine.list_prompts()).prompts
        assert (await mine.get_prompt(prompt.name)).messages


@pytest.mark.parametrize("mode", MODES)
async def test_progress_request_over_http_is_answered(server: Running, mode: str) -> None:
    async def hear(progress: float, total: float | None, message: str | None) -> None:
        """Do nothing: an answer in one JSON document cannot report progress."""

    async with connected(server, server.new_key(), mode) as client:
        result = await client.call_tool("memory_stats", {}, progress_callback=hear)
        assert isinstance(result, CallToolResult)
        assert not result.is_error


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("memory_store", {"content": "x", "importance": "high"}, "Pass a number from 0 (trivial)"),
        ("memory_store", {"content": "x", "tags": 5}, "Pass a list of texts"),
        ("memory_recall", {"query": "x", "limit": "ten"}, "Pass a whole number"),
        ("memory_list", {"since": "yesterday"}, "such as 2026-01-31T09:30:00Z"),
        ("memory_get", {}, "id is missing"),
    ],
)
async def test_wrong_argument_type_is_reported_in_our_own_words(
    server: Running, tool: str, arguments: dict[str, Any], message: str
) -> None:
    async with connected(server, server.new_key()) as client:
        refused = await call(client, tool, **arguments)
    assert refused.is_error
    assert message in str(refused.content)
    assert "Input should" not in str(refused.content)
