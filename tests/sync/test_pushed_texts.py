"""A push is checked like any other input: its texts for secrets, its unknown fields for their size,
and its dates for plausibility.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
from tests.core.privacy.secret_samples import some
from tests.serving import Running
from tests.strategies import new_id
from tests.sync.clients import SkewedClock, settle
from tests.sync.conftest import NewClients
from tests.sync.test_skew import give_extra

from recollect.core.memory.memory import Draft, Limits
from recollect.core.sync.model import PROTOCOL

TOKEN = "ghp_" + some(36)
NOW = datetime.now(UTC)


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def push(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    """Push one new memory and return the answer."""
    return send(client, str(new_id()), 0, fields)


def send(
    client: httpx.Client, id: str, based_on: int, fields: dict[str, Any], at: datetime = NOW
) -> dict[str, Any]:
    write = {
        "id": id,
        "edit": str(uuid4()),
        "based_on": based_on,
        "version": based_on + 1,
        "fields": fields,
        "created_at": at.isoformat(),
        "updated_at": at.isoformat(),
    }
    body = {"protocol": PROTOCOL, "store": str(uuid4()), "memories": [write], "sensitive": True}
    answer = client.post("sync/push", json=body)
    assert answer.status_code == 200, answer.text
    (sent,) = answer.json()["answers"]
    assert isinstance(sent, dict)
    return sent


def test_a_text_that_was_removed_is_not_pushed_back(client: httpx.Client) -> None:
    fields = {"content": "Deploys run on Tuesdays.", "project": "shop"}
    stored = client.post("memories", json=fields).json()
    client.delete(f"memories/{stored['id']}", params={"forever": True})
    before = NOW - timedelta(days=1)
    for project in ("shop", " shop "):
        again = {**fields, "project": project}
        refused = send(client, str(new_id()), 0, again, before)["refused"]
        assert "erased, forgotten or replaced" in refused["reason"]
    assert refused["remedy"]
    other = send(client, str(new_id()), 0, {**fields, "project": "web"}, before)
    assert other["refused"] is None
    later = send(client, str(new_id()), 0, fields, datetime.now(UTC) + timedelta(minutes=1))
    assert later["refused"] is None, "it was changed or stated again since"


@pytest.mark.parametrize(
    "fields",
    [
        {"content": f"deploys use {TOKEN}"},
        {"content": "deploys", "tags": [TOKEN]},
        {"content": "deploys", "expanded_keywords": [TOKEN]},
        {"content": "deploys", "project": TOKEN},
        {"content": "deploys", "session": TOKEN},
        {"content": "deploys", "mood": TOKEN},
        {"content": "deploys", "mood": {"of": ["calm", {"it": TOKEN}]}},
        {"content": "deploys", "mood": {"password": "hunter2!x"}},
        {"content": "deploys", TOKEN: "mood"},
    ],
)
def test_a_pushed_secret_makes_its_memory_sensitive(
    client: httpx.Client, fields: dict[str, Any]
) -> None:
    assert push(client, **fields)["current"]["memory"]["is_sensitive"]
    memory = push(client, **fields, is_sensitive=False)["current"]["memory"]
    assert not memory["is_sensitive"]


@pytest.mark.parametrize("name", ["content", "project", "session", "mood"])
def test_a_secret_in_a_pushed_change_makes_its_memory_sensitive(
    client: httpx.Client, name: str
) -> None:
    answer = push(client, content="deploys", mood="calm")
    assert not answer["current"]["memory"]["is_sensitive"]
    id = answer["id"]
    answer = send(client, id, 1, {"importance": 0.9})
    assert not answer["current"]["memory"]["is_sensitive"]
    answer = send(client, id, 2, {name: TOKEN})
    assert answer["current"]["memory"]["is_sensitive"]


def test_an_overruled_secret_stays_overruled(client: httpx.Client) -> None:
    answer = push(client, content=TOKEN, mood=TOKEN, is_sensitive=False)
    answer = send(client, answer["id"], 1, {"content": TOKEN, "mood": TOKEN, "importance": 0.9})
    assert answer["current"]["memory"]["importance"] == 0.9
    assert not answer["current"]["memory"]["is_sensitive"]


@pytest.mark.parametrize("where", ["project", "session"])
def test_labels_are_judged_over_rest(client: httpx.Client, where: str) -> None:
    stored = client.post("memories", json={"content": "deploys", where: TOKEN}).json()
    assert stored["sensitive_because"]["kind"] == "GitHub token"
    plain = client.post("memories", json={"content": "deploys"}).json()
    changed = client.patch(f"memories/{plain['id']}", json={where: TOKEN}).json()
    assert changed["is_sensitive"]


def test_unknown_fields_are_bounded(client: httpx.Client) -> None:
    half = "x" * (Limits().unknown * 2 // 3)
    refused = push(client, content="x", mood=half + half)["refused"]
    assert "does not know" in refused["reason"]
    assert "8,000" in refused["reason"]
    answer = push(client, content="x", mood=half)
    assert answer["refused"] is None
    assert send(client, answer["id"], 1, {"colour": half})["refused"] is not None
    assert send(client, answer["id"], 1, {"mood": "calm", "colour": half})["refused"] is None


def test_a_revision_is_no_larger_than_a_memory(client: httpx.Client) -> None:
    id = push(client, content="the harbour")["id"]

    def push_revision(**fields: Any) -> int:
        revision = {
            "id": str(new_id()),
            "memory_id": id,
            "kind": "edit",
            "fields": fields,
            "made_at": NOW.isoformat(),
        }
        body = {"protocol": PROTOCOL, "store": str(uuid4()), "revisions": [revision]}
        answer = client.post("sync/push", json=body)
        return len(answer.json()["revisions"])

    assert push_revision(content="the old harbour") == 1
    assert push_revision(mood="x" * 900_000) == 0


def test_a_date_far_ahead_becomes_the_present(client: httpx.Client) -> None:
    far = datetime(9999, 1, 1, tzinfo=UTC)
    fields = {"content": "the harbour", "deleted_at": far.isoformat()}
    memory = send(client, str(new_id()), 0, fields, at=far)["current"]["memory"]
    latest = datetime.now(UTC)
    for name in ("created_at", "updated_at", "deleted_at"):
        assert NOW <= datetime.fromisoformat(memory[name]) <= latest
    soon = NOW + timedelta(hours=20)
    memory = send(client, str(new_id()), 0, {"content": "the bridge"}, at=soon)["current"]["memory"]
    assert datetime.fromisoformat(memory["created_at"]) == soon


@pytest.mark.anyio
async def test_a_client_with_a_wrong_clock_loses_nothing(new_clients: NewClients) -> None:
    async with AsyncExitStack() as stack:
        (wrong,) = new_clients(1, clock=SkewedClock(timedelta(days=4_000)))
        await stack.enter_async_context(wrong)
        memory = await wrong.service.remember(Draft("the harbour"))
        await settle(wrong)
        (stored,) = (await wrong.listed()).values()
        assert (stored.id, stored.content) == (memory.id, "the harbour")
        assert stored.created_at <= datetime.now(UTC)
        assert (await wrong.sync_store.status()).waiting == 0


@pytest.mark.anyio
async def test_a_field_that_is_too_large_is_parked_with_its_reason(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        (client,) = [await stack.enter_async_context(each) for each in new_clients(1)]
        memory = await client.service.remember(Draft("the harbour"))
        await give_extra(client, memory.id, f'{{"mood": "{"x" * 9_000}"}}')
        await client.sync()
        (parked,) = (await client.sync_store.status()).parked
        assert parked.id == memory.id
        assert "does not know" in parked.reason


@pytest.mark.anyio
async def test_what_a_person_overruled_is_not_judged_again_by_the_server(
    new_clients: NewClients,
) -> None:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(client) for client in new_clients(2)]
        memory = await one.service.remember(Draft("deploys"))
        await settle(one, two)
        await one.service.update(str(memory.id), {"content": TOKEN, "is_sensitive": False})
        await settle(one, two)
        assert not (await two.listed())[memory.id].is_sensitive
