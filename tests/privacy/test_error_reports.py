"""Errors that the shells report contain no text of others: neither in the log, nor in the answer,
nor in the traceback that RECOLLECT_DEBUG asks for.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from mcp import Client
from tests.privacy.canaries import birds_in, canary
from tests.shells.cli.commands import Cli

from recollect.ports.service import Service
from recollect.shells.cli.framework.shell import guarded
from recollect.shells.mcp.server import Context, build_server

pytestmark = pytest.mark.anyio

BIRD = canary("told")


@pytest.mark.parametrize("as_json", [False, True])
def test_debugging_a_command_shows_where_but_no_foreign_text(
    as_json: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise KeyError(BIRD) from ValueError(BIRD)

    monkeypatch.setenv("RECOLLECT_DEBUG", "1")
    assert guarded(fails, as_json=as_json) == 1
    output = capsys.readouterr().err
    for part in ("Traceback", "in fails", "ValueError", "unexpected KeyError"):
        assert part in output
    assert birds_in(output) == []


@contextmanager
def careless_server(answer: bytes) -> Iterator[str]:
    """Serve `answer` where a Recollect server should be."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_debugging_does_not_show_an_answer_that_could_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser's own message quotes what it could not read, and that is a memory."""
    monkeypatch.setenv("RECOLLECT_DEBUG", "1")
    with careless_server(json.dumps({"id": 1, "content": [BIRD]}).encode()) as url:
        away = {"RECOLLECT_API_URL": url, "RECOLLECT_API_KEY": "rk_x", "RECOLLECT_SYNC": "off"}
        result = Cli(tmp_path, away)("remember", BIRD, "--sensitive")
    assert result.exit_code == 6
    assert "ValidationError" in result.stderr
    assert birds_in(result.stdout + result.stderr) == []


async def test_a_tool_that_fails_unexpectedly_quotes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    async def broken(_: Context) -> Service:
        raise RuntimeError(BIRD)

    async with Client(build_server(broken)) as client:
        answer = (await client.call_tool("memory_store", {"content": BIRD})).model_dump_json()
    assert "unexpected RuntimeError" in answer
    ours = [record for record in caplog.records if record.name.startswith("recollect")]
    (line,) = [logging.Formatter().format(record) for record in ours]
    assert "memory_store failed: RuntimeError at" in line
    assert __file__ in line
    assert birds_in(answer + line) == []
