"""The clients on a local store and on a real server: the same methods, answers and errors."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.serving import Running
from tests.waiting import SECONDS, wait_until

import recollect
from recollect import (
    AsyncClient,
    Client,
    Conflict,
    InvalidInput,
    Memory,
    MemoryTool,
    NotAllowed,
    NotFound,
    RecollectError,
    Scope,
)
from recollect.shells.client.asynchronous import Options, RecallOptions
from recollect.shells.client.blocking import _LoopThread

EXAMPLE = Path(__file__).parents[3] / "examples" / "chat.py"


def ids_and_texts(*memories: Memory) -> list[tuple[UUID, str]]:
    """Return the fields that the engine of a cached store, running meanwhile, does not change."""
    return [(memory.id, memory.content) for memory in memories]


def test_broken_text_is_stored_as_far_as_it_can_be_read(options: Options) -> None:
    with Client(**options) as memory:
        stored = memory.remember("a broken \ud800 harbour", tags=["\udfff"])
        assert (stored.content, stored.tags) == ("a broken \ufffd harbour", ("\ufffd",))
        (hit,) = memory.recall("harbour \ud800").hits
        assert hit.memory.content == stored.content


def test_a_memory_from_its_first_day_to_its_last(options: Options) -> None:
    with Client(**options) as memory:
        stored = memory.remember("Nadia prefers tea.", tags=["drinks"], project="office")
        assert ids_and_texts(memory.get(stored.id)) == ids_and_texts(stored)
        assert ids_and_texts(memory.get(str(stored.id)[:13])) == ids_and_texts(stored)
        found = memory.recall("what does Nadia drink, tea?", scope=Scope(project="office"))
        assert ids_and_texts(*(hit.memory for hit in found.hits)) == ids_and_texts(stored)
        assert memory.recall("tea", exclude=[stored.id]).hits == ()
        assert memory.why(stored.id, "tea").memory.id == stored.id
        asked = RecallOptions(
            limit=1, sort_by="recency", exclude=[stored.id], weights={"dense": 0.0}
        )
        report = memory.why(stored.id, "tea", **asked)
        assert (report.limit, report.kept_out[0].kind) == (1, "excluded")
        assert report.legs["dense"].facts.weight == 0.0
        changed = memory.update(stored.id, content="Nadia prefers coffee.")
        assert changed.version > stored.version
        assert changed.tags == ("drinks",)
        assert ids_and_texts(*memory.page(Scope(tags=("drinks",))).memories) == ids_and_texts(
            changed
        )
        assert ids_and_texts(*memory.brief("office").memories) == ids_and_texts(changed)
        assert memory.stats().memories == 1
        assert memory.settings().deadline_ms > 0
        assert memory.forget(stored.id) == stored.id
        assert memory.page().memories == ()


def test_the_same_errors_everywhere(options: Options) -> None:
    with Client(**options) as memory:
        with pytest.raises(InvalidInput, match="empty") as refused:
            memory.remember(" ")
        assert refused.value.field == "content"
        assert refused.value.remedy
        with pytest.raises(NotFound):
            memory.get("01a1dd17-97d6-7000-8000-000000000000")
        stored = memory.remember("A fact.")
        memory.update(stored.id, importance=0.9)
        with pytest.raises(Conflict):
            memory.update(stored.id, importance=0.1, based_on=1)


def test_client_rejects_mistaken_arguments(options: Options) -> None:
    """Otherwise a text would be stored as a list of letters, and a misspelled field ignored."""
    slips: list[tuple[str, Callable[[Client, Memory], object]]] = [
        ("tags", lambda memory, _: memory.remember("Tea.", **slip(tags="drinks"))),
        ("tags", lambda memory, stored: memory.update(stored.id, **slip(tags="drinks"))),
        (
            "importnce",
            lambda memory, stored: memory.update(stored.id, **slip(importnce=1.0, content="T")),
        ),
        ("owner", lambda memory, stored: memory.update(stored.id, **slip(owner="you"))),
        ("sessions", lambda memory, _: memory.recall("tea", scope=Scope(**slip(sessions="s1")))),
        ("tags", lambda memory, _: memory.page(Scope(**slip(tags="drinks")))),
        ("sort_by", lambda memory, _: memory.recall("tea", **slip(sort_by="date"))),
    ]
    with Client(**options) as memory:
        stored = memory.remember("Nadia prefers tea.", tags=["drinks"])
        for field, slipped in slips:
            with pytest.raises(InvalidInput) as refused:
                slipped(memory, stored)
            assert (refused.value.field, bool(refused.value.remedy)) == (field, True)
        assert ids_and_texts(*memory.page().memories) == ids_and_texts(stored)
        assert memory.get(stored.id).tags == ("drinks",)
        memory.update(stored.id, **slip(tags=(tag for tag in ("tea", "hot"))))
        assert memory.get(stored.id).tags == ("tea", "hot")


def slip(**fields: Any) -> Any:
    """Return arguments that a type checker would refuse."""
    return fields


@pytest.mark.parametrize(
    ("method", "arguments", "field", "remedy"),
    [
        ("remember", {"content": 5}, "content", "Pass a text"),
        ("remember", {"content": "x", "importance": "high"}, "importance", "0 (trivial)"),
        ("remember", {"content": "x", "importance": True}, "importance", "0 (trivial)"),
        ("remember", {"content": "x", "tags": 5}, "tags", "a list of texts"),
        ("remember", {"content": "x", "tags": [5]}, "tags", "a list of texts"),
        ("remember", {"content": "x", "category": 5}, "category", "preference"),
        ("remember", {"content": "x", "is_sensitive": "no"}, "is_sensitive", "true or false"),
        ("remember", {"content": "x", "id": "0193a5f0"}, "id", "36 characters"),
        ("recall", {"query": 5}, "query", "Pass a text"),
        ("recall", {"query": "x", "limit": "ten"}, "limit", "whole number"),
        ("recall", {"query": "x", "as_of": "yesterday"}, "as_of", "2026-01-31T09:30"),
        ("recall", {"query": "x", "exclude": ["0193a5f0"]}, "exclude", "full ids"),
        ("recall", {"query": "x", "weights": {"lexical": "high"}}, "weights", "lexical"),
        ("recall", {"query": "x", "scope": "shop"}, "scope", "Scope(project="),
        ("recall", {"query": "x", "scope": Scope(since="monday")}, "since", "2026-01-31T09:30"),  # type: ignore[arg-type]  # the slip
        ("page", {"limit": "ten"}, "limit", "whole number"),
        ("update", {"reference": "0193a5f0", "importance": "high"}, "importance", "0 (trivial)"),
    ],
)
def test_wrong_type_is_reported_with_a_remedy(
    options: Options, method: str, arguments: dict[str, Any], field: str, remedy: str
) -> None:
    with Client(**options) as client, pytest.raises(InvalidInput) as refused:
        getattr(client, method)(**arguments)
    assert refused.value.field == field
    assert remedy in refused.value.remedy


def test_a_key_without_a_server_opens_no_local_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECOLLECT_API_URL", raising=False)
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "home"))
    with pytest.raises(InvalidInput, match="without a server"):
        Client(key="rk_x")
    Client(**slip(key=None))  # as when it is read from an environment that has none
    monkeypatch.setenv("RECOLLECT_API_URL", "http://127.0.0.1:9")
    Client(key="rk_x")


@pytest.mark.anyio
async def test_the_async_client_does_the_same(options: Options) -> None:
    async with AsyncClient(**options) as memory:
        stored = await memory.remember("The staging database is read-only on Fridays.")
        found = await memory.recall("staging on Fridays")
        assert ids_and_texts(*(hit.memory for hit in found.hits)) == ids_and_texts(stored)
        with pytest.raises(NotFound):
            await memory.forget("01a1dd17-97d6-7000-8000-000000000000")


def test_every_method_has_a_blocking_twin() -> None:
    methods = {
        name: method
        for name, method in inspect.getmembers(AsyncClient, inspect.isfunction)
        if not name.startswith("_")
    }
    assert len(methods) >= 19
    for name, method in methods.items():
        twin = getattr(Client, name)
        assert inspect.unwrap(twin) is method
        assert inspect.signature(twin) == inspect.signature(method)
        assert twin.__doc__
    public = {name for name in vars(Client) if not name.startswith("_")}
    assert public == set(methods)


def test_threads_share_a_client(tmp_path: Path) -> None:
    with Client(home=tmp_path) as memory:
        with ThreadPoolExecutor(8) as pool:
            stored = list(pool.map(lambda n: memory.remember(f"Fact number {n}."), range(40)))
        assert len({memory.id for memory in stored}) == 40
        assert memory.stats().memories == 40


def test_call_during_close_raises() -> None:
    """The loop still accepts work while it finishes the rest, but would never run it."""
    begun, ending, go_on = threading.Event(), threading.Event(), threading.Event()
    refused: Future[str] = Future()

    async def slow_to_end() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            ending.set()
            go_on.wait(SECONDS)

    def come_late() -> None:
        with pytest.raises(InvalidInput) as caught:
            loop.wait(asyncio.Event().wait())
        refused.set_result(str(caught.value))

    loop = _LoopThread()
    with ThreadPoolExecutor(2) as pool:
        pool.submit(loop.wait, slow_to_end())
        assert begun.wait(SECONDS)
        stopping = pool.submit(loop.stop)
        try:
            assert ending.wait(SECONDS)
            threading.Thread(target=come_late, daemon=True).start()
            assert refused.result(60) == "the client is not open"
        finally:
            go_on.set()
            stopping.result(SECONDS)


@pytest.mark.anyio
async def test_the_blocking_client_works_next_to_a_running_loop(tmp_path: Path) -> None:
    with Client(home=tmp_path) as memory:
        assert memory.remember("Here.").version == 1


def _own_threads() -> list[str]:
    """Name the threads of the client and the local store; servers of other tests have some, too."""
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith("recollect-")]


def test_closed_client_raises_and_leaves_no_thread(tmp_path: Path) -> None:
    memory = Client(home=tmp_path)
    with pytest.raises(InvalidInput, match="not open"):
        memory.stats()
    for _ in range(2):  # it can be opened again
        with memory:
            memory.stats()
            assert _own_threads()
    with pytest.raises(InvalidInput, match="not open"):
        memory.stats()
    wait_until(lambda: not _own_threads())  # the last thread of a lane soon ends by itself


def test_a_client_that_cannot_be_opened_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_API_KEY", raising=False)
    with pytest.raises(InvalidInput, match="no key"), Client(url="http://127.0.0.1:9"):
        raise AssertionError("it was opened")
    wait_until(lambda: not _own_threads())


def test_a_wrong_key_is_not_allowed(server: Running) -> None:
    with Client(url=server.url, key="rk_wrong") as memory, pytest.raises(NotAllowed):
        memory.stats()


def test_a_folder_rules_out_the_server_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOLLECT_API_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("RECOLLECT_API_KEY", "rk_x")
    monkeypatch.setenv("RECOLLECT_SYNC", "off")
    with Client(home=tmp_path, owner="ada") as memory:
        assert memory.remember("Local.").owner == "ada"
    with pytest.raises(RecollectError), Client(home=tmp_path, owner="") as memory:
        raise AssertionError("it was opened")


def test_importing_the_package_costs_next_to_nothing() -> None:
    program = (
        "import sys, recollect\n"
        "loaded = [name for name in sys.modules if name.startswith('recollect.')]\n"
        "assert loaded == [], loaded\n"
        "assert not {'pydantic', 'asyncio', 'httpx'} & set(sys.modules)\n"
        "from recollect import Client, NotFound\n"
        "assert 'recollect.shells.client.blocking' in sys.modules\n"
        "assert 'recollect.wiring' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=SECONDS)


def test_the_package_lists_its_public_names() -> None:
    for name in recollect.__all__:
        assert getattr(recollect, name)
    assert {"Client", "AsyncClient", "Draft", "__version__"} <= set(dir(recollect))
    assert set(recollect.__all__) <= set(dir(recollect))
    with pytest.raises(AttributeError, match="Klient"):
        _ = recollect.Klient  # type: ignore[attr-defined]  # that is the point


def test_a_tool_loop(tmp_path: Path) -> None:
    """What a program does with the blocks of a model's message."""
    blocks: list[dict[str, Any]] = [
        {
            "type": "tool_use",
            "id": "toolu_1",
            "name": "memory",
            "input": {"command": "create", "path": "/memories/a.md", "file_text": "One."},
        },
        {"type": "text", "text": "I noted it."},
        {
            "type": "tool_use",
            "id": "toolu_2",
            "name": "memory",
            "input": {"command": "view", "path": "/memories/b.md"},
        },
    ]
    with Client(home=tmp_path) as client:
        tool = MemoryTool(client, project="shop")
        assert tool.to_dict() == {"type": "memory_20250818", "name": tool.name}
        results = [
            tool.result(block["id"], block["input"])
            for block in blocks
            if block["type"] == "tool_use" and block["name"] == tool.name
        ]
        assert results == [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": "File created successfully at: /memories/a.md",
                "is_error": False,
            },
            {
                "type": "tool_result",
                "tool_use_id": "toolu_2",
                "content": "The path /memories/b.md does not exist. Please provide a valid path.",
                "is_error": True,
            },
        ]
        assert tool.call({"command": "view", "path": "/memories/a.md"}).endswith("\tOne.")
        assert client.recall("one").hits[0].memory.project == "shop"


def test_the_chat_remembers_its_session_and_no_other(tmp_path: Path) -> None:
    def chat(session: str, *lines: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, EXAMPLE, "--session", session, "--home", tmp_path / "home"],
            input="\n".join(lines),
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
        )
        return [line for line in done.stdout.splitlines() if not line.startswith(">")]

    with Client(home=tmp_path / "home") as memory:
        memory.change_settings({"deadline_ms": 60_000})
    (first,) = chat("ada", "My train to Porto leaves at nine.")
    assert first.startswith("I know nothing of that yet.")
    (second,) = chat("ada", "When does my train leave?")
    assert second.startswith("You told me: My train to Porto leaves at nine.")
    (third,) = chat("bob", "When does my train leave?")
    assert third.startswith("I know nothing of that yet.")
    with Client(home=tmp_path / "home") as memory:
        episodes = memory.page(Scope(sessions=("ada",), categories=("episode",))).memories
        assert len(episodes) == 4
