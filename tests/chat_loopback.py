"""A real HTTP server on loopback that answers like an OpenAI-compatible chat API.

It records every byte it receives. The test decides what it answers: a function from the memories
that were sent (their tags and texts) to the text of the model's answer, or a fault.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Sent = Any
"""What the second message of a request says, as JSON: the memories."""
Model = Callable[[Sent], str]


@dataclass(frozen=True)
class Fault:
    """Answer with this status and body, or (`stalls`) with nothing until the server is closed."""

    status: int = 500
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = ()
    stalls: bool = False


def says(*triples: tuple[str, str, str]) -> Callable[[str], list[dict[str, Any]]]:
    """Return a reader that finds the same triples in every text."""
    return lambda _text: [
        {"subject": s, "relation": r, "object": o, "since": None, "until": None}
        for s, r, o in triples
    ]


def model(read: Callable[[str], list[dict[str, Any]]]) -> Model:
    """Return a well-behaved model that reads each text with a function."""
    return lambda sent: json.dumps(
        {"memories": [{"id": message["id"], "triples": read(message["text"])} for message in sent]}
    )


@dataclass
class ChatLoopback:
    """`with ChatLoopback(model(...)) as server:` then point a reader at `server.url`."""

    model: Model
    received: bytearray = field(default_factory=bytearray)
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    tokens: object = 123
    _faults: deque[Fault] = field(default_factory=deque)
    _closing: threading.Event = field(default_factory=threading.Event)

    def misbehave(self, *faults: Fault) -> None:
        self._faults.extend(faults)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def sent(self, number: int = -1) -> Sent:
        return json.loads(self.requests[number]["messages"][1]["content"])

    def __enter__(self) -> Self:
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                chat.received += str(self.headers).encode() + body
                chat.keys.append(self.headers.get("authorization", ""))
                chat.requests.append(json.loads(body))
                fault = chat._faults.popleft() if chat._faults else None
                if fault is not None and fault.stalls:
                    chat._closing.wait()
                    return
                status, answer = (fault.status, fault.body) if fault else (200, chat._answer())
                self.send_response(status)
                for name, value in fault.headers if fault else ():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                with suppress(ConnectionError):  # the client may have stopped reading
                    self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:
                """Tests look at `requests` instead."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self) -> bytes:
        content = self.model(self.sent())
        return json.dumps(
            {
                "choices": [{"message": {"role": "assistant", "content": content}}],
                "usage": {"total_tokens": self.tokens},
            }
        ).encode()
