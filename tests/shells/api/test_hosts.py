"""The Host header: a name that is not ours is not answered, whatever is asked."""

from __future__ import annotations

import socket

import httpx
import pytest
from tests.serving import Running
from tests.waiting import SECONDS

PATHS = ("/", "/assets/page.js", "/mcp", "/api/v1/health/live", "/api/v1/stats", "/api/v1/docs")


def status(server: Running, path: str, host: str | None) -> int:
    """Request a path as a browser would that was sent here under another name."""
    with httpx.Client(
        headers={"Authorization": f"Bearer {server.new_key()}"}, timeout=SECONDS
    ) as client:
        request = client.build_request("GET", server.url + path)
        del request.headers["Host"]
        if host is not None:
            request.headers["Host"] = host
        return client.send(request).status_code


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8420",
        "evil.example:127.0.0.1",
        "0.0.0.0",
        "",
        "[::1",
        "memory.example.",
    ],
)
def test_a_foreign_name_is_refused_everywhere(shared_server: Running, host: str) -> None:
    for path in PATHS:
        assert status(shared_server, path, host) == 421, path


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost:8420", "LOCALHOST", "[::1]:80", "memory.example:443", "[::2]"],
)
def test_own_names_are_answered(shared_server: Running, host: str) -> None:
    assert status(shared_server, "/api/v1/stats", host) == 200


def test_two_host_headers_are_refused(shared_server: Running) -> None:
    url = httpx.URL(shared_server.url)
    with socket.create_connection((url.host, url.port or 80)) as connection:
        connection.sendall(
            b"GET /api/v1/health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: x\r\n\r\n"
        )
        assert connection.recv(64).split(b" ")[1] in (b"400", b"421")


def test_no_other_site_is_let_in_by_cors(shared_server: Running) -> None:
    answer = httpx.options(
        f"{shared_server.url}/api/v1/stats",
        headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"},
        timeout=SECONDS,
    )
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


def from_site(server: Running, path: str, origin: str) -> int:
    headers = {"Authorization": f"Bearer {server.new_key()}", "Origin": origin}
    return httpx.post(server.url + path, headers=headers, timeout=SECONDS).status_code


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://127.0.0.1.evil.example:8420", "null", "evil.example"]
)
def test_pages_of_another_site_are_refused_everywhere(shared_server: Running, origin: str) -> None:
    for path in PATHS:
        assert from_site(shared_server, path, origin) == 403, path


@pytest.mark.parametrize(
    "origin",
    ["http://127.0.0.1:8420", "http://LOCALHOST", "http://[::1]:80", "https://memory.example"],
)
def test_pages_of_our_own_are_answered(shared_server: Running, origin: str) -> None:
    assert from_site(shared_server, "/mcp", origin) not in (403, 421)
