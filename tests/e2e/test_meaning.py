"""Recall by meaning through the whole server: real Postgres, real pgvector, the real model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from statistics import pvariance
from typing import Any

import httpx
import psycopg
import pytest
from tests.serving import Running, running
from tests.waiting import wait_until

from recollect.core.recall.request import RecallRequest
from recollect.core.recall.settings import RecallSettings
from recollect.settings import load
from recollect.shells.worker import require_embedding
from recollect.usecases.sync.sync import sync
from recollect.usecases.workers.steps import EmbeddingStep
from recollect.usecases.workers.worker import Worker
from recollect.wiring.local import open_cached

pytestmark = pytest.mark.anyio

CAR = "My automobile is being repaired until Thursday"
BACKGROUND = (
    "The cafeteria serves soup at noon",
    "Backups are written to tape every night",
    "The violin hangs in the study",
    "Our lease for the flat ends in March",
)
# None of its words, in any form, is in any of the memories.
QUERY = "Has a mechanic fixed her car?"
NEW = "The accountant needs every invoice before Easter"
NEW_QUERY = "when do bookkeeping documents go out"


@pytest.fixture
def server(database_url: str, home_with_model: Path) -> Iterator[Running]:
    with running(database_url, home_with_model) as up:
        yield up


def work_off(server: Running) -> None:
    """Do what the worker does, until nothing waits."""
    work = Worker(EmbeddingStep(require_embedding(server.server))).work_off()
    asyncio.run_coroutine_threadsafe(work, server.loop).result(timeout=120)


def recall(client: httpx.Client, query: str, **fields: Any) -> dict[str, Any]:
    # The model is read from the disk at its first use, which may take longer than a recall may.
    answer = client.post("recall", json={"query": query, **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def store(client: httpx.Client, content: str, **fields: Any) -> str:
    answer = client.post("memories", json={"content": content, **fields})
    assert answer.status_code == 201, answer.text
    id: str = answer.json()["id"]
    return id


def park(database_url: str, until: str) -> None:
    """Park the text, as the queue does with one that has failed too often."""
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update embeddings set due_at = %s, last_error = 'it choked' where vector is null",
            [until],
        )


def test_a_paraphrase_with_no_shared_word_is_found_until_the_text_says_something_else(
    server: Running, database_url: str
) -> None:
    with server.client() as mine:
        mine.patch("settings", json={"deadline_ms": 60_000, "min_relevance": 0})
        assert recall(mine, QUERY)["legs"]["dense"]["status"] == "absent"
        id = store(mine, CAR)
        for content in BACKGROUND:
            store(mine, content)
        before = mine.post("why", json={"id": id, "query": QUERY}).json()
        assert not before["recalled"]
        work_off(server)

        # Found by meaning alone, and the explanation says so.
        answer = recall(mine, QUERY)
        first = answer["hits"][0]
        assert first["memory"]["id"] == id
        assert list(first["explanation"]["legs"]) == ["dense"]
        place = first["explanation"]["legs"]["dense"]
        assert place["rank"] == 1
        assert 0.3 < place["score"] < 1.0
        # It stands out from all that were found, by the square of its distance to the last.
        cosines = [hit["explanation"]["legs"]["dense"]["score"] for hit in answer["hits"]]
        assert len(cosines) == 1 + len(BACKGROUND)
        standout = (place["score"] - min(cosines)) ** 2 / pvariance(cosines)
        assert place["contribution"] == pytest.approx(standout + RecallSettings().vote)
        assert first["explanation"]["fused"] == place["contribution"]
        assert first["score"] == pytest.approx(place["contribution"] * (0.7 + 0.3 * 0.5))
        assert answer["legs"]["lexical"] | {"took_ms": 0} == {
            "status": "ran",
            "weight": 1.0,
            "found": 0,
            "took_ms": 0,
            "note": None,
            "reason": None,
        }
        assert answer["degraded"] == []

        # An edit makes the vector stale at once: the old meaning finds nothing, nor does the new.
        assert mine.patch(f"memories/{id}", json={"content": NEW}).status_code == 200
        for query in (QUERY, NEW_QUERY):
            assert id not in [hit["memory"]["id"] for hit in recall(mine, query)["hits"]]
        stale = mine.post("why", json={"id": id, "query": QUERY}).json()
        assert [reason["kind"] for reason in stale["kept_out"] if reason["leg"] == "dense"] == [
            "not_embedded"
        ]
        park(database_url, "infinity")
        parked = mine.post("why", json={"id": id, "query": QUERY}).json()
        (dense,) = (reason for reason in parked["kept_out"] if reason["leg"] == "dense")
        assert (dense["kind"], parked["legs"]["dense"]["parked"]) == ("parked", "it choked")
        assert "it choked" in dense["what"]
        park(database_url, "now")

        # Once the worker has run, the new meaning does.
        work_off(server)
        assert recall(mine, NEW_QUERY)["hits"][0]["memory"]["id"] == id
        old = mine.post("why", json={"id": id, "query": QUERY}).json()
        assert old["legs"]["dense"]["rank"] > 1


@pytest.mark.parametrize("where", ["inside", "off"])
def test_a_server_prepares_the_first_recall_when_it_starts(
    database_url: str, home_with_model: Path, where: str
) -> None:
    def prepared() -> list[Path]:
        return list(home_with_model.glob("background/*.f32"))

    if where == "off":
        with running(database_url, home_with_model) as first, first.client() as mine:
            store(mine, CAR)
            work_off(first)
        assert not prepared()  # it had no vectors when it started
    with running(database_url, home_with_model, worker=where):
        assert wait_until(prepared)


def test_sensitive_memories_and_other_owners_are_not_found_by_meaning(server: Running) -> None:
    with server.client() as mine, server.client() as theirs:
        mine.patch("settings", json={"deadline_ms": 60_000})
        id = store(mine, CAR, is_sensitive=True)
        store(theirs, CAR)
        store(mine, BACKGROUND[0])
        work_off(server)
        assert id not in [hit["memory"]["id"] for hit in recall(mine, QUERY)["hits"]]
        why = mine.post("why", json={"id": id, "query": QUERY}).json()
        assert [reason["kind"] for reason in why["kept_out"] if reason["leg"] == "dense"] == [
            "sensitive"
        ]
        assert recall(mine, "automobile")["hits"][0]["memory"]["id"] == id


def test_excluded_memories_take_no_place_and_weight_0_skips_a_leg(server: Running) -> None:
    with server.client() as mine:
        mine.patch("settings", json={"deadline_ms": 60_000, "depth": 1})
        best = store(mine, CAR)
        second = store(mine, "The vehicle stands in the garage")
        work_off(server)
        only_meaning = {"weights": {"lexical": 0}, "limit": 1}
        assert recall(mine, QUERY, **only_meaning)["hits"][0]["memory"]["id"] == best
        left = recall(mine, QUERY, exclude=[best], **only_meaning)
        assert [hit["memory"]["id"] for hit in left["hits"]] == [second]
        skipped = recall(mine, QUERY, weights={"dense": 0})
        assert (skipped["hits"], skipped["legs"]["dense"]["status"]) == ([], "skipped")


def test_at_any_depth_why_knows_the_rank_in_the_dense_leg(server: Running) -> None:
    with server.client() as mine:
        mine.patch("settings", json={"deadline_ms": 60_000, "depth": 1})
        store(mine, CAR)
        far = store(mine, BACKGROUND[0])
        for content in BACKGROUND[1:]:
            store(mine, content)
        work_off(server)
        why = mine.post("why", json={"id": far, "query": QUERY, "limit": 1}).json()
        assert why["legs"]["dense"]["rank"] in range(2, 6)
        kinds = {reason["leg"]: reason["kind"] for reason in why["kept_out"]}
        assert kinds["dense"] == "below_depth"


async def test_a_client_with_a_copy_finds_by_meaning_as_the_server_does(
    server: Running, tmp_path: Path
) -> None:
    """Also by meaning alone, which its own store cannot, and for a sensitive query: the server is
    on this machine.
    """
    key = server.new_key()
    with server.client(key) as mine:
        mine.patch("settings", json={"deadline_ms": 60_000})
        id = store(mine, CAR)
        for content in BACKGROUND:
            store(mine, content)
        work_off(server)

    settings = load(home=tmp_path / "client", api_url=server.url, api_key=key)
    async with open_cached(settings) as client:
        await sync(client.sync, client.server, client.clock)
        for fields in ({}, {"weights": {"lexical": 0.0}}, {"is_sensitive": True}):
            answer = await client.service.recall(RecallRequest(QUERY, **fields))
            assert (str(answer.hits[0].memory.id), answer.note) == (id, None)
            assert answer.legs["dense"].status == "ran"
