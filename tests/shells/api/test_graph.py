"""The concept graph over REST: the same answers and the same errors as everywhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.serving import Running, running
from tests.waiting import wait_until

from recollect.usecases.workers.steps import GraphStep
from recollect.usecases.workers.worker import Worker

TEXTS = (
    "Anna Berg works at Initech",
    "Initech uses Kubernetes",
    "Kubernetes needs Etcd. Anna Berg likes Tea House.",
)


@pytest.fixture
def read(own_server: Running) -> Iterator[httpx.Client]:
    """Return a client whose memories have been read for the graph."""
    with own_server.client() as client:
        for text in TEXTS:
            client.post("memories", json={"content": text}).raise_for_status()
        working = Worker(GraphStep(own_server.server.graph)).work_off()
        asyncio.run_coroutine_threadsafe(working, own_server.loop).result()
        yield client


def test_what_is_around_a_concept(read: httpx.Client) -> None:
    found = read.get("graph/concept", params={"name": "initech"}).json()
    assert found["concept"]["name"] == "Initech"
    evidence_of = {(edge["source_name"], edge["relation"], edge["target_name"]): edge["evidence"]
            for edge in found["relationships"]}  # fmt: skip
    assert evidence_of.keys() == {
        ("Anna Berg", "works at", "Initech"),
        ("Initech", "uses", "Kubernetes"),
    }
    assert all(len(evidence) == 1 for evidence in evidence_of.values())
    assert {"name": "Anna Berg", "memories": 1} in found["together"]
    earlier = {"name": "initech", "as_of": "2000-01-01T00:00:00Z"}
    assert read.get("graph/concept", params=earlier).json()["relationships"] == []


def test_how_two_concepts_connect(read: httpx.Client) -> None:
    asked = {"source": "Tea House", "target": "Kubernetes"}
    found = read.get("graph/path", params=asked).json()
    assert found["connected"]
    assert [step["relation"] for step in found["steps"]] == ["mentioned together"]
    asked = {"source": "Anna Berg", "target": "Kubernetes"}
    steps = read.get("graph/path", params=asked).json()["steps"]
    assert len(steps) == 1 or [step["relation"] for step in steps] == ["works at", "uses"]


def test_graph_merges_and_splits_names(read: httpx.Client) -> None:
    merged = read.post("graph/merge", json={"into": "Kubernetes", "other": "Etcd"}).json()
    assert (merged["name"], merged["aliases"]) == ("Kubernetes", ["Etcd"])
    concept = read.post("graph/split", json={"concept": "Kubernetes", "alias": "Etcd"}).json()
    assert concept["name"] == "Etcd"
    numbers = read.get("graph/stats").json()
    assert numbers["relationships"] >= 3
    assert numbers["memories"] == 3


@pytest.mark.parametrize(
    ("path", "params", "status"),
    [
        ("concept", {"name": "Nobody"}, 404),
        ("concept", {"name": "…"}, 422),
        ("concept", {"name": "nul\0"}, 422),
        ("concept", {"name": "x" * 5_000}, 422),
        ("concept", {}, 422),
        ("concept", {"name": "Initech", "limit": 0}, 422),
        ("concept", {"name": "Initech", "limit": "many"}, 422),
        ("concept", {"name": "Initech", "as_of": "yesterday"}, 422),
        ("path", {"source": "Initech", "target": "Nobody"}, 404),
    ],
)
def test_what_cannot_be_answered_is_a_problem(
    mine: httpx.Client, path: str, params: dict[str, str | int], status: int
) -> None:
    mine.post("memories", json={"content": "Initech"})
    answer = mine.get(f"graph/{path}", params=params)
    # No worker has read the memory here: a concept is unknown, unless it is no name at all.
    assert answer.status_code == status, answer.text
    assert answer.json()["remedy"]


def test_owners_do_not_see_each_other(own_server: Running, read: httpx.Client) -> None:
    with own_server.client() as other:
        assert other.get("graph/stats").json()["concepts"] == 0
        assert other.get("graph/concept", params={"name": "Initech"}).status_code == 404
        body = {"into": "Initech", "other": "Kubernetes"}
        assert other.post("graph/merge", json=body).status_code == 404


def test_a_server_reads_what_is_stored_by_itself(tmp_path: Path, database_url: str) -> None:

    with (
        running(database_url, tmp_path, worker="inside", embedder="none") as up,
        up.client() as client,
    ):
        client.post("memories", json={"content": "We left Zermatt"}).raise_for_status()
        asked = {"name": "Zermatt"}
        wait_until(lambda: client.get("graph/concept", params=asked).status_code == 200)
        id = client.get("memories").json()["memories"][0]["id"]
        client.patch(f"memories/{id}", json={"content": "We left Oslo"}).raise_for_status()
        assert client.get("graph/concept", params=asked).status_code == 404
