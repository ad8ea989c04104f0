"""The memory tool's six commands on a real store: each file is a memory like any other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from recollect.core.memory.memory import Changes, Draft, Memory, Scope
from recollect.core.recall.request import RecallRequest
from recollect.ports.service import Service
from recollect.settings import load
from recollect.usecases.agents.memory_tool import FILE_TAG, ToolAnswer, memory_tool
from recollect.wiring.local import open_service

pytestmark = pytest.mark.anyio


@pytest.fixture
async def recollect(tmp_path: Path) -> AsyncIterator[Service]:
    async with open_service(load(home=tmp_path, api_url=None)) as opened:
        yield opened


class Tool:
    """The tool as a model sees it."""

    def __init__(self, recollect: Service, project: str | None = None) -> None:
        self.recollect = recollect
        self.project = project

    async def answer(self, command: str, **arguments: Any) -> ToolAnswer:
        asked = {"command": command, **arguments}
        return await memory_tool(self.recollect, asked, project=self.project)

    async def done(self, command: str, **arguments: Any) -> str:
        answer = await self.answer(command, **arguments)
        assert not answer.is_error, answer.text
        return answer.text

    async def refused(self, command: str, **arguments: Any) -> str:
        answer = await self.answer(command, **arguments)
        assert answer.is_error, answer.text
        return answer.text

    async def memories(self) -> list[Memory]:
        return [*(await self.recollect.page(Scope(tags=(FILE_TAG,)), None, 100)).memories]


@pytest.fixture
def tool(recollect: Service) -> Tool:
    return Tool(recollect)


PREFERENCES = "/memories/preferences.txt"


async def test_a_session_with_the_tool(tool: Tool) -> None:
    assert (await tool.done("view", path="/memories")).endswith("\n0B\t/memories")
    text = "Favorite color: blue\nEditor: vim\n"
    assert await tool.done("create", path=PREFERENCES, file_text=text) == (
        f"File created successfully at: {PREFERENCES}"
    )
    assert await tool.done("view", path=PREFERENCES) == (
        f"Here's the content of {PREFERENCES} with line numbers:\n"
        "     1\tFavorite color: blue\n     2\tEditor: vim"
    )
    assert await tool.done("str_replace", path=PREFERENCES, old_str="blue", new_str="green") == (
        "The memory file has been edited.\n     1\tFavorite color: green\n     2\tEditor: vim"
    )
    assert await tool.done("insert", path=PREFERENCES, insert_line=1, insert_text="Tea: no\n") == (
        f"The file {PREFERENCES} has been edited."
    )
    assert (await tool.done("view", path=PREFERENCES, view_range=[2, 2])).endswith(
        "     2\tTea: no"
    )
    new = "/memories/people/ada.txt"
    assert await tool.done("rename", old_path=PREFERENCES, new_path=new) == (
        f"Successfully renamed {PREFERENCES} to {new}"
    )
    assert (await tool.done("view", path="/memories")).split("\n")[1:] == [
        "41B\t/memories",
        "41B\t/memories/people",
        "41B\t/memories/people/ada.txt",
    ]
    assert await tool.done("delete", path="/memories/people") == (
        "Successfully deleted /memories/people"
    )
    assert (await tool.done("view", path="/memories")).endswith("\n0B\t/memories")


async def test_a_file_is_a_memory_that_is_recalled(tool: Tool) -> None:
    await tool.done("create", path=PREFERENCES, file_text="Ada prefers small pull requests.")
    found = await tool.recollect.recall(RecallRequest("pull requests"))
    memory = found.hits[0].memory
    assert memory.tags == (FILE_TAG, PREFERENCES)
    await tool.recollect.update(str(memory.id), Changes(content="Ada prefers tiny pull requests."))
    assert "tiny" in await tool.done("view", path=PREFERENCES)
    await tool.recollect.forget(str(memory.id))
    assert await tool.refused("view", path=PREFERENCES) == (
        f"The path {PREFERENCES} does not exist. Please provide a valid path."
    )


async def test_what_is_not_there(tool: Tool) -> None:
    missing = "/memories/gone.txt"
    plain = f"Error: The path {missing} does not exist"
    refusals: dict[str, tuple[str, dict[str, Any]]] = {
        f"The path {missing} does not exist. Please provide a valid path.": (
            "view",
            {"path": missing},
        ),
        f"{plain}. Please provide a valid path.": (
            "str_replace",
            {"path": missing, "old_str": "a", "new_str": "b"},
        ),
        plain: ("insert", {"path": missing, "insert_line": 0, "insert_text": "a"}),
    }
    for message, (command, arguments) in refusals.items():
        assert await tool.refused(command, **arguments) == message
    assert await tool.refused("delete", path=missing) == plain
    assert await tool.refused("rename", old_path=missing, new_path="/memories/x") == plain


async def test_what_is_there_is_not_overwritten(tool: Tool) -> None:
    await tool.done("create", path="/memories/a", file_text="one")
    await tool.done("create", path="/memories/d/b", file_text="two")
    for path in ("/memories/a", "/memories/d", "/memories"):
        assert await tool.refused("create", path=path, file_text="x") == (
            f"Error: File {path} already exists"
        )
    for new in ("/memories/d/b", "/memories/d", "/memories"):
        assert await tool.refused("rename", old_path="/memories/a", new_path=new) == (
            f"Error: The destination {new} already exists"
        )
    assert "is a file" in await tool.refused("create", path="/memories/a/c", file_text="x")
    assert "into itself" in await tool.refused(
        "rename", old_path="/memories/d", new_path="/memories/d/e"
    )
    assert "cannot be deleted" in await tool.refused("delete", path="/memories")
    assert await tool.refused("str_replace", path="/memories/d", old_str="a", new_str="b") == (
        "Error: The path /memories/d does not exist. Please provide a valid path."
    )
    assert len(await tool.memories()) == 2


async def test_a_directory_moves_with_all_it_holds(tool: Tool) -> None:
    for name in ("a", "b/c", "b/d"):
        await tool.done("create", path=f"/memories/old/{name}", file_text=name)
    await tool.done("create", path="/memories/older", file_text="stays")
    await tool.done("rename", old_path="/memories/old", new_path="/memories/new")
    for name in ("a", "b/c", "b/d"):
        assert (await tool.done("view", path=f"/memories/new/{name}")).endswith(f"\t{name}")
    assert (await tool.done("view", path="/memories/older")).endswith("stays")
    far = "/memories/" + "x" * 185
    assert "not allowed" in await tool.refused(
        "rename", old_path="/memories/new", new_path=far + "yyyyyy"
    )
    assert "not allowed" in await tool.refused(
        "rename", old_path="/memories/new", new_path=far + "y" * 4
    )
    assert (await tool.done("view", path="/memories/new/b/c")).endswith("\tb/c")


async def test_projects_are_directories_of_their_own(recollect: Service) -> None:
    everywhere, shop, blog = (Tool(recollect, name) for name in (None, "shop", "blog"))
    # The files of no project come last, so that they are not simply the oldest.
    for tool in (shop, blog, everywhere):
        await tool.done("create", path="/memories/a", file_text=f"of {tool.project}")
    for tool in (everywhere, shop, blog):
        assert (await tool.done("view", path="/memories/a")).endswith(f"of {tool.project}")
    await shop.done("delete", path="/memories/a")
    assert (await blog.done("view", path="/memories/a")).endswith("of blog")


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "view", "path": "/memories/../secrets"},
        {"command": "create", "path": "/etc/cron.d/x", "file_text": "x"},
        {"command": "create", "path": "/memories/%2e%2e/x", "file_text": "x"},
        {"command": "rename", "old_path": "/memories/a", "new_path": "/memories/../a"},
        {"command": "create", "path": "/memories/x"},
        {"command": "create", "path": "/memories/x", "file_text": None},
        {"command": "create", "path": "/memories/x", "file_text": "  \n "},
        {"command": "create", "path": "/memories/x", "file_text": "x" * 100_001},
        {"command": "create", "path": "/memories/x", "file_text": "a\x00b"},
        {"command": "str_replace", "path": "/memories/a", "old_str": "one", "new_str": ""},
        {"command": "insert", "path": "/memories/a", "insert_line": 5, "insert_text": "x"},
        {"command": "shell", "path": "/memories/a"},
        {"command": ["view"], "path": "/memories"},
        {},
    ],
)
async def test_what_is_refused_changes_nothing(tool: Tool, arguments: dict[str, Any]) -> None:
    await tool.done("create", path="/memories/a", file_text="one")
    before = await tool.memories()
    answer = await memory_tool(tool.recollect, arguments)
    assert answer.is_error
    assert await tool.memories() == before


async def test_editors_at_the_same_time_lose_nothing(tool: Tool) -> None:
    await tool.done("create", path="/memories/log", file_text="start")
    await asyncio.gather(
        *(
            tool.done("insert", path="/memories/log", insert_line=1, insert_text=f"entry {number}")
            for number in range(4)
        )
    )
    seen = await tool.done("view", path="/memories/log")
    assert all(f"entry {number}" in seen for number in range(4))


async def test_a_path_that_two_machines_made_is_one_file(tool: Tool) -> None:
    for text in ("first", "second"):
        await tool.recollect.remember(Draft(text, tags=(FILE_TAG, "/memories/twice")))
    assert (await tool.done("view", path="/memories/twice")).endswith("\tfirst")
    await tool.done("delete", path="/memories/twice")
    assert await tool.memories() == []


async def test_a_pasted_key_makes_the_file_sensitive(tool: Tool) -> None:
    await tool.done("create", path="/memories/k", file_text="key: ghp_" + "a1B2c3D4e5F6" * 3)
    (memory,) = await tool.memories()
    assert memory.is_sensitive
