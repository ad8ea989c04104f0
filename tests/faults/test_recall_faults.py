"""Recalls on a complete server while Postgres goes away, or without pgvector."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import httpx
import psycopg
import pytest
import structlog
from tests.conftest import Cluster
from tests.faults.test_server_faults import check_unavailable
from tests.loopback import Loopback
from tests.serving import running
from tests.waiting import wait_until

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.core.admin.timeouts import Timeouts
from recollect.core.recall.request import LEGS

TEXTS = {f"sparrows fly by day {number}" for number in range(5)}
QUERY = {"query": "sparrows"}
# Generous, for a busy machine; what matters is that it holds when Postgres no longer answers.
DEADLINE = 30.0
# Together they need fewer connections than the server has, so that none is refused.
CLIENTS = 3


@contextmanager
def serving_both_legs(url: str, home: Path) -> Iterator[httpx.Client]:
    """A client of a server whose memories are embedded."""
    with (
        Loopback("compatible") as model,
        running(
            url,
            home,
            worker="inside",
            timeout_factor=1.0,  # the tests measure how long a recall waits
            embedder="compatible/words@8",
            compatible_url=model.base_url,
        ) as up,
        up.client() as client,
    ):
        client.patch("settings", json={"deadline_ms": int(DEADLINE * 1000)}).raise_for_status()
        for text in TEXTS:
            client.post("memories", json={"content": text}).raise_for_status()
        wait_until(lambda: (client.get("stats").json()["embedding"] or {}).get("waiting") == 0)
        wait_for_all(client)
        yield client


def is_complete(answer: httpx.Response) -> bool:
    found = answer.json()
    if not answer.is_success or found["degraded"]:
        return False
    assert {hit["memory"]["content"] for hit in found["hits"]} == TEXTS
    return True


def wait_for_all(client: httpx.Client) -> None:
    wait_until(lambda: is_complete(client.post("recall", json=QUERY)))


def check_honest(answer: httpx.Response) -> None:
    """Accept a complete answer, one that names the legs it lacks, or the advice to try again."""
    if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE:
        assert int(answer.headers["Retry-After"]) > 0
        assert answer.json()["remedy"]
        return
    found = answer.raise_for_status().json()
    if found["degraded"]:
        assert {*found["degraded"]} < {*LEGS}
        assert {hit["memory"]["content"] for hit in found["hits"]} <= TEXTS
    else:
        assert is_complete(answer)


def recall_during(
    client: httpx.Client, disturb: Callable[[], None]
) -> list[tuple[httpx.Response, float]]:
    """Return the answers to recalls that were under way, and how long each took."""
    over = Event()

    def recall_on() -> list[tuple[httpx.Response, float]]:
        answers: list[tuple[httpx.Response, float]] = []
        while not over.is_set() or not answers:
            asked = time.monotonic()
            answers.append((client.post("recall", json=QUERY), time.monotonic() - asked))
        return answers

    with ThreadPoolExecutor(CLIENTS) as pool:
        asking = [pool.submit(recall_on) for _ in range(CLIENTS)]
        try:
            disturb()
        finally:
            over.set()
    return [answer for future in asking for answer in future.result()]


def check_all(answers: list[tuple[httpx.Response, float]]) -> None:
    for answer, took in answers:
        check_honest(answer)
        # The key is looked up before the recall begins.
        assert took < DEADLINE + Timeouts().acquire


def test_recalls_survive_terminated_backends(
    database_url: str, cluster: Cluster, tmp_path: Path
) -> None:
    name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]

    def end_all() -> None:
        with psycopg.connect(cluster.admin_url, autocommit=True) as admin:
            for _ in range(6):
                admin.execute(
                    "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                    " where datname = %s",
                    [name],
                )

    with serving_both_legs(database_url, tmp_path) as client:
        check_all(recall_during(client, end_all))
        wait_for_all(client)


def test_recalls_survive_a_restart_of_postgres(open_folder: Path) -> None:
    home = open_folder / "restarted"
    embedded = EmbeddedPostgres(home)
    url = embedded.start()
    try:
        with serving_both_legs(url, home) as client:

            def restart() -> None:
                embedded.stop()
                check_unavailable(client.post("recall", json=QUERY))
                assert embedded.start() == url

            check_all(recall_during(client, restart))
            wait_for_all(client)
    finally:
        embedded.stop()


@pytest.mark.parametrize(("embedder", "degraded"), [("minilm", ["dense"]), ("none", [])])
def test_without_pgvector_recall_goes_by_words_and_says_what_is_missing(
    cluster: Cluster,
    empty_database_url: str,
    tmp_path: Path,
    embedder: str,
    degraded: list[str],
) -> None:
    """`none` means that recall by meaning is switched off: then nothing is missing."""
    cluster.without_vectors(empty_database_url)
    with (
        structlog.testing.capture_logs() as lines,
        running(empty_database_url, tmp_path, worker="inside", embedder=embedder) as up,
        up.client() as client,
    ):
        client.post("memories", json={"content": "sparrows fly"}).raise_for_status()
        found = client.post("recall", json=QUERY).json()
        assert [hit["memory"]["content"] for hit in found["hits"]] == ["sparrows fly"]
        assert found["degraded"] == degraded
        leg = client.post("recall", json={**QUERY, "explain": True}).json()["legs"]["dense"]
        assert leg["status"] == ("failed" if degraded else "absent")
        assert ("create extension vector" in (leg["note"] or "")) == bool(degraded)
        then = {**QUERY, "as_of": "2100-01-01T00:00:00Z"}
        assert client.post("recall", json=then).json()["degraded"] == []
        # By meaning alone there is no answer, and an empty one would say that nothing is known.
        alone = client.post("recall", json={**QUERY, "weights": {"lexical": 0}})
        assert not alone.is_success
        assert alone.json()["remedy"]
    # The worker that fills the concept graph runs all the same, and the log reports none missing.
    events = [line["event"] for line in lines if "pgvector" in line.get("reason", "")]
    assert events == (["no recall by meaning"] if degraded else [])
