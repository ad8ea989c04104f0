"""A program for `test_new_field.py`, run by a Recollect whose memories have `places`: it prints
where they are found.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from httpx2 import AsyncClient
from mcp import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import sync_playwright
from tests.serving import Running, running
from tests.sync.clients import OWNER, Client
from tests.waiting import SECONDS

from recollect import AsyncClient as AsyncRecollect
from recollect.adapters.sqlite.store import SqliteStore
from recollect.core.imports.jsonl import from_values, to_line
from recollect.core.memory.memory import EVERYWHERE

OLD, NEW = ["Davos"], ["Zermatt", "Saas-Fee"]


def use_rest(server: Running, key: str) -> dict[str, Any]:
    """On Postgres: store a memory, change it, and recall what it was before."""
    with server.client(key) as http:

        def recall(**options: str) -> Any:
            asked = {"query": "climbs", **options}
            return http.post("recall", json=asked).json()["hits"][0]["memory"]["places"]

        stored = http.post("memories", json={"content": "Ada climbs.", "places": OLD}).json()
        path = f"memories/{stored['id']}"
        changed = http.patch(path, json={"places": NEW}).json()
        lines = http.post("/memories:export", json={"ids": [stored["id"]]}).json()["lines"]
        return {
            "id": stored["id"],
            "stored": stored["places"],
            "changed": changed["places"],
            "versions": [
                version["places"] for version in http.get(f"{path}/versions").json()["versions"]
            ],
            "recalled": recall(),
            "recalled as of then": recall(as_of=stored["updated_at"]),
            "page": http.get(f"{path}/details").json()["memory"]["places"],
            "exported": json.loads(lines[1])["places"],
        }


async def use_mcp(server: Running, key: str) -> Any:
    url = f"{server.url}/mcp"
    async with (
        AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=SECONDS) as http,
        McpClient(streamable_http_client(url, http_client=http)) as client,
    ):
        stored = await client.call_tool("memory_store", {"content": "Ada swims.", "places": OLD})
        id = stored.structured_content["id"]
        await client.call_tool("memory_update", {"id": id, "places": NEW})
        return (await client.call_tool("memory_get", {"id": id})).structured_content["places"]


async def use_python(server: Running, key: str) -> Any:
    async with AsyncRecollect(url=server.url, key=key) as client:
        stored = await client.remember("Ada runs.", places=OLD)  # type: ignore[call-arg]  # has it
        changed = await client.update(stored.id, places=NEW)  # type: ignore[call-arg]  # as above
        return [getattr(memory, "places") for memory in (stored, changed)]  # noqa: B009  # as above


async def use_sync(server: Running, key: str, home: Path, id: UUID) -> dict[str, Any]:
    """On SQLite: pull it from the server, send a change back, and read a former version."""
    async with Client(home / "one", server.url, key) as client:
        await client.sync()
        pulled = await client.store.get(OWNER, id)
        assert pulled is not None
        await client.service.update(str(id), {"places": (*OLD,)})  # type: ignore[typeddict-unknown-key]  # has it
        await client.sync()
        versions = await client.service.history(str(id))
        line = to_line(versions[0])
    with server.client(key) as http:
        pushed = http.get(f"memories/{id}").json()["places"]
    return {
        "pulled": getattr(pulled, "places"),  # noqa: B009  # only this Recollect has it
        "pushed": pushed,
        "versions": [getattr(version, "places") for version in versions],  # noqa: B009  # as above
        "line": json.loads(line)["places"],
        "read again": getattr(from_values(json.loads(line), OWNER), "places"),  # noqa: B009  # as above
    }


async def read_older(path: Path) -> Any:
    """Read a store that was created without the field."""
    async with SqliteStore(path) as store:
        (memory,) = await store.page(OWNER, EVERYWHERE, None, 2)
        return getattr(memory, "places")  # noqa: B009  # only this Recollect has it


def show(server: Running, key: str, id: str, chromium: str) -> str:
    """Return what the page shows about a memory."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context()
        context.set_default_timeout(SECONDS * 1000)
        context.add_init_script(f"sessionStorage.setItem('recollect-key', '{key}')")
        page = context.new_page()
        page.goto(f"{server.url}/#/memory/{id}")
        text = page.get_by_role("complementary", name="Facts").inner_text()
        browser.close()
        return text


def main(database_url: str, home: Path, chromium: str) -> None:
    with running(database_url, home / "server") as server:
        key = server.new_key()
        found = use_rest(server, key)
        if chromium:
            found["shown"] = show(server, key, found["id"], chromium)
        else:
            found["mcp"] = asyncio.run(use_mcp(server, key))
            found["python"] = asyncio.run(use_python(server, key))
            found["sync"] = asyncio.run(use_sync(server, key, home, UUID(found["id"])))
            found["older"] = asyncio.run(read_older(home / "older.db"))
        sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
