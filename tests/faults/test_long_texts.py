"""Long texts are bounded or analyzed in threads: the event loop keeps answering other requests."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import httpx
import pytest
from tests.conftest import Cluster
from tests.serving import Running, serve_tests
from tests.strategies import new_id

from recollect.core.sync.model import PROTOCOL

WORDS = 10_000
LONG = " ".join(f"word{number}" for number in range(WORDS))
# A short text takes a few hundred calls; a long one, several per word.
MAX_CALLS = 5_000
_ANALYSIS = ("/core/text/", "/core/privacy/", "/core/recall/", "/core/graph/")


@pytest.fixture(scope="module")
def server(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    yield from serve_tests(cluster, tmp_path_factory, "long_texts", embedder="none")


@pytest.fixture(scope="module")
def client(server: Running) -> Iterator[httpx.Client]:
    """Return a client of an owner with long memories."""
    with server.client() as client:
        for number in range(3):
            stored = client.post("memories", json={"content": f"{number} {LONG}"})
            assert stored.is_success, stored.text
        yield client


@contextmanager
def count_calls(server: Running) -> Iterator[Counter[str]]:
    """Count the calls of functions that analyze texts, on the thread of the event loop."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and any(part in frame.f_code.co_filename for part in _ANALYSIS):
            calls[frame.f_code.co_qualname] += 1

    server.loop.call_soon_threadsafe(sys.setprofile, count)
    yield calls
    server.loop.call_soon_threadsafe(sys.setprofile, None)


def recall(client: httpx.Client) -> httpx.Response:
    return client.post("recall", json={"query": LONG, "explain": True})


def recall_long_memories(client: httpx.Client) -> httpx.Response:
    return client.post("recall", json={"query": "word7", "explain": True, "limit": 100})


def ask_why(client: httpx.Client) -> httpx.Response:
    (found,) = client.get("memories", params={"limit": 1}).json()["memories"]
    return client.post("why", json={"query": LONG, "id": found["id"]})


def store(client: httpx.Client) -> httpx.Response:
    return client.post("memories", json={"content": LONG})


def store_a_secret(client: httpx.Client) -> httpx.Response:
    return client.post("memories", json={"content": f"my password is Zt7!kLp2 {LONG}"})


def change_to_a_secret(client: httpx.Client) -> httpx.Response:
    (found,) = client.get("memories", params={"limit": 1}).json()["memories"]
    changes = {"content": f"{LONG} and my password is Zt7!kLp2"}
    return client.patch(f"memories/{found['id']}", json=changes)


def preview_a_hook(client: httpx.Client) -> httpx.Response:
    return client.post("recall/injection", json={"prompt": f"{LONG}\n\n" * 5})


def store_many(client: httpx.Client) -> httpx.Response:
    drafts = [{"content": f"{number} {LONG[:9_000]}"} for number in range(5)]
    return client.post("/memories:batch", json={"memories": drafts})


def change(client: httpx.Client) -> httpx.Response:
    (found,) = client.get("memories", params={"limit": 1}).json()["memories"]
    return client.patch(f"memories/{found['id']}", json={"content": f"{LONG} again"})


def filter_table(client: httpx.Client) -> httpx.Response:
    return client.get("table", params={"words": [LONG[:400]] * 20})


def push(client: httpx.Client) -> httpx.Response:
    now = "2026-11-18T08:00:00Z"
    pushed = {
        "id": str(new_id()),
        "edit": str(new_id()),
        "based_on": 0,
        "version": 1,
        "fields": {"content": LONG},
        "created_at": now,
        "updated_at": now,
    }
    return client.post(
        "sync/push", json={"protocol": PROTOCOL, "store": str(new_id()), "memories": [pushed]}
    )


@pytest.mark.parametrize(
    "ask",
    [
        recall,
        recall_long_memories,
        ask_why,
        store,
        store_a_secret,
        store_many,
        change,
        change_to_a_secret,
        preview_a_hook,
        filter_table,
        push,
    ],
)
def test_the_event_loop_does_not_analyze_long_texts(
    server: Running, client: httpx.Client, ask: Callable[[httpx.Client], httpx.Response]
) -> None:
    with count_calls(server) as calls:
        answer = ask(client)
    assert answer.is_success, answer.text
    assert calls.total() < MAX_CALLS, calls.most_common(5)
