"""Repair messages that contain half of a surrogate pair, which a client sends when it cuts a text
inside an emoji. The SDK cannot parse them: over a pipe, it would never answer them.
"""

from __future__ import annotations

import json
from contextvars import Context
from types import TracebackType
from typing import Self

from mcp.shared._stream_protocols import ReadStream
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from pydantic import ValidationError

from recollect.core.text.analysis import repair_text

Incoming = SessionMessage | Exception


class RepairedStream:
    """A `ReadStream` that replaces each half of a surrogate pair with U+FFFD."""

    def __init__(self, stream: ReadStream[Incoming]) -> None:
        self._stream = stream

    @property
    def last_context(self) -> Context | None:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> Incoming:
        return _repair(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Incoming:
        return _repair(await anext(self._stream))

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, trace)


def _repair(message: Incoming) -> Incoming:
    if not isinstance(message, ValidationError):
        return message
    line = message.errors(include_url=False)[0]["input"]
    if not isinstance(line, str) or (text := repair_json(line)) is None:
        return message
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError:
        return message


def repair_json(text: str | bytes) -> str | None:
    """Replace each half of a surrogate pair with U+FFFD; return None if the text is not JSON."""
    try:
        return repair_text(json.dumps(json.loads(text), ensure_ascii=False))
    except (ValueError, RecursionError):
        return None
