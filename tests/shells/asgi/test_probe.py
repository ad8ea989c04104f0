"""Concurrent health checks share one query to the store."""

from __future__ import annotations

import asyncio

import pytest

from recollect.core.errors import StoreUnavailable
from recollect.shells.asgi.probe import SharedProbe

pytestmark = pytest.mark.anyio


async def test_concurrent_checks_share_one_query() -> None:
    queries = 0
    answers = asyncio.Event()

    async def ask() -> None:
        nonlocal queries
        queries += 1
        await answers.wait()

    probe = SharedProbe(ask)
    async with asyncio.TaskGroup() as tasks:
        for _ in range(20):
            tasks.create_task(probe())
        await asyncio.sleep(0)
        answers.set()
    await probe()
    assert queries == 1


async def test_an_error_is_shared_as_well() -> None:
    queries = 0

    async def ask() -> None:
        nonlocal queries
        queries += 1
        raise StoreUnavailable("no answer", remedy="Wait.")

    probe = SharedProbe(ask)
    for _ in range(3):
        with pytest.raises(StoreUnavailable):
            await probe()
    assert queries == 1
