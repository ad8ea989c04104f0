"""Peers that send slowly, stop sending, do not read, or open more connections than they use."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from tests.serving import Running, running
from tests.waiting import SECONDS, wait_until

from recollect.shells.asgi.protocol import ConnectionLimits

LIMITS = ConnectionLimits(connections=100, per_address=100, header_seconds=SECONDS)
MANY_REQUESTS = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 50
ASKS_LIVE = b"GET /api/v1/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def connect(up: Running, sent: bytes = b"") -> socket.socket:
    url = httpx.URL(up.url)
    connection = socket.create_connection((url.host, url.port or 0), timeout=SECONDS)
    connection.sendall(sent)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Wait for the server to close it; what it still sends is dropped."""
    with closing(connection):
        try:
            while connection.recv(65_536):
                pass
        except ConnectionError:
            pass
        return True


def head(connection: socket.socket) -> bytes:
    """Read the next answer's status line and headers."""
    read = b""
    while b"\r\n\r\n" not in read:
        part = connection.recv(65_536)
        assert part, f"closed after {read!r}"
        read += part
    return read


def post(key: str, length: int, *, expect: bool = False) -> bytes:
    lines = [
        "POST /api/v1/memories HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: Bearer {key}",
        "Content-Type: application/json",
        f"Content-Length: {length}",
        *(["Expect: 100-continue"] if expect else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


@pytest.fixture
def hurried(database_url: str, tmp_path: Path) -> Iterator[Running]:
    with running(database_url, tmp_path, header_timeout=0.05, body_timeout=0.05) as up:
        yield up


def test_a_request_without_the_end_of_its_header_is_closed(hurried: Running) -> None:
    assert is_closed(connect(hurried))
    assert is_closed(connect(hurried, ASKS_LIVE))


def test_a_second_request_without_the_end_of_its_header_is_closed(hurried: Running) -> None:
    connection = connect(hurried, ASKS_LIVE + b"\r\n")
    assert head(connection).startswith(b"HTTP/1.1 200")
    connection.sendall(ASKS_LIVE)
    assert is_closed(connection)


def test_a_body_that_does_not_come_is_refused_and_closed(hurried: Running) -> None:
    connection = connect(hurried, post(hurried.new_key(), 1000) + b"{")
    assert head(connection).startswith(b"HTTP/1.1 408")
    assert is_closed(connection)


def test_the_key_is_checked_before_the_body_is_read(own_server: Running) -> None:
    with closing(connect(own_server, post("rk_wrong", 1000))) as connection:
        assert head(connection).startswith(b"HTTP/1.1 401")


def test_mcp_checks_the_key_before_the_body_as_well(own_server: Running) -> None:
    sent = post("rk_wrong", 1000).replace(b"/api/v1/memories", b"/mcp")
    with closing(connect(own_server, sent)) as connection:
        assert head(connection).startswith(b"HTTP/1.1 401")


def test_a_path_without_a_key_waits_for_no_body(own_server: Running) -> None:
    sent = ASKS_LIVE + b"Content-Length: 1000\r\n\r\n"
    with closing(connect(own_server, sent)) as connection:
        assert head(connection).startswith(b"HTTP/1.1 200")


def test_server_does_not_wait_for_an_unneeded_body(database_url: str, tmp_path: Path) -> None:
    with running(database_url, tmp_path, replace(LIMITS, drain_seconds=0.05)) as up:
        connection = connect(up, post("rk_wrong", 1000) + b"{")
        assert head(connection).startswith(b"HTTP/1.1 401")
        assert is_closed(connection)


def test_held_connections_do_not_keep_others_out(database_url: str, tmp_path: Path) -> None:
    with running(database_url, tmp_path, max_connections=5) as up:
        held = [connect(up, ASKS_LIVE) for _ in range(20)]
        for _ in range(3):
            answer = httpx.get(f"{up.url}/api/v1/health/live", timeout=SECONDS)
            assert answer.status_code == 200
        assert all(is_closed(connection) for connection in held[:14])
        for connection in held:
            connection.close()


def test_server_refuses_when_all_connections_are_busy(database_url: str, tmp_path: Path) -> None:
    with (
        running(database_url, tmp_path, max_connections=1) as up,
        closing(connect(up, post(up.new_key(), 1000, expect=True))) as busy,
    ):
        assert head(busy).startswith(b"HTTP/1.1 100")
        with closing(connect(up)) as late:
            refused = head(late)
        assert refused.startswith(b"HTTP/1.1 503")
        assert b"retry-after: 1\r\n" in refused.lower()
        assert b"urn:recollect:problem:overloaded" in refused


def test_bodies_together_are_limited_and_one_key_has_a_share_of_that(
    database_url: str, tmp_path: Path
) -> None:
    """4 MiB in all: 1 MiB for a key, of which one request holds more than half."""
    size = 600_000
    body = b" " * size
    with running(database_url, tmp_path, body_memory_mb=4) as up:
        key = up.new_key()
        with up.client(key) as mine, up.client() as theirs:
            with closing(connect(up, post(key, size + 1))) as held:
                held.sendall(body)
                answer = wait_until(
                    lambda: (
                        answer
                        if (answer := mine.post("memories", content=body)).status_code == 503
                        else None
                    )
                )
                assert answer is not None
                assert answer.json()["type"] == "urn:recollect:problem:overloaded"
                assert answer.headers["Retry-After"]
                assert theirs.post("memories", content=body).status_code == 422
            assert wait_until(lambda: mine.post("memories", content=body).status_code == 422)


def test_a_peer_that_does_not_read_its_answers_is_closed(database_url: str, tmp_path: Path) -> None:
    with (
        running(database_url, tmp_path, replace(LIMITS, write_seconds=0.05)) as up,
        closing(connect(up)) as connection,
    ):
        connection.setblocking(False)  # the standard library's

        def is_gone() -> bool:
            try:
                connection.send(MANY_REQUESTS)
            except BlockingIOError:
                return False
            except ConnectionError:
                return True
            return False

        assert wait_until(is_gone)


def test_a_peer_that_reads_its_answers_little_by_little_is_closed(
    database_url: str, tmp_path: Path
) -> None:
    with (
        running(database_url, tmp_path, replace(LIMITS, write_seconds=0.5)) as up,
        closing(connect(up)) as connection,
    ):
        connection.setblocking(False)  # the standard library's

        def is_gone() -> bool:
            try:
                with suppress(BlockingIOError):
                    connection.send(MANY_REQUESTS)
                with suppress(BlockingIOError):
                    return not connection.recv(32_768)
            except ConnectionError:
                return True
            return False

        assert wait_until(is_gone)
