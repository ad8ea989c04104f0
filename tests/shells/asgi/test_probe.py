"""Many who ask whether the store answers are one question to it."""

from __future__ import annotations

import asyncio

import pytest

from recollect.core.errors import StoreUnavailable
from recollect.shells.asgi.probe import SharedProbe

pytestmark = pytest.mark.anyio


async def test_those_who_ask_at_once_share_a_question() -> None:
    asked = 0
    answers = asyncio.Event()

    async def ask() -> None:
        nonlocal asked
        asked += 1
        await answers.wait()

    probe = SharedProbe(ask)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(20):
            tasks.create_task(probe())
        await asyncio.sleep(0)
        answers.set()
    await probe()
    assert asked == 1


async def test_an_error_is_shared_as_well() -> None:
    asked = 0

    async def ask() -> None:
        nonlocal asked
        asked += 1
        raise StoreUnavailable("no answer", remedy="Wait.")

    probe = SharedProbe(ask)
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await probe()
    assert asked == 1
