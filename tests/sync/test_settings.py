"""Recall settings belong to the server, and a client with a local copy follows them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest
from tests.serving import Running
from tests.sync.test_cached import cached, sync_once
from tests.waiting import DEFAULT_SETTINGS

from recollect.core.errors import StoreFull
from recollect.core.recall.settings import RecallSettings
from recollect.core.sync.model import ChangePage
from recollect.ports.sync import SyncServer, SyncStore
from recollect.usecases.sync.sync import sync
from recollect.wire.sync import CHANGES
from recollect.wiring.local import Cached

pytestmark = pytest.mark.anyio

AWAY = "http://127.0.0.1:9"


@asynccontextmanager
async def two_clients(server: Running, home: Path) -> AsyncIterator[tuple[Cached, Cached]]:
    """Open two clients of one server, and reset its settings afterwards."""
    key = server.new_key()
    async with (
        cached(home / "one", server.url, key) as one,
        cached(home / "two", server.url, key) as two,
    ):
        try:
            yield one, two
        finally:
            await one.service.change_settings(DEFAULT_SETTINGS.as_dict())


async def local_settings(client: Cached) -> RecallSettings:
    return await client.service.local.settings()


async def test_a_setting_applies_here_at_once_and_elsewhere_with_the_next_sync(
    server: Running, tmp_path: Path
) -> None:
    async with two_clients(server, tmp_path) as (one, two):
        expected = replace(DEFAULT_SETTINGS, deadline_ms=300, dense_weight=0.5)
        changes = {"deadline_ms": 300, "dense_weight": "0.5"}
        assert await one.service.change_settings(changes) == expected
        assert await local_settings(one) == expected
        assert await local_settings(two) == DEFAULT_SETTINGS
        await sync_once(two)
        assert await local_settings(two) == expected
        (last, *_) = await two.service.local.settings_log(10)
        assert last.by == "the server"
        # A reset to the default is a change, too; reading the settings is enough to notice it.
        default = DEFAULT_SETTINGS.deadline_ms
        await one.service.change_settings({"deadline_ms": default})
        assert await two.service.settings() == replace(expected, deadline_ms=default)
        assert await local_settings(two) == replace(expected, deadline_ms=default)


async def test_what_is_known_already_is_not_written_again(server: Running, tmp_path: Path) -> None:
    async with two_clients(server, tmp_path) as (client, _):
        await sync_once(client)
        assert await client.service.local.settings_log(10) == []
        await client.service.change_settings({"rrf_k": 10})
        await sync_once(client)
        await client.service.settings()
        assert len(await client.service.local.settings_log(10)) == 1


async def test_a_client_without_its_server_still_finds_by_words(
    server: Running, tmp_path: Path
) -> None:
    async with two_clients(server, tmp_path) as (client, _):
        await client.service.change_settings({"lexical_weight": 2, "depth": 80})
        await client.service.change_settings({"lexical_weight": 0, "depth": 90})
        await sync_once(client)
        assert await local_settings(client) == replace(
            DEFAULT_SETTINGS, lexical_weight=2.0, depth=90
        )


async def test_what_was_learnt_stays_when_the_server_is_away(
    server: Running, tmp_path: Path
) -> None:
    async with two_clients(server, tmp_path) as (client, _):
        await client.service.change_settings({"deadline_ms": 300})
        async with cached(tmp_path / "one", AWAY, "rk_x") as away:
            assert (await local_settings(away)).deadline_ms == 300


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (None, {}),  # an older server
        ({"deadline_ms": 300}, {"deadline_ms": 300}),
        (
            {"deadline_ms": 300, "unheard_of": {"a": [1]}, "fusion": "of a newer version"},
            {"deadline_ms": 300},
        ),
        ({"deadline_ms": 1, "depth": None, "second_stage": "off"}, {"second_stage": "off"}),
    ],
)
async def test_settings_of_another_version(
    server: Running, tmp_path: Path, settings: Mapping[str, Any] | None, expected: dict[str, Any]
) -> None:
    async with cached(tmp_path, server.url, server.new_key()) as client:

        class OfAnotherVersion:
            push = client.server.push

            async def pull(
                self, store: UUID, cursor: int, limit: int, *, count: bool
            ) -> ChangePage:
                page = await client.server.pull(store, cursor, limit, count=count)
                sent = CHANGES.encode(page)
                del sent["settings"]
                body = sent if settings is None else {**sent, "settings": settings}
                decoded = CHANGES.decode(json.dumps(body).encode())
                return replace(page, settings=decoded.settings)

        await sync(client.sync, cast("SyncServer", OfAnotherVersion()), client.clock)
        assert await local_settings(client) == replace(DEFAULT_SETTINGS, **expected)


async def test_a_change_that_cannot_be_kept_here_is_still_made_on_the_server(
    server: Running, tmp_path: Path
) -> None:
    class Full:
        async def follow_settings(self, settings: Mapping[str, object]) -> None:
            raise StoreFull("no room", remedy="Make some.")

    async with two_clients(server, tmp_path) as (client, _):
        full = replace(client.service, sync=cast("SyncStore", Full()))
        assert (await full.change_settings({"depth": 80})).depth == 80
        assert (await full.settings()).depth == 80
        assert await local_settings(client) == DEFAULT_SETTINGS
