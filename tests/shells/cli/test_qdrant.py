"""The commands on a server that searches its vectors in Qdrant: doctor, and reembed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.loopback import Loopback
from tests.qdrant_loopback import QdrantServer
from tests.serving import running
from tests.shells.cli.commands import Cli

TEXTS = ("Anna prefers tea over coffee", "The cat sleeps at night", "Deploys happen on Tuesday")


@pytest.fixture
def hosted() -> Iterator[Loopback]:
    with Loopback("compatible") as started:
        yield started


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[QdrantServer]:
    with QdrantServer(tmp_path / "qdrant") as started:
        yield started


@pytest.fixture
def admin(tmp_path: Path, database_url: str, hosted: Loopback, qdrant: QdrantServer) -> Cli:
    """The command on a server's database, which has three memories in Qdrant."""
    cli = Cli(
        tmp_path / "admin",
        {
            "RECOLLECT_DATABASE_URL": database_url,
            "RECOLLECT_EMBEDDER": "compatible/x@8",
            "RECOLLECT_COMPATIBLE_URL": hosted.base_url,
            "RECOLLECT_VECTORS": "qdrant",
            "RECOLLECT_QDRANT_URL": qdrant.url,
        },
    )
    with (
        running(database_url, tmp_path / "server") as up,
        up.client(up.new_key("ada")) as client,
    ):
        for text in TEXTS:
            assert client.post("memories", json={"content": text}).is_success
    worked = cli("worker", "--once")
    assert worked.exit_code == 0, worked.stderr
    return cli


def check_vectors(admin: Cli) -> dict[str, Any]:
    checks = json.loads(admin("doctor", "--full", "--json").stdout)["checks"]
    (found,) = (check for check in checks if check["name"] == "vectors")
    return dict(found)


def test_doctor_says_what_qdrant_has(admin: Cli, qdrant: QdrantServer) -> None:
    found = check_vectors(admin)
    assert found["status"] == "ok"
    assert found["detail"] == "Qdrant 1.17.0 has 3 vectors; 0 changes waiting to be sent"

    qdrant.is_failing = True
    found = check_vectors(admin)
    assert found["status"] == "fail"
    assert "too busy" in found["detail"]
    assert found["remedy"]


def test_reindex_sends_everything_to_a_new_collection(admin: Cli, qdrant: QdrantServer) -> None:
    (first,) = qdrant.collections
    assert admin.json("reembed", "--reindex") == {"sent": 3}
    (second,) = qdrant.collections
    assert second != first
    assert len(qdrant.points()) == 3
    assert "sent 3 memories to Qdrant" in admin("reembed", "--reindex").stdout


def test_leaving_qdrant_keeps_the_vectors_in_postgres(
    admin: Cli, qdrant: QdrantServer, hosted: Loopback, database_url: str, tmp_path: Path
) -> None:
    left = admin("reembed", "--leave-qdrant")
    assert left.exit_code == 0, left.stderr
    assert "unset RECOLLECT_VECTORS" in left.stderr
    assert qdrant.collections == []

    options: dict[str, Any] = {"embedder": "compatible/x@8", "compatible_url": hosted.base_url}
    with (
        running(database_url, tmp_path / "server", worker="inside", **options) as up,
        up.client(up.new_key("ada")) as client,
    ):
        embedding = client.get("stats").json()["embedding"]
        assert (embedding["embedded"], embedding["waiting"]) == (3, 0)
        answer = client.post("recall", json={"query": TEXTS[1], "explain": True}).json()
        assert answer["degraded"] == []
        assert answer["legs"]["dense"]["found"] == 3
        # No changes are queued for Qdrant any more.
        assert client.post("memories", json={"content": "Tea is served at five"}).is_success
    with psycopg.connect(database_url) as connection:
        assert connection.execute("select count(*) from vector_outbox").fetchone() == (0,)


def test_leaving_an_absent_qdrant_can_be_repeated(admin: Cli, qdrant: QdrantServer) -> None:
    qdrant.is_failing = True
    failed = admin("reembed", "--leave-qdrant")
    assert failed.exit_code != 0
    assert "Qdrant" in failed.stderr
    qdrant.is_failing = False
    assert admin("reembed", "--leave-qdrant").exit_code == 0
    assert qdrant.collections == []


def test_leaving_without_qdrant_says_that_nothing_is_to_be_done(admin: Cli) -> None:
    inside = Cli(admin.home, {**admin.settings, "RECOLLECT_VECTORS": "pgvector"})
    _, error = inside.error("reembed", "--leave-qdrant")
    assert "RECOLLECT_VECTORS=qdrant" in error["remedy"]
