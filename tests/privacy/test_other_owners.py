"""What an owner can observe does not depend on what other owners store.

The attacks run twice, by two attackers who do exactly the same under the same ids and times: one
before the victim has stored anything, one afterwards. Their answers are the same to the last bit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.conformance.samples import memory
from tests.effort import scaled
from tests.serving import Running, running
from tests.strategies import new_id

from recollect.adapters.postgres.store import PostgresStore
from recollect.core.memory.memory import EVERYWHERE, Limits, Memory
from recollect.core.recall.settings import WordQuery
from recollect.core.sync.decide import decide
from recollect.core.sync.model import Outgoing

pytestmark = pytest.mark.anyio

PIN = "4711"
RECALLS = 1_000
PER_RECALL = 10


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    async with PostgresStore(database_url) as opened:
        yield opened


def guess(number: int) -> str:
    """Ten of the 10,000 PINs."""
    return " ".join(f"{PER_RECALL * number + digit:04}" for digit in range(PER_RECALL))


async def attack(store: PostgresStore, attacker: str) -> list[object]:
    """Store every PIN, recall every PIN (`make test`: a sample, and the right one), and return all
    that can be seen: which memories come back, in which order and with which scores.
    """
    guesses = [memory(n, f"guess {guess(n)}", owner=attacker) for n in range(1, RECALLS)]
    await store.add_many([memory(RECALLS, f"guess {guess(0)}", owner=attacker), *guesses])
    await store.maintain()
    seen: list[object] = []
    step = max(1, RECALLS // scaled(RECALLS))
    for number in sorted({*range(0, RECALLS, step), int(PIN) // PER_RECALL}):
        found = await store.search_words(attacker, EVERYWHERE, WordQuery(guess(number)))
        assert found
        seen.append(found)
    return seen


def secrets(is_sensitive: bool) -> list[Memory]:
    first = 100_000 if is_sensitive else 200_000
    return [
        memory(first + n, f"the PIN is {PIN}", owner="victim", is_sensitive=is_sensitive)
        for n in range(5)
    ]


async def test_ten_thousand_pins_in_a_thousand_recalls_reveal_nothing(store: PostgresStore) -> None:
    before = await attack(store, "before")
    await store.add_many(secrets(is_sensitive=True))
    await store.add_many(secrets(is_sensitive=False))
    assert await attack(store, "after") == before


async def test_a_few_memories_are_weighed_without_those_of_others(store: PostgresStore) -> None:
    """The attacker's words are counted live, and no count is stored."""

    async def few(attacker: str) -> list[Any]:
        await store.add_many([memory(n, f"guess {guess(n)}", owner=attacker) for n in range(1, 6)])
        await store.maintain()
        texts = [guess(n) for n in range(1, 6)] + ["guess"]
        return [await store.search_words(attacker, EVERYWHERE, WordQuery(text)) for text in texts]

    before = await few("before")
    many = [memory(n, f"guess {guess(1)} {PIN}", owner="victim") for n in range(1, 1_500)]
    await store.add_many(many)
    await store.maintain()
    assert await few("after") == before


async def test_a_cursor_and_a_pushed_id_reveal_nothing(store: PostgresStore) -> None:
    """Push an id that the victim uses, and read changes with every cursor, even beyond the last."""
    id, device, now = new_id(), UUID(int=7), datetime(2026, 11, 15, tzinfo=UTC)

    async def probe(attacker: str) -> list[object]:
        seen: list[object] = []
        item = Outgoing(id, UUID(int=8), 0, 1, {"content": "mine", "category": "fact"}, now, now)
        answers = await store.changes.apply(
            attacker,
            device,
            [item],
            lambda current, at: decide(attacker, current, at, Limits(), now),
        )
        seen += [(answer.refused, answer.remote and answer.remote.change) for answer in answers]
        for cursor in range(4):
            page = await store.changes.page(
                attacker, device, cursor, 10, sensitive=True, count=True
            )
            changes = [(remote.id, remote.change) for remote in page.memories]
            seen.append((page.is_reset, page.cursor, page.remaining, changes))
        return seen

    before = await probe("before")
    await store.add(replace(memory(1, f"the PIN is {PIN}", owner="victim"), id=id))
    await store.add_many([memory(n, owner="victim") for n in range(10, 60)])
    assert await probe("after") == before


@pytest.fixture
def server(database_url: str, tmp_path: Path) -> Iterator[Running]:
    with running(database_url, tmp_path / "server") as up:
        yield up


def test_storing_under_an_id_of_another_owner_answers_as_any_other(server: Running) -> None:
    body = {"content": "a guess", "id": str(new_id())}
    answers = []
    with server.client() as first, server.client() as victim, server.client() as second:
        answers.append(first.post("memories", json=body))
        victim.post("memories", json={**body, "content": f"the PIN is {PIN}"})
        answers.append(second.post("memories", json=body))
    bodies = [answer.json() for answer in answers]
    for answer_body in bodies:
        for own in ("owner", "created_at", "updated_at"):
            del answer_body[own]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert bodies[0] == bodies[1]
