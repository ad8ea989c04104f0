"""Retry-After of an overloaded server is honoured, within limits."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from recollect.adapters.http.client import RemoteService
from recollect.core.errors import Conflict, Overloaded, RateLimited, RecollectError
from recollect.core.memory.memory import Draft
from recollect.wire.problems import Problem

pytestmark = pytest.mark.anyio

REFUSED = Overloaded("the server is overloaded", remedy="Try again.")


@contextmanager
def serve_errors(*errors: RecollectError, retry_after: str) -> Iterator[tuple[str, list[str]]]:
    """Run a server that answers with these errors, one after another, and then repeats the last
    one; its URL, and the paths that were requested.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            error = errors[min(len(asked), len(errors)) - 1]
            problem = Problem.from_error(error)
            body = json.dumps(problem.model_dump()).encode()
            self.send_response(problem.status)
            self.send_header("Retry-After", retry_after)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


async def remember(url: str) -> tuple[RecollectError, list[float]]:
    """Return the error that a write ends with, and how long it waited before each retry."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    with pytest.raises(RecollectError) as caught:
        async with RemoteService(url, "rk_x", sleep=sleep) as remote:
            await remote.remember(Draft("something"))
    return caught.value, pauses


async def test_a_refused_request_is_sent_again_after_the_pause_it_was_asked_for() -> None:
    done = Conflict("it was changed", remedy="Read it again.")
    with serve_errors(REFUSED, REFUSED, done, retry_after="2") as (url, asked):
        error, pauses = await remember(url)
    assert isinstance(error, Conflict)
    assert len(asked) == 3
    assert all(pause >= 2 for pause in pauses)
    assert len(pauses) == 2


async def test_a_server_that_stays_overloaded_is_given_up() -> None:
    with serve_errors(REFUSED, retry_after="0") as (url, asked):
        error, pauses = await remember(url)
    assert isinstance(error, Overloaded)
    assert 1 < len(asked) <= 5
    assert sum(pauses) <= 10


async def test_a_pause_that_is_too_long_is_not_waited_for() -> None:
    limited = RateLimited("this key writes too often", remedy="Write less often.")
    with serve_errors(limited, retry_after="60") as (url, asked):
        error, pauses = await remember(url)
    assert isinstance(error, RateLimited)
    assert (len(asked), pauses) == (1, [])
