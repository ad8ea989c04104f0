"""Recall on a complete server whose hosted model is down: it answers by words, and says what is
missing and why.

The HTTP servers, Postgres and the time that a query waits are real.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.loopback import Fault, Loopback, Spoiled, Stall, Status
from tests.serving import running
from tests.waiting import wait_until

DEADLINE_MS = 60_000  # on a busy machine no other leg may be late
FACT = "sparrows build their nests in May"


def recall(client: httpx.Client) -> dict[str, Any]:
    answer = client.post("recall", json={"query": "sparrows", "explain": True})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    assert [hit["memory"]["content"] for hit in found["hits"]] == [FACT]
    assert found["took_ms"] < DEADLINE_MS
    return found


def wait_for_reason(client: httpx.Client, reason: str) -> dict[str, Any]:
    """Return the first recall with this reason: on a busy machine a query may time out earlier."""

    def recall_with_reason() -> dict[str, Any] | None:
        answer = recall(client)
        return answer if reason in (answer["legs"]["dense"]["note"] or "") else None

    answer = wait_until(recall_with_reason)
    assert answer is not None
    return answer


@contextmanager
def served(database_url: str, home: Path) -> Iterator[tuple[Loopback, httpx.Client]]:
    """Start a hosted model, and a client of a server that has embedded a memory with it."""
    with Loopback("compatible") as hosted:
        options: dict[str, Any] = {
            "embedder": "compatible/x@8",
            "compatible_url": hosted.base_url,
        }
        with running(database_url, home, worker="inside", **options) as up, up.client() as client:
            assert client.patch("settings", json={"deadline_ms": DEADLINE_MS}).is_success
            assert client.post("memories", json={"content": FACT}).is_success
            wait_until(lambda: (client.get("stats").json()["embedding"] or {}).get("embedded"))
            yield hosted, client


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Status(500), "status 500"),
        (Stall(), "did not answer within"),
        (Status(429), "status 429"),
        (Spoiled(dimension=9), "dimension 9, not 8"),
    ],
    ids=["down", "hanging", "busy", "wrong dimension"],
)
def test_recall_answers_by_words_and_says_what_is_missing(
    database_url: str, tmp_path: Path, fault: Fault, reason: str
) -> None:
    with served(database_url, tmp_path) as (hosted, client):
        hosted.misbehave(*[fault] * 100)
        found = wait_for_reason(client, reason)
        assert found["degraded"] == ["dense"]
        assert found["legs"]["dense"]["status"] == "failed"


def test_a_service_that_asks_to_wait_is_sent_no_query(database_url: str, tmp_path: Path) -> None:
    with served(database_url, tmp_path) as (hosted, client):
        hosted.misbehave(*[Status(429, (("Retry-After", "9999"),))] * 100)
        wait_for_reason(client, "status 429")
        sent = len(hosted.requests)
        found = recall(client)
        assert found["degraded"] == ["dense"]
        assert "asked to wait another" in found["legs"]["dense"]["note"]
        # It is sent no memory either: the memory waits, and the figures say for what.
        assert client.post("memories", json={"content": "a new one"}).is_success
        wait_until(lambda: client.get("stats").json()["embedding"]["last_error"])
        assert len(hosted.requests) == sent
        assert client.get("stats").json()["embedding"]["waiting"] == 1
