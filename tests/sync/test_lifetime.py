"""Lifetimes and the names of writers travel between a local store and its server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.serving import Running
from tests.sync.test_cached import cached, recall_texts, sync_once

from recollect.core.memory.memory import Draft

pytestmark = pytest.mark.anyio


async def test_sync_carries_lifetimes_both_ways(server: Running, tmp_path: Path) -> None:
    begin = datetime(2026, 1, 31, 9, 30, 0, 5, tzinfo=UTC)
    soon, past = datetime.now(UTC) + timedelta(days=9), datetime.now(UTC) - timedelta(days=9)
    key = server.new_key()
    async with (
        cached(tmp_path / "one", server.url, key) as one,
        cached(tmp_path / "two", server.url, key) as two,
    ):
        draft = Draft("the harbour is closed", valid_from=begin, valid_until=soon)
        stored = await one.service.remember(draft)
        await sync_once(one)
        await sync_once(two)
        there = await two.service.local.get(str(stored.id))
        assert (there.valid_from, there.valid_until) == (begin, soon)
        assert await recall_texts(two, "harbour") == [draft.content]
        await two.service.update(str(stored.id), {"valid_from": None, "valid_until": past})
        await sync_once(two)
        await sync_once(one)
        back = await one.service.local.get(str(stored.id))
        assert (back.valid_from, back.valid_until) == (None, past)
        assert await recall_texts(one, "harbour") == []
        await one.service.update(str(stored.id), {"valid_until": None})
        await sync_once(one)
        assert (await one.service.remote.get(str(stored.id))).valid_until is None


async def test_the_history_names_the_key_that_synced(server: Running, tmp_path: Path) -> None:
    key = server.new_key(label="laptop")
    async with cached(tmp_path / "one", server.url, key) as client:
        stored = await client.service.remember(Draft("the harbour is closed"))
        assert (await client.service.get(str(stored.id))).changed_by == "cli"
        await sync_once(client)
        on_server = await client.service.remote.get(str(stored.id))
        assert on_server.changed_by == "sync (laptop)"
        await client.service.remote.update(str(stored.id), {"importance": 1.0})
        await sync_once(client)
        pulled = await client.service.local.get(str(stored.id))
        assert pulled.changed_by == "api (laptop)"
