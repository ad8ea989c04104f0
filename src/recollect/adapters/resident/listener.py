"""Answer the recalls and hooks of other processes of this home.

A connection is for one question: a recall is one line of JSON in and one line of JSON out, a hook
sends its call and gets what it prints (`wire/hook_call.py`). Invalid or failed requests get no
answer: the connection is closed, and the process that asked answers by itself.
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
from recollect.adapters.resident.address import MAX_ANSWER, MAX_REQUEST, is_same_user, use_address
from recollect.core.privacy.redaction import locations, safe_message
from recollect.ports.recall import OwnerRecall
from recollect.wire.hook_call import PREFIX, SHOWN, HookCall, HookReply
from recollect.wire.recall import RECOLLECTION
from recollect.wire.recall_inputs import ResidentIn

log = logging.getLogger(__name__)

AnswerHook = Callable[[HookCall], Awaitable[tuple[HookReply, Callable[[], None]]]]
"""The reply to a hook, and what to do once it is shown."""

# A question is sent as soon as its connection is open, and its answer is read immediately.
_READ_SECONDS: Final = 5.0
_HANDLE_SECONDS: Final = 60.0


@asynccontextmanager
async def listening(
    home: Path, recall: OwnerRecall, answer_hook: AnswerHook | None = None
) -> AsyncIterator[None]:
    """Answer recalls while entered, and hooks if `answer_hook` is given. Only one process of a home
    may enter at a time: it replaces the socket of a process that was killed. Raises OSError if the
    home cannot contain a socket.
    """
    connection = _bind(home)
    bound = _path(home).stat().st_ino
    try:
        server = await asyncio.start_unix_server(
            _handler(recall, answer_hook), sock=connection, limit=MAX_REQUEST
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
        use_address(os.fspath(home), connection.bind)
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
    recall: OwnerRecall, answer_hook: AnswerHook | None
) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if is_same_user(writer.get_extra_info("socket")):
                async with asyncio.timeout(_HANDLE_SECONDS):
                    line = await _read(reader.readline())
                    if not line.startswith(PREFIX):
                        writer.write(await _answer(line, recall))
                        await writer.drain()
                    elif answer_hook is not None:
                        call = await _read(reader.readexactly(_length(line)))
                        await _answer_call(call, answer_hook, reader, writer)
        except TimeoutError:
            writer.transport.abort()
        except Exception as error:  # noqa: BLE001  # the process that asked answers by itself
            log.info("request not answered: %s at %s", safe_message(error), locations(error))
        finally:
            writer.close()

    return handle


async def _read(reading: Awaitable[bytes]) -> bytes:
    async with asyncio.timeout(_READ_SECONDS):
        return await reading


def _length(line: bytes) -> int:
    length = int(line.removeprefix(PREFIX))
    if not 0 < length <= MAX_REQUEST:
        raise ValueError("the call is too long")
    return length


async def _answer_call(
    call: bytes,
    answer_hook: AnswerHook,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Send the reply. A hook that printed it confirms this; one that ran out of time does not."""
    reply, on_shown = await answer_hook(HookCall.from_bytes(call))
    writer.write(reply.to_bytes())
    writer.write_eof()
    if await reader.readline() == SHOWN:
        await asyncio.to_thread(on_shown)


async def _answer(line: bytes, recall: OwnerRecall) -> bytes:
    question = ResidentIn.model_validate_json(line)
    recollection = await recall(question.owner, question.recall.to_request())
    data = RECOLLECTION.to_shape(recollection).model_dump_json().encode() + b"\n"
    if len(data) >= MAX_ANSWER:
        raise ValueError("the answer is too long")
    return data
