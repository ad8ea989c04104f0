"""A real HTTP server on loopback that speaks each hosted embedding API's own wire format.

It records every byte it receives, so that a test can check whether something was ever sent. It can
misbehave: each fault passed to `misbehave` is used for one request, in order. It runs in a thread
of its own, so that it also serves synchronous tests and other processes.

What it sends is a function of the text alone: a bag of hashed words, so that texts with common
words have similar vectors. The vectors are deliberately not of length 1.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Self

Api = Literal["voyage", "openai", "cohere", "compatible"]
PATHS: Final[dict[Api, str]] = {
    "voyage": "/v1/embeddings",
    "openai": "/v1/embeddings",
    "cohere": "/v2/embed",
    "compatible": "/v1/embeddings",
}
# The fields of each API that Recollect uses. A request with another field is rejected, as real
# services reject fields that they do not know.
FIELDS: Final[dict[Api, set[str]]] = {
    "voyage": {"input", "model", "input_type", "truncation", "output_dimension"},
    "openai": {"input", "model", "encoding_format", "dimensions"},
    "cohere": {
        "texts",
        "model",
        "input_type",
        "embedding_types",
        "output_dimension",
        "truncate",
    },
    "compatible": {"input", "model", "encoding_format"},
}
INPUT_TYPES: Final[dict[Api, tuple[str, ...]]] = {
    "voyage": ("document", "query"),
    "cohere": ("search_document", "search_query"),
}


@dataclass(frozen=True)
class Status:
    """Answer with this status; the body repeats the request, as careless servers do."""

    code: int
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Stall:
    """Take the request, call `taken`, and never answer."""

    taken: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Cut:
    """Close the connection in the middle of the answer."""


@dataclass(frozen=True)
class Garbage:
    """Answer 200 with these bytes."""

    body: bytes


@dataclass(frozen=True)
class Spoiled:
    """A well-formed answer with the wrong dimension, too few vectors, or in another order."""

    dimension: int | None = None
    missing: int = 0
    shuffled: bool = False
    renumbered: bool = False


Fault = Status | Stall | Cut | Garbage | Spoiled


@dataclass(frozen=True)
class Request:
    """One parsed request; `Loopback.received` has the bytes."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


# Chooses the fault by the request, or makes something happen meanwhile.
Reaction = Callable[[Request], Fault]


def vector_of(text: str, dimension: int, purpose: str = "") -> list[float]:
    """Hash words into a vector; the purpose shifts it a little, as in real models."""
    vector = [0.0] * dimension
    for word in re.findall(r"\w+", text.lower()) or [text]:
        digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
        vector[int.from_bytes(digest[:4]) % dimension] += 3.0 if digest[4] % 2 else -3.0
    vector[len(purpose) % dimension] += 0.25
    return vector


