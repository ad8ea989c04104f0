"""MCP over stdio works in the project of its folder, where hooks and the command line look, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.agents.agent import ScriptedAgent
from tests.adapters.files.test_repository import repository
from tests.shells.cli.commands import unhurried_home
from tests.shells.mcp.test_stdio import ask, connected, refusal

pytestmark = pytest.mark.anyio

SHOP = "github.com/ada/shop"
FRIDAY = "The staging database is read-only on Fridays."


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return unhurried_home(tmp_path / "home")


async def test_tools_work_in_the_project_of_the_folder(home: Path, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop", "git@github.com:ada/shop.git")
    elsewhere = "Their staging database moves."
    async with connected(home, folder=shop) as client:
        await ask(client, "memory_store", content=elsewhere, project="gitlab.com/bob/lab")
        stored = await ask(client, "memory_store", content=FRIDAY)
        assert stored["project"] == SHOP
        named = await ask(client, "memory_store", content="Deploys use make.", project="shop")
        assert named["project"] == SHOP
        tea = await ask(client, "memory_store", content="Staging tea is free.", is_global=True)
        assert "project" not in tea
        await refusal(client, "memory_store", content="x", project="shop", is_global=True)
        found = await ask(client, "memory_recall", query="staging")
        assert {hit["memory"]["id"] for hit in found["hits"]} == {stored["id"], tea["id"]}
        assert (found["project"], found["with_global"]) == (SHOP, True)
        found = await ask(client, "memory_recall", query="staging", everywhere=True)
        assert (len(found["hits"]), found.get("project")) == (3, None)
        found = await ask(client, "memory_recall", query="staging", scope={"project": "lab"})
        assert [hit["memory"]["content"] for hit in found["hits"]] == [elsewhere]
        assert len((await ask(client, "memory_list"))["memories"]) == 3
        assert len((await ask(client, "memory_list", everywhere=True))["memories"]) == 4
        moved = await ask(client, "memory_update", id=tea["id"], project="shop")
        assert moved["project"] == SHOP
    assert FRIDAY in ScriptedAgent(home, shop).ask("Is the staging database read-only on Fridays?")
