"""What was known at a moment, on every store: later memories are left out, edited ones are found by
and shown in their text at that time, forgotten ones are there, erased ones are gone.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from tests.conformance.conftest import Store
from tests.conformance.samples import OWNER, fill, ids, memory
from tests.conformance.test_links import context, links
from tests.strategies import MOMENT

from recollect.core.memory.memory import Memory, Scope
from recollect.core.recall.request import RecallRequest
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def _patient(store: Store) -> None:
    await store.write_settings({"deadline_ms": 60_000}, by=OWNER, at=MOMENT)


def at(minutes: float) -> datetime:
    return MOMENT + timedelta(minutes=minutes)


async def change(store: Store, number: int, minutes: float, **fields: Any) -> Memory:
    current = await store.get(OWNER, UUID(int=number))
    assert current is not None
    after = replace(current, version=current.version + 1, updated_at=at(minutes), **fields)
    assert await store.replace(after, based_on=current.version)
    return after


async def recall_at(store: Store, query: str, minutes: float, **asked: Any) -> list[Memory]:
    request = RecallRequest(query, as_of=at(minutes), **asked)
    return [hit.memory for hit in (await recall(context(store), OWNER, request)).hits]


async def test_as_of_excludes_memories_stored_later(store: Store) -> None:
    first, second = memory(1, "the harbour"), memory(5, "the harbour again")
    await fill(store, first, second)
    assert await recall_at(store, "harbour", 0.5) == []
    assert await recall_at(store, "harbour", 1) == [first]
    assert sorted(await recall_at(store, "harbour", 5), key=lambda memory: memory.id) == [
        first,
        second,
    ]


async def test_as_of_finds_and_shows_the_former_text(store: Store) -> None:
    first = memory(1, "the harbour is shallow", tags=("sea",), links=links(see_also=9))
    await store.add(first)
    second = await change(store, 1, 10, content="the port is deep", tags=(), links=())
    third = await change(store, 1, 20, importance=1.0)
    assert await recall_at(store, "harbour", 9.9) == [first]
    assert await recall_at(store, "port", 9.9) == []
    assert await recall_at(store, "port", 10) == [second]
    assert await recall_at(store, "harbour", 10) == []
    assert await recall_at(store, "port", 99) == [third]
    assert await recall_at(store, "sea", 5, scope=Scope(tags=("sea",))) == [first]
    assert await recall_at(store, "harbour port", 15, scope=Scope(tags=("sea",))) == []


async def test_as_of_includes_memories_forgotten_later(store: Store) -> None:
    first = memory(1, "the harbour")
    await store.add(first)
    await change(store, 1, 10, deleted_at=at(10))
    back = await change(store, 1, 20, deleted_at=None)
    assert await recall_at(store, "harbour", 5) == [first]
    assert await recall_at(store, "harbour", 15) == []
    assert await recall_at(store, "harbour", 25) == [back]


async def test_erasing_a_memory_erases_its_versions(store: Store) -> None:
    await store.add(memory(1, "the harbour"))
    await change(store, 1, 10, content="the port")
    assert await store.erase(OWNER, UUID(int=1))
    assert await recall_at(store, "harbour", 5) == []


async def test_a_version_of_what_is_sensitive_now_is_sensitive(store: Store) -> None:
    await store.add(memory(1, "the harbour"))
    await change(store, 1, 10, content="the port", is_sensitive=True)
    (then,) = await recall_at(store, "harbour", 5)
    assert (then.content, then.is_sensitive) == ("the harbour", True)
    await change(store, 1, 20, content="harmless", is_sensitive=False)
    (then,) = await recall_at(store, "port", 15)
    assert then.is_sensitive


async def test_another_owners_versions_are_not_seen(store: Store) -> None:
    await store.add(memory(1, "the harbour", owner="bob"))
    theirs = await store.get("bob", UUID(int=1))
    assert theirs is not None
    after = replace(theirs, version=2, updated_at=at(10), content="the port")
    assert await store.replace(after, based_on=1)
    assert await recall_at(store, "harbour", 5) == []


async def test_before_the_successor_existed_the_old_one_is_served(store: Store) -> None:
    old = memory(1, "the harbour")
    new = memory(10, "dredged", links=links(supersedes=1))
    await fill(store, old, new, memory(11, "a wall"))
    assert await recall_at(store, "harbour", 5) == [old]
    assert await recall_at(store, "harbour", 10) == [new]
    await change(store, 10, 20, links=links(resolved_by=11))
    assert await recall_at(store, "harbour", 15) == [new]
    assert await recall_at(store, "harbour", 25) == [old]
    request = RecallRequest("dredged", as_of=at(25))
    (hit,) = (await recall(context(store), OWNER, request)).hits
    assert [memory.id for memory in hit.attached] == ids(11)


async def test_a_clock_that_went_back_hides_no_state_of_the_present(store: Store) -> None:
    await store.add(memory(8, "the harbour"))
    await change(store, 8, 10, content="the port")
    last = await change(store, 8, 9, content="the quay")
    assert await recall_at(store, "quay", 9.5) == [last]
    assert await recall_at(store, "harbour port quay", 9.5) == [last]
    assert [memory.content for memory in await recall_at(store, "harbour", 8.5)] == ["the harbour"]


async def test_why_as_of_explains_a_memory_stored_later(store: Store) -> None:
    await store.add(memory(1, "the harbour"))
    await change(store, 1, 10, content="the port")
    early = RecallRequest("harbour", as_of=at(0))
    report = await why(context(store), OWNER, str(UUID(int=1)), early)
    assert (report.recalled, report.kept_out[0].kind) == (False, "not_known_then")
    report = await why(context(store), OWNER, str(UUID(int=1)), replace(early, as_of=at(5)))
    assert (report.recalled, report.memory.content) == (True, "the harbour")


async def test_number_of_kept_versions_is_limited(store: Store) -> None:
    await store.add(memory(1, "state 0"))
    for number in range(1, 106):
        await change(store, 1, 1 + number, content=f"state {number}")
    assert await recall_at(store, "state", 5.5) == []
    assert [memory.content for memory in await recall_at(store, "state", 6.5)] == ["state 5"]
    assert [memory.content for memory in await recall_at(store, "state", 105.5)] == ["state 104"]
