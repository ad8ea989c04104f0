"""A slot is held for the work on a request, and not for a client that is slow to read."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID

import pytest
from starlette.responses import JSONResponse
from starlette.types import Message, Scope

from recollect.core.admin.admission import Admission
from recollect.core.errors import NotAllowed
from recollect.core.privacy.keys import Key
from recollect.shells.asgi.identity import CALLER, Caller
from recollect.shells.asgi.limits import RequestLimits

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def receive() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def find_no_key() -> Key:
    raise NotAllowed("unknown key", remedy="Use another.")


def request(waited: float = 0.0) -> Scope:
    key = Key(UUID(int=1), "ada", b"", "", datetime(2026, 3, 6, tzinfo=UTC))
    arrived = asyncio.get_running_loop().time() - waited
    return {"type": "http", "headers": [], CALLER: Caller(key, arrived, find_no_key)}


async def test_a_slot_is_free_while_its_answer_waits_for_the_client() -> None:
    admission = Admission(slots=1, seconds=2.0)
    limits = RequestLimits(JSONResponse({"status": "ok"}), admission)
    is_sending, is_read = asyncio.Event(), asyncio.Event()
    sent: list[str] = []

    async def send(message: Message) -> None:
        is_sending.set()
        await is_read.wait()
        sent.append(message["type"])

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(limits(request(), receive, send))
        await is_sending.wait()
        running = admission.running
        is_read.set()
    assert running == 0
    assert sent == ["http.response.start", "http.response.body"]


async def test_a_slot_is_released_once() -> None:
    admission = Admission(slots=2, seconds=2.0)
    limits = RequestLimits(JSONResponse({"status": "ok"}), admission)
    running: list[int] = []

    async def send(_message: Message) -> None:
        running.append(admission.running)

    other = admission.arrive("other", 0.0, 0.0)
    admission.begin(0.0)
    await limits(request(), receive, send)
    assert running == [1, 1]
    assert admission.running == 1
    assert other.begun is not None


async def test_a_key_that_was_revoked_while_its_request_waited_is_refused() -> None:
    limits = RequestLimits(JSONResponse({"status": "ok"}), Admission(slots=1, seconds=60.0))
    statuses: list[int] = []

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    for waited in (0.0, 5.0):
        await limits(request(waited), receive, send)
    assert statuses == [200, 401]
