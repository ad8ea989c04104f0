"""What a server does when things go wrong: Postgres goes away, ports are taken, signals arrive."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from tests.conftest import Cluster
from tests.processes import COMMAND
from tests.serving import Running, running
from tests.waiting import SECONDS, wait_until

from recollect.adapters.postgres.embedded import EmbeddedPostgres
from recollect.adapters.postgres.embedded.locations import find_postmaster
from recollect.shells.serve import write_private

SERVE = (*COMMAND, "serve")
END = "Stop with Ctrl-C.\n"


def test_postgres_gone_in_the_middle_of_requests_is_reported_and_survived(
    database_url: str, cluster: Cluster, tmp_path: Path
) -> None:
    """Every backend is terminated again and again while requests run: each request is answered,
    acknowledged memories exist afterwards, and no restart is needed.
    """
    with running(database_url, tmp_path) as up, up.client() as client:
        name = psycopg.conninfo.conninfo_to_dict(database_url)["dbname"]

        def end_all() -> None:
            with psycopg.connect(cluster.admin_url, autocommit=True) as admin:
                # Waits, up to a minute, until each is gone: the last ones must not end later, in
                # the middle of the requests below.
                admin.execute(
                    "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                    " where datname = %s",
                    [name],
                )

        def remember(number: int) -> httpx.Response:
            return client.post("memories", json={"content": f"number {number}"})

        with ThreadPoolExecutor(4) as pool:
            writing = [pool.submit(remember, number) for number in range(60)]
            for _ in range(6):
                end_all()
            answers = [future.result() for future in writing]
        for answer in answers:
            assert answer.status_code in (201, 503), answer.text
            if answer.status_code == 503:
                check_unavailable(answer)
        acknowledged = {answer.json()["content"] for answer in answers if answer.status_code == 201}
        stored = client.get("memories", params={"limit": 100}).json()["memories"]
        assert acknowledged <= {memory["content"] for memory in stored}
        assert remember(99).status_code == 201


def postmaster(home: Path) -> int | None:
    return find_postmaster(home / "postgres" / "data")


def was_stopped(home: Path) -> bool:
    """Return whether it stopped cleanly: a server that crashed leaves its pid file."""
    return (home / "postgres" / "data").exists() and not (
        home / "postgres" / "data" / "postmaster.pid"
    ).exists()


def check_unavailable(answer: httpx.Response) -> None:
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert int(answer.headers["Retry-After"]) > 0
    problem = answer.json()
    assert problem["type"] == "urn:recollect:problem:store-unavailable"
    assert problem["remedy"]


def test_a_postgres_that_stops_and_comes_back_needs_no_restart(open_folder: Path) -> None:
    home = open_folder / "coming-and-going"
    embedded = EmbeddedPostgres(home)
    url = embedded.start()
    try:
        with running(url, home, timeout_factor=1) as up, up.client() as client:
            assert client.post("memories", json={"content": "harbour"}).status_code == 201
            assert client.get("health/ready").status_code == 200
            embedded.stop()
            wait_until(lambda: client.get("health/ready").status_code == 503)
            asked: list[tuple[str, str, dict[str, str] | None]] = [
                ("GET", "health/ready", None),
                ("GET", "memories", None),
                ("POST", "memories", {"content": "lost, and said so"}),
                ("POST", "recall", {"query": "harbour"}),
            ]
            with ThreadPoolExecutor(len(asked)) as pool:
                refused = [pool.submit(client.request, *call[:2], json=call[2]) for call in asked]
            for answer in (future.result() for future in refused):
                assert answer.status_code == 503, answer.text
                check_unavailable(answer)
            assert client.get("health/live").status_code == 200
            assert embedded.start() == url
            wait_until(lambda: client.get("health/ready").status_code == 200)
            wait_until(lambda: client.get("memories").status_code == 200)
            found = client.post("recall", json={"query": "harbour"}).json()
            assert [hit["memory"]["content"] for hit in found["hits"]] == ["harbour"]
    finally:
        embedded.stop()


def test_an_internal_error_is_answered_without_its_text(
    database_url: str, tmp_path: Path, log_shown: None, capfd: pytest.CaptureFixture[str]
) -> None:
    """A handler of the real app raises an unexpected error."""
    from recollect.shells.api.app import create_app

    with running(database_url, tmp_path) as up:
        app = create_app(up.server)

        async def broken() -> None:
            raise RuntimeError("the text of a memory")

        app.add_api_route("/api/v1/health/broken", broken)
        transport = httpx.ASGITransport(app)

        async def ask() -> httpx.Response:
            headers = {"Authorization": f"Bearer {key}"}
            async with httpx.AsyncClient(
                transport=transport, base_url="http://127.0.0.1", headers=headers
            ) as client:
                return await client.get("/api/v1/health/broken")

        key = up.new_key()
        answer = asyncio.run_coroutine_threadsafe(ask(), up.loop).result()
    assert answer.status_code == 500
    assert answer.json()["type"] == "urn:recollect:problem:unexpected"
    assert "memory" not in answer.text
    out, err = capfd.readouterr()
    assert "RuntimeError" in out + err
    assert "the text of a memory" not in out + err


def log_of(ready_file: Path) -> Path:
    return ready_file.with_suffix(".log")


@contextmanager
def serving(
    database_url: str | None, home: Path, ready_file: Path, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """Run `recollect serve` as a process, and wait until it is ready. Its log goes to a file: an
    unread pipe is full after some hundred requests, and would block it.
    """
    variables = os.environ | {
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_PORT": "0",
        **({} if database_url is None else {"RECOLLECT_DATABASE_URL": database_url}),
        **environment,
    }
    with log_of(ready_file).open("w") as log:
        process = subprocess.Popen(
            [*SERVE, "--ready-file", str(ready_file)],
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        printed = "".join(takewhile(lambda line: line != END, process.stdout))
        if not printed.startswith("Recollect is ready\n"):
            raise AssertionError(printed + log_of(ready_file).read_text())
        yield process, {**json.loads(ready_file.read_text()), "printed": printed}
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_a_file_that_the_first_key_is_printed_to_becomes_private(
    database_url: str, tmp_path: Path
) -> None:
    printed = tmp_path / "printed"
    printed.touch(mode=0o644)
    variables = {
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "RECOLLECT_PORT": "0",
        "RECOLLECT_DATABASE_URL": database_url,
    }
    with printed.open("w") as out:
        process = subprocess.Popen(SERVE, env=os.environ | variables, stdout=out)
    try:
        wait_until(lambda: "rk_" in printed.read_text())
        assert stat.S_IMODE(printed.stat().st_mode) == 0o600
    finally:
        process.terminate()
        assert process.wait(SECONDS) == 0


def test_serve_prints_its_first_key_once_and_logs_no_secret(
    database_url: str, tmp_path: Path
) -> None:
    ready_file = tmp_path / "ready.json"
    with serving(database_url, tmp_path, ready_file) as (process, ready):
        assert stat.S_IMODE(ready_file.stat().st_mode) == 0o600
        assert ready["pid"] == process.pid
        key = ready["key"]
        headers = {"Authorization": f"Bearer {key}"}
        for path in ("stats", f"memories?project={key}", f"nowhere/{key}", f"memories/{key}"):
            httpx.get(f"{ready['url']}/api/v1/{path}", headers=headers, timeout=SECONDS)
        body = {"content": f"{key} is my key", "tags": ["secret tag"]}
        posted = httpx.post(
            f"{ready['url']}/api/v1/memories", json=body, headers=headers, timeout=SECONDS
        )
        assert posted.status_code == 201
        assert httpx.get(ready["page"], timeout=SECONDS).status_code == 200
        assert httpx.get(ready["docs"], timeout=SECONDS).status_code == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
    out, err = ready["printed"], log_of(ready_file).read_text()
    assert process.returncode == 0
    assert not ready_file.exists()
    assert out.count(key) == 1
    assert f"export RECOLLECT_API_URL={ready['url']}" in out
    assert f"claude mcp add --transport http recollect {ready['mcp']}" in out
    assert key not in err
    assert "secret tag" not in err
    assert "project=" not in err
    assert "route=/api/v1/memories/{reference} status=422" in err

    with serving(database_url, tmp_path, ready_file) as (process, ready):
        assert "key" not in ready
        assert (
            httpx.get(f"{ready['url']}/api/v1/stats", headers=headers, timeout=SECONDS).status_code
            == 200
        )
        ready_file.write_text("of a server that was started meanwhile")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert ready_file.exists()
    assert key not in ready["printed"]


@pytest.mark.slow
def test_serve_stops_its_embedded_postgres_with_itself(open_folder: Path) -> None:
    home = open_folder / "served"
    with serving(None, home, open_folder / "served.json") as (process, ready):
        headers = {"Authorization": f"Bearer {ready['key']}"}
        url = f"{ready['url']}/api/v1/memories"
        assert (
            httpx.post(url, json={"content": "kept"}, headers=headers, timeout=SECONDS).status_code
            == 201
        )
        assert postmaster(home) is not None
        with httpx.Client(
            timeout=SECONDS
        ) as idle:  # an open connection does not keep it from stopping
            idle.get(ready["page"])
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert was_stopped(home)

    # A signal during the start takes effect once nothing can be left behind.
    variables = os.environ | {"RECOLLECT_HOME": str(home), "RECOLLECT_PORT": "0"}
    early = subprocess.Popen(
        SERVE, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_until(lambda: postmaster(home) is not None or early.poll() is not None)
    early.send_signal(signal.SIGTERM)
    _, err = early.communicate(timeout=SECONDS)
    assert early.returncode == 0, err
    assert was_stopped(home)


@pytest.mark.slow
def test_an_embedded_postgres_that_is_killed_is_started_again(open_folder: Path) -> None:
    home = open_folder / "killed"
    with (
        serving(None, home, open_folder / "killed.json") as (process, ready),
        httpx.Client(
            base_url=f"{ready['url']}/api/v1/",
            headers={"Authorization": f"Bearer {ready['key']}"},
            timeout=SECONDS,
        ) as client,
    ):
        acknowledged = []
        for number in range(2):
            stored = client.post("memories", json={"content": f"before {number}"})
            assert stored.status_code == 201
            acknowledged.append(stored.json()["id"])
            killed = postmaster(home)
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            restarted = False
            until = time.monotonic() + SECONDS
            while not restarted:
                assert time.monotonic() < until, "it was not started again"
                # Checked before the request: an orphan of the killed server may still answer it.
                restarted = postmaster(home) not in (killed, None)
                answer = client.post("memories", json={"content": f"after {number}"})
                if answer.status_code in (200, 201):  # 200 repeats a write whose answer was lost
                    acknowledged.append(answer.json()["id"])
                else:
                    assert answer.status_code == 503
                    check_unavailable(answer)
                    restarted = False
        memories = client.get("memories", params={"limit": 100}).json()["memories"]
        assert set(acknowledged) <= {memory["id"] for memory in memories}
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert was_stopped(home)


def test_serve_names_a_port_in_use_with_a_remedy(database_url: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        variables = os.environ | {
            "RECOLLECT_HOME": str(tmp_path),
            "RECOLLECT_PORT": port,
            "RECOLLECT_DATABASE_URL": database_url,
        }
        run = subprocess.run(SERVE, env=variables, capture_output=True, text=True, timeout=SECONDS)
    assert run.returncode != 0
    message = " ".join(run.stderr.split())
    assert f"port {port} of 127.0.0.1 is in use by another program" in message
    assert "RECOLLECT_PORT" in message
    assert "Traceback" not in run.stderr


def test_a_ready_file_that_cannot_be_written_is_reported_with_its_remedy(
    database_url: str, tmp_path: Path
) -> None:
    variables = os.environ | {
        "RECOLLECT_HOME": str(tmp_path),
        "RECOLLECT_PORT": "0",
        "RECOLLECT_DATABASE_URL": database_url,
    }
    run = subprocess.run(
        [*SERVE, "--ready-file", str(tmp_path / "nowhere" / "ready.json")],
        env=variables,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert run.returncode == 2, run.stderr
    assert "ready.json cannot be written" in run.stderr
    assert "→ Name a file in a folder that exists" in run.stderr


def test_a_partial_ready_file_of_a_killed_server_is_replaced(tmp_path: Path) -> None:
    """In a container the next server often has the same process id."""
    (tmp_path / f".ready.json.{os.getpid()}").write_text("half a fi")
    write_private(tmp_path / "ready.json", "{}")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("ready.json", "{}")]


def test_two_servers_share_one_store(database_url: str, tmp_path: Path) -> None:
    def contents(up: Running, key: str) -> list[str]:
        with up.client(key) as client:
            memories = client.get("memories").json()["memories"]
            return [memory["content"] for memory in memories]

    with running(database_url, tmp_path) as one, running(database_url, tmp_path) as other:
        key = one.new_key()
        with one.client(key) as client:
            client.post("memories", json={"content": "said to one"})
            client.patch("settings", json={"rrf_k": 7})
        assert contents(other, key) == ["said to one"]
        with other.client(key) as client:
            assert client.get("settings").json()["rrf_k"] == 7
