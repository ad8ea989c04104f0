"""Answer recalls of other processes of this home: one line of JSON in, one line of JSON out.

A connection is for one question. Invalid or failed requests get no answer: the connection is
closed, and the process that asked answers itself.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Final

from recollect.adapters.resident import socket_path
from recollect.adapters.resident.address import (
    MAX_ANSWER,
    MAX_REQUEST,
    is_same_user,
    socket_address,
)
from recollect.core.privacy.redaction import locations, safe_message
from recollect.core.recall.request import RecallRequest, Recollection
from recollect.wire.recall import RecollectionOut
from recollect.wire.recall_inputs import ResidentIn

log = logging.getLogger(__name__)

Answer = Callable[[str, RecallRequest], Awaitable[Recollection]]
"""The recall of an owner's request."""

# A question is sent as soon as its connection is open, and its answer read at once.
_READ_SECONDS: Final = 5.0
_HANDLE_SECONDS: Final = 60.0


@asynccontextmanager
async def listening(home: Path, answer: Answer) -> AsyncIterator[None]:
    """While entered, recalls are answered. Only one process of a home may enter at a time: it
    replaces the socket of one that was killed. OSError when the home takes no socket.
    """
    connection = _bind(home)
    bound = _path(home).stat().st_ino
    try:
        server = await asyncio.start_unix_server(
            _handler(answer), sock=connection, limit=MAX_REQUEST
        )
    except BaseException:
        connection.close()
        raise
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            if _path(home).stat().st_ino == bound:  # else another process has replaced it
                _remove(home)
        server.close()


def _bind(home: Path) -> socket:
    _remove(home)
    connection = socket(AF_UNIX, SOCK_STREAM)
    try:
        with socket_address(os.fspath(home)) as address:
            connection.bind(address)
        _path(home).chmod(0o600)  # no one can connect before it listens
    except BaseException:
        connection.close()
        raise
    return connection


def _remove(home: Path) -> None:
    with suppress(FileNotFoundError):
        _path(home).unlink()


def _path(home: Path) -> Path:
    return Path(socket_path(os.fspath(home)))


def _handler(
    answer: Answer,
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if is_same_user(writer.get_extra_info("socket")):
                async with asyncio.timeout(_HANDLE_SECONDS):
                    writer.write(await _answer(reader, answer))
                    await writer.drain()
        except TimeoutError:
            writer.transport.abort()
        except Exception as error:  # noqa: BLE001  # the process that asked answers itself
            log.info("not answered: %s at %s", safe_message(error), locations(error))
        finally:
            writer.close()

    return handle


async def _answer(reader: asyncio.StreamReader, answer: Answer) -> bytes:
    async with asyncio.timeout(_READ_SECONDS):
        question = ResidentIn.model_validate_json(await reader.readline())
    recollection = await answer(question.owner, question.recall.to_request())
    found = RecollectionOut.from_recollection(recollection)
    data = found.model_dump_json().encode() + b"\n"
    if len(data) >= MAX_ANSWER:
        raise ValueError("the answer is too long")
    return data
