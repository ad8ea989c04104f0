"""Recall on a complete server that searches its vectors in Qdrant, while Qdrant is up or down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.loopback import Loopback
from tests.qdrant_loopback import QdrantServer
from tests.serving import running
from tests.shells.cli.commands import Cli
from tests.waiting import wait_until

FACT = "sparrows build their nests in May"


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as started:
        yield started


@pytest.fixture
def options(qdrant: QdrantServer) -> Iterator[dict[str, Any]]:
    """Return the options of a server that searches in this Qdrant."""
    with Loopback("compatible") as hosted:
        yield {
            "embedder": "compatible/x@8",
            "compatible_url": hosted.base_url,
            "vectors": "qdrant",
            "qdrant_url": qdrant.url,
        }


def recall(client: httpx.Client) -> dict[str, Any]:
    answer = client.post("recall", json={"query": "sparrows", "explain": True})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_recall_goes_on_by_words_while_qdrant_is_away(
    database_url: str, tmp_path: Path, qdrant: QdrantServer, options: dict[str, Any]
) -> None:
    home = tmp_path / "home"
    with running(database_url, home, worker="inside", **options) as up, up.client() as client:
        assert client.patch("settings", json={"deadline_ms": 60_000}).is_success
        assert client.post("memories", json={"content": FACT}).is_success
        wait_until(lambda: len(qdrant.points()) == 1)
        found = recall(client)
        assert found["degraded"] == []
        assert found["legs"]["dense"]["found"] == 1

        qdrant.is_failing = True
        found = recall(client)
        assert [hit["memory"]["content"] for hit in found["hits"]] == [FACT]
        assert found["degraded"] == ["dense"]
        assert "Qdrant was too busy" in found["legs"]["dense"]["note"]
        sent = client.post("memories", json={"content": "swifts nest under roofs"})
        assert sent.is_success
        wait_until(lambda: client.get("stats").json()["embedding"]["unsent"] == 1)

        qdrant.is_failing = False
        wait_until(lambda: len(qdrant.points()) == 2)
        wait_until(lambda: client.get("stats").json()["embedding"]["unsent"] == 0)
        erased = client.request("DELETE", f"memories/{sent.json()['id']}")
        assert erased.is_success, erased.text
        wait_until(lambda: len(qdrant.points()) == 1)


def test_a_running_server_leaves_qdrant_without_a_gap(
    database_url: str, tmp_path: Path, qdrant: QdrantServer, options: dict[str, Any]
) -> None:
    variables = {
        "RECOLLECT_DATABASE_URL": database_url,
        **{f"RECOLLECT_{name.upper()}": str(value) for name, value in options.items()},
    }
    home = tmp_path / "home"
    with running(database_url, home, worker="inside", **options) as up, up.client() as client:
        assert client.patch("settings", json={"deadline_ms": 60_000}).is_success
        assert client.post("memories", json={"content": FACT}).is_success
        wait_until(lambda: len(qdrant.points()) == 1)
        left = Cli(tmp_path / "admin", variables).process("reembed", "--leave-qdrant")
        assert left.returncode == 0, left.stderr
        assert qdrant.collections == []

        assert client.post("memories", json={"content": "sparrows eat seeds"}).is_success
        wait_until(lambda: client.get("stats").json()["embedding"]["embedded"] == 2)
        qdrant.is_failing = True
        found = recall(client)
        assert found["degraded"] == []
        assert found["legs"]["dense"]["found"] == 2


def test_an_erased_owner_leaves_nothing_in_qdrant(
    database_url: str, tmp_path: Path, qdrant: QdrantServer, options: dict[str, Any]
) -> None:
    home = tmp_path / "home"
    with (
        running(database_url, home, worker="inside", **options) as up,
        up.client(up.new_key("ada")) as client,
    ):
        assert client.post("memories", json={"content": FACT}).is_success
        wait_until(lambda: len(qdrant.points()) == 1)
        erased = client.post("erase", json={"owner": "ada"})
        assert erased.is_success, erased.text
        assert not erased.json()["remains"]
        assert qdrant.points() == []