@dataclass
class Loopback:
    """`with Loopback("voyage") as server:` then point an embedder at `server.base_url`."""

    api: Api
    dimension: int = 8
    received: bytearray = field(default_factory=bytearray)
    requests: list[Request] = field(default_factory=list)
    port: int = 0
    _faults: deque[Fault | Reaction] = field(default_factory=deque)

    def misbehave(self, *faults: Fault | Reaction) -> None:
        self._faults.extend(faults)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}{PATHS[self.api].rpartition('/')[0]}"

    def saw(self, text: str) -> bool:
        """Return whether the text ever arrived, as it is or with JSON's escapes."""
        forms = (text.encode(), json.dumps(text)[1:-1].encode())
        return any(form in self.received for form in forms)

    def __enter__(self) -> Self:
        started = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(started)), name="loopback", daemon=True
        )
        self._thread.start()
        started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self, started: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        open_connections: set[asyncio.Task[None]] = set()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._connection(reader, writer))
            open_connections.add(task)
            task.add_done_callback(open_connections.discard)

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        await self._stop.wait()
        server.close()
        for task in open_connections:
            task.cancel()
        await asyncio.gather(*open_connections, return_exceptions=True)
        await server.wait_closed()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await self._read(reader)) is not None:
                self.requests.append(request)
                fault = self._faults.popleft() if self._faults else None
                if callable(fault):
                    fault = fault(request)
                if isinstance(fault, Stall):
                    fault.taken()
                    await self._stop.wait()
                answer = self._answer(request, fault)
                if isinstance(fault, Cut):
                    writer.write(answer[: len(answer) // 2])
                    await writer.drain()
                    return
                writer.write(answer)
                await writer.drain()
        except ConnectionError:
            pass  # the client went away, which is what some tests are about
        finally:
            writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> Request | None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = await reader.readline()
            self.received += line
            if not line:
                return None
            head += line
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = b""
        while len(body) < int(headers.get("content-length", "0")):
            part = await reader.read(65_536)
            self.received += part
            if not part:
                return None
            body += part
        # Clients that use it as a proxy send absolute URLs: it then answers for the named host.
        path = re.sub(r"^http://[^/]+", "", first.split(" ")[1])
        return Request(path, headers, json.loads(body) if body else {})

    def _answer(self, request: Request, fault: Fault | None) -> bytes:
        if isinstance(fault, Status):
            return _response(fault.code, json.dumps(request.body).encode(), fault.headers)
        if isinstance(fault, Garbage):
            return _response(200, fault.body)
        refused = self._refusal(request)
        if refused is not None:
            return _response(400, json.dumps({"error": refused}).encode())
        texts = request.body["texts" if self.api == "cohere" else "input"]
        vectors = self._vectors(request, texts, fault if isinstance(fault, Spoiled) else Spoiled())
        return _response(200, json.dumps(self._envelope(request, texts, vectors)).encode())

    def _refusal(self, request: Request) -> str | None:
        if request.path != PATHS[self.api]:
            return f"no such path: {request.path}"
        unknown = request.body.keys() - FIELDS[self.api]
        if unknown:
            return f"unknown fields: {unknown}"
        known = INPUT_TYPES.get(self.api)
        if known and request.body.get("input_type") not in known:
            return "input_type is wrong or missing"
        if self.api == "cohere" and request.body.get("embedding_types") != ["float"]:
            return "embedding_types is wrong or missing"
        return None

    def _vectors(
        self, request: Request, texts: Sequence[str], spoiled: Spoiled
    ) -> list[tuple[int, list[float]]]:
        asked = request.body.get("dimensions") or request.body.get("output_dimension")
        dimension = spoiled.dimension or asked or self.dimension
        purpose = request.body.get("input_type", "")
        vectors = [vector_of(text, dimension, purpose) for text in texts]
        numbered = list(enumerate(vectors))[spoiled.missing :]
        if spoiled.shuffled:
            numbered.reverse()
        return [(0, vector) for _, vector in numbered] if spoiled.renumbered else numbered

    def _envelope(
        self, request: Request, texts: Sequence[str], vectors: list[tuple[int, list[float]]]
    ) -> dict[str, Any]:
        tokens = sum(len(text) // 4 + 1 for text in texts)
        if self.api == "cohere":
            return {
                "id": "5807ee2e-0cda-445a-9ec8-864c60a06606",
                "texts": list(texts),
                "embeddings": {"float": [vector for _, vector in vectors]},
                "response_type": "embeddings_by_type",
                "meta": {
                    "api_version": {"version": "2"},
                    "billed_units": {"input_tokens": tokens},
                },
            }
        usage = {"total_tokens": tokens}
        if self.api != "voyage":
            usage["prompt_tokens"] = tokens
        return {
            "object": "list",
            "data": [
                {"object": "embedding", "index": place, "embedding": vector}
                for place, vector in vectors
            ],
            "model": request.body["model"],
            "usage": usage,
        }


def _response(code: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    lines = [f"HTTP/1.1 {code} Answer", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body
