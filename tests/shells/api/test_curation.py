"""Proposals over HTTP, on a server whose worker examines what is stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.conftest import Cluster
from tests.serving import Running, running
from tests.shells.api.test_memories import store_memory
from tests.waiting import wait_until

from recollect.usecases.workers import worker

OLD = "The API runs on port 8000."
NEW = "The API moved to port 9000."


@pytest.fixture(scope="module")
def curating(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    url = cluster.create("curation_tests")
    folder: Path = tmp_path_factory.mktemp("curation")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker, "POLL_SECONDS", 0.1)
        with running(url, folder, curation="propose", worker="inside", embedder="none") as up:
            yield up
    cluster.drop("curation_tests")


@pytest.fixture
def client(curating: Running) -> Iterator[httpx.Client]:
    with curating.client() as client:
        yield client


def create_proposal(client: httpx.Client) -> dict[str, Any]:
    store_memory(client, OLD)
    store_memory(client, NEW)
    wait_until(lambda: bool(client.get("proposals").json()["proposals"]))
    (found,) = client.get("proposals").json()["proposals"]
    return dict(found)


def recall_contents(client: httpx.Client) -> set[str]:
    hits = client.post("recall", json={"query": "API port"}).json()["hits"]
    return {hit["memory"]["content"] for hit in hits}


def test_a_proposal_is_accepted_and_undone(client: httpx.Client) -> None:
    found = create_proposal(client)
    assert (found["kind"], found["newer_quote"], found["older_quote"]) == ("supersedes", NEW, OLD)
    entry = client.post(f"proposals/{found['id']}/accept", json={}).json()
    assert (entry["survivor"], entry["superseded"]) == (found["newer"], found["older"])
    assert recall_contents(client) == {NEW}
    assert client.get("journal").json()["entries"] == [entry]
    again = client.post(f"proposals/{found['id']}/accept", json={})
    assert again.status_code == 409
    undone = client.post("undo", json={"id": entry["id"]}).json()
    assert undone["undone_at"] is not None
    assert recall_contents(client) == {OLD, NEW}
    assert client.post("undo", json={}).status_code == 404


def test_a_proposal_is_put_off_and_rejected(client: httpx.Client) -> None:
    found = create_proposal(client)
    assert client.post(f"proposals/{found['id']}/later").json()["state"] == "later"
    assert client.post(f"proposals/{found['id']}/reject").json()["state"] == "rejected"
    assert client.get("proposals").json()["proposals"] == []


def test_proposals_of_other_owners_are_not_found(curating: Running, client: httpx.Client) -> None:
    found = create_proposal(client)
    with curating.client() as other:
        assert other.get("proposals").json()["proposals"] == []
        assert other.post(f"proposals/{found['id']}/accept", json={}).status_code == 404
