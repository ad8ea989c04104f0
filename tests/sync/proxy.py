"""A loopback proxy that acts like a bad network: it refuses, delays and cuts connections, truncates
answers, and delivers requests twice.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Self

FAULTS = ("none", "refuse", "drop request", "drop answer", "truncate", "delay", "repeat")


@dataclass
class BadNetwork:
    """`async with BadNetwork(port) as network`, then send requests to `network.url`. Each
    connection carries one request, with a fault drawn at random.
    """

    port: int
    seed: int = 1
    is_good: bool = False
    drawn: Counter[str] = field(default_factory=Counter)

    async def __aenter__(self) -> Self:
        self._chance = random.Random(self.seed)
        self._open: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._handle(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fault = "none" if self.is_good else self._chance.choice(FAULTS)
        self.drawn[fault] += 1
        try:
            if fault != "refuse":
                await self._serve_request(fault, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # one side closed the connection
        finally:
            writer.close()

    async def _serve_request(
        self, fault: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        request = await _read_message(reader)
        if fault == "drop request":
            return
        if fault == "delay":
            await asyncio.sleep(0.05)
        answer = await self._forward(request)
        if fault == "repeat":
            await self._forward(request)
        if fault == "drop answer":
            return
        writer.write(answer[: len(answer) // 2] if fault == "truncate" else answer)
        await writer.drain()

    async def _forward(self, request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            await writer.drain()
            return await _read_message(reader)
        finally:
            writer.close()


async def _read_message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    # One request per connection: the next one gets a fault of its own.
    head = b"\r\n".join(
        line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")
    )
    head = head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    return head + await reader.readexactly(length)
