"""MCP over a pipe with a server behind it: the agent's writes are sent in the background."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.serving import Running
from tests.shells.mcp.test_stdio import ask, connected

pytestmark = pytest.mark.anyio
SECONDS = 60


async def test_an_agent_goes_on_without_the_server_and_its_writes_are_sent_later(
    server: Running, tmp_path: Path
) -> None:
    key = server.new_key()
    home = tmp_path / "home"
    away = {"RECOLLECT_API_URL": "http://127.0.0.1:9", "RECOLLECT_API_KEY": key}
    async with connected(home, **away) as client:
        stored = await ask(client, "memory_store", content="The harbour is closed")
        found = await ask(client, "memory_recall", query="harbour")
        assert found["hits"][0]["memory"] == stored
        assert "by words alone" in found["note"]
        why = await ask(client, "memory_why", id=stored["id"], query="harbour")
        assert why["recalled"]
        assert "by words alone" in why["note"]
    async with connected(home, **{**away, "RECOLLECT_API_URL": server.url}) as client:
        await ask(client, "memory_stats")  # opens the store, and the engine with it
        with server.client(key) as http:
            async with asyncio.timeout(SECONDS):
                while http.get(f"memories/{stored['id']}").status_code != 200:  # noqa: ASYNC110, RUF100  # it is elsewhere
                    await asyncio.sleep(0.05)
