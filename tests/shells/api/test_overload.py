"""More requests than a server can work on: some wait, some are refused, and health is answered."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

import httpx
import psycopg
from tests.serving import Running, running
from tests.strategies import new_id
from tests.waiting import SECONDS, wait_until

from recollect.core.memory.batch import MAX_BATCH
from recollect.core.sync.model import PROTOCOL

MEMORY = {"content": "the harbour is closed"}


@contextmanager
def store_held(database_url: str) -> Iterator[None]:
    """Block writes of memories: a request that writes one keeps its slot."""
    with psycopg.connect(database_url) as connection:
        connection.execute("lock table memories in exclusive mode")
        yield


def metric(up: Running, name: str) -> float:
    text = httpx.get(f"{up.url}/api/v1/metrics", timeout=SECONDS).text
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(name))


def test_what_cannot_be_answered_in_time_is_refused_before_any_work(
    database_url: str, tmp_path: Path
) -> None:
    with (
        running(database_url, tmp_path, concurrency=1, answer_within=2.0) as up,
        up.client() as noisy,
        up.client() as other,
        ThreadPoolExecutor() as threads,
    ):
        with store_held(database_url):
            held = threads.submit(noisy.post, "memories", json=MEMORY)

            def refusal() -> httpx.Response | None:
                assert not held.done(), "it should keep the only slot"
                answer = other.get("stats")
                return answer if answer.status_code == 503 else None

            refused = wait_until(refusal)
            assert refused is not None
            assert refused.json()["type"] == "urn:recollect:problem:overloaded"
            assert int(refused.headers["Retry-After"]) >= 1
            assert httpx.get(f"{up.url}/api/v1/health/live", timeout=SECONDS).status_code == 200
            assert metric(up, "recollect_overload_refusals_total") >= 1
            assert not held.done()
        assert held.result().status_code == 201
        assert wait_until(lambda: other.get("stats").status_code == 200)


def test_a_flooding_key_leaves_a_slot_for_others(database_url: str, tmp_path: Path) -> None:
    with (
        running(database_url, tmp_path, concurrency=2) as up,
        up.client() as noisy,
        up.client() as quiet,
        ThreadPoolExecutor(20) as threads,
    ):
        with store_held(database_url):
            flood = [
                threads.submit(noisy.post, "memories", json={"content": f"ship {n} is in"})
                for n in range(20)
            ]
            for _ in range(5):
                assert quiet.get("stats").status_code == 200
            assert not any(future.done() for future in flood)
        assert {future.result().status_code for future in flood} == {201}


def test_a_request_whose_client_hangs_up_while_it_waits_is_dropped(
    database_url: str, tmp_path: Path
) -> None:
    with (
        running(database_url, tmp_path, concurrency=1, answer_within=2.0) as up,
        up.client() as noisy,
        up.client() as impatient,
        ThreadPoolExecutor() as threads,
    ):
        with store_held(database_url):
            held = threads.submit(noisy.post, "memories", json=MEMORY)

            def is_dropped() -> bool:
                with suppress(httpx.TimeoutException):
                    impatient.post("memories", json=MEMORY, timeout=0.1)
                dropped = 'recollect_http_request_seconds_count{method="POST",route="unmatched"'
                return metric(up, f'{dropped},status="499"}}') > 0

            assert wait_until(is_dropped)
        assert held.result().status_code == 201


def test_rate_limit_answers_with_retry_after(database_url: str, tmp_path: Path) -> None:
    with (
        running(database_url, tmp_path, writes_per_minute=1) as up,
        up.client() as mine,
        up.client() as theirs,
    ):
        id = mine.post("memories", json=MEMORY).json()["id"]
        refused = mine.delete(f"memories/{id}")
        assert refused.status_code == 429
        assert refused.json()["type"] == "urn:recollect:problem:rate-limited"
        assert int(refused.headers["Retry-After"]) >= 1
        assert mine.get(f"memories/{id}").status_code == 200
        assert mine.post("recall", json={"query": "harbour"}).status_code == 200
        assert theirs.post("memories", json=MEMORY).status_code == 201


def test_a_batch_that_is_too_large_does_not_count_as_writes(
    database_url: str, tmp_path: Path
) -> None:
    with running(database_url, tmp_path, writes_per_minute=1) as up, up.client() as mine:
        batch = {"memories": [{"content": "x"}] * (MAX_BATCH + 1)}
        assert mine.post("/memories:batch", json=batch).status_code == 422
        push = {"protocol": PROTOCOL, "store": str(UUID(int=1)), "memories": []}
        for _ in range(2):
            assert mine.post("sync/push", json=push).status_code == 200
        assert mine.post("memories", json=MEMORY).status_code == 201
        assert mine.post("memories", json=MEMORY).status_code == 429


def test_each_pushed_revision_counts_as_a_write(database_url: str, tmp_path: Path) -> None:
    revision = {"kind": "edit", "fields": {"content": "x"}, "made_at": "2026-11-15T09:30:00Z"}
    push = {
        "protocol": PROTOCOL,
        "store": str(UUID(int=1)),
        "memories": [],
        "revisions": [
            {"id": str(new_id()), "memory_id": str(new_id()), **revision} for _ in range(3)
        ],
    }
    with running(database_url, tmp_path, writes_per_minute=1) as up, up.client() as mine:
        assert mine.post("sync/push", json=push).status_code == 200
        refused = mine.post("memories", json=MEMORY)
        assert refused.status_code == 429
        assert int(refused.headers["Retry-After"]) > 60  # one write would be paid back by then
        assert mine.post("sync/push", json=push).status_code == 429


def test_changes_of_the_graph_count_as_writes(database_url: str, tmp_path: Path) -> None:
    with running(database_url, tmp_path, writes_per_minute=1) as up:
        for path, sent in (
            ("graph/merge", {"into": "harbour", "other": "port"}),
            ("graph/split", {"concept": "harbour", "alias": "port"}),
        ):
            with up.client() as mine:
                assert mine.post(path, json=sent).status_code == 404
                assert mine.post(path, json=sent).status_code == 429
