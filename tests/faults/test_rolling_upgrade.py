"""Servers on one database are replaced one after the other while clients write and recall."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest
from tests.processes import COMMAND, environment
from tests.serving import running
from tests.waiting import SECONDS, wait_until

from recollect.adapters.postgres.migrate import migrate


class Balancer:
    """Sends each request to a server that says it is ready."""

    def __init__(self) -> None:
        self.urls: list[str] = []

    def send(self, key: str, method: str, path: str, body: object) -> int:
        for url in [*self.urls] * 3:
            with httpx.Client(
                base_url=f"{url}/api/v1/",
                headers={"Authorization": f"Bearer {key}", "Connection": "close"},
                trust_env=False,
                timeout=SECONDS,
            ) as client:
                try:
                    if client.get("health/ready").status_code != 200:
                        continue
                except httpx.TransportError:
                    continue  # it has ended, and is still in the list
                # On a busy machine it may have ended since. Nothing was sent then, and the next
                # server is tried, as any balancer does.
                with suppress(httpx.ConnectError):
                    return client.request(method, path, json=body).status_code
        return 0


@contextmanager
def server(database_url: str, home: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    home.mkdir()
    ready = home / "ready"
    variables = environment(
        RECOLLECT_HOME=str(home),
        RECOLLECT_DATABASE_URL=database_url,
        RECOLLECT_PORT="0",
        RECOLLECT_WORKER="off",
        RECOLLECT_EMBEDDER="none",
        RECOLLECT_ANSWER_WITHIN="3600",
        RECOLLECT_DRAIN_SECONDS="3",
    )
    command = [*COMMAND, "serve", "--ready-file", str(ready)]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=log)
    try:
        wait_until(ready.exists)
        yield json.loads(ready.read_text())["url"], process
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
def test_servers_are_replaced_without_a_failed_request(database_url: str, tmp_path: Path) -> None:
    with running(database_url, tmp_path / "home") as up:
        key = up.new_key("ada")
    balancer, is_over = Balancer(), threading.Event()
    statuses: list[int] = []
    stored: list[str] = []

    def work(number: int) -> None:
        written = 0
        while not is_over.is_set():
            text = f"note {number}-{written}"
            status = balancer.send(key, "POST", "memories", {"content": text})
            statuses.append(status)
            if status == 201:
                stored.append(text)
            statuses.append(balancer.send(key, "POST", "recall", {"query": text}))
            written += 1

    with ThreadPoolExecutor(4) as pool:
        try:
            with server(database_url, tmp_path / "one") as (first, old):
                balancer.urls = [first]
                working = [pool.submit(work, number) for number in range(4)]
                wait_until(lambda: len(statuses) > 20)
                with server(database_url, tmp_path / "two") as (second, _):
                    balancer.urls = [first, second]
                    done = len(statuses)
                    wait_until(lambda: len(statuses) > done + 10)
                    os.kill(old.pid, signal.SIGTERM)
                    assert old.wait() == 0
                    done = len(statuses)
                    wait_until(lambda: len(statuses) > done + 20)
                    is_over.set()
                    for future in working:
                        future.result()
        finally:
            is_over.set()
    assert set(statuses) == {200, 201}
    log = (tmp_path / "one" / "log").read_text()
    assert "event=started" in log
    assert "event=stopped" in log
    with psycopg.connect(database_url) as connection:
        found = connection.execute("select content from memories").fetchall()
    assert {text for (text,) in found} >= set(stored)


def test_a_migration_does_not_queue_others_behind_it(empty_database_url: str) -> None:
    """It waits for a table that is in use, gives way, and completes once the table is free."""
    migrate(empty_database_url)
    with psycopg.connect(empty_database_url) as reader, ThreadPoolExecutor(1) as pool:
        # A table that a later migration would alter; here the one with the schema version.
        reader.execute("delete from schema_revisions where revision = '0001v'")
        reader.execute("lock table schema_revisions in access exclusive mode")
        migrating = pool.submit(migrate, empty_database_url)
        # In one transaction, pg_stat_activity would list the connections of its first query only.
        with psycopg.connect(empty_database_url, autocommit=True) as other:
            blocked = (
                "select count(*) from pg_stat_activity"
                " where datname = current_database() and wait_event_type = 'Lock'"
            )
            wait_until(lambda: other.execute(blocked).fetchone() != (0,))
            wait_until(lambda: other.execute(blocked).fetchone() == (0,))
        reader.rollback()
        assert migrating.result() == ""
