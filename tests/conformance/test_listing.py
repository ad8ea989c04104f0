"""Tables, former versions and growth, on every store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from uuid import UUID

import pytest
from tests.conformance.conftest import Store
from tests.conformance.samples import OWNER, fill, memory
from tests.strategies import MOMENT

from recollect.core.memory.listing import Listing, Table, expiring, week_of
from recollect.core.memory.memory import Memory, Scope

pytestmark = pytest.mark.anyio


async def numbers(store: Store, listing: Listing) -> list[int]:
    return [found.id.int for found in (await store.table(OWNER, listing)).memories]


async def fill_store(store: Store) -> None:
    await fill(
        store,
        memory(1, "The harbour is 100% shallow", importance=0.2, project="shop"),
        memory(2, "The HARBOUR opens at six", importance=0.9, is_sensitive=True),
        memory(3, "Über den Fluss", importance=0.5, tags=("captured",)),
        replace(memory(4, "forgotten harbour"), deleted_at=MOMENT + timedelta(days=1)),
    )


async def test_table_filters_by_words_in_any_case(store: Store) -> None:
    await fill_store(store)
    assert await numbers(store, Listing(words=("harbour",))) == [2, 1]
    assert await numbers(store, Listing(words=("HARBOUR", "six"))) == [2]
    assert await numbers(store, Listing(words=("über",))) == [3]
    assert await numbers(store, Listing(words=("100%",))) == [1]
    assert await numbers(store, Listing(words=("1%0",))) == []
    assert await numbers(store, Listing(words=("h_rbour",))) == []


async def test_table_filters_by_scope_state_and_sensitivity(store: Store) -> None:
    await fill_store(store)
    assert await numbers(store, Listing(Scope(project="shop"))) == [1]
    assert await numbers(store, Listing(Scope(tags=("captured",)))) == [3]
    assert await numbers(store, Listing(is_sensitive=True)) == [2]
    assert await numbers(store, Listing(is_sensitive=False)) == [3, 1]
    everything = Scope(forgotten=True)
    assert await numbers(store, Listing(everything)) == [4, 3, 2, 1]
    assert await numbers(store, Listing(everything, only_forgotten=True)) == [4]


async def test_table_filters_by_when_a_memory_expires(store: Store) -> None:
    ends = {1: timedelta(0), 2: timedelta(hours=1), 3: timedelta(days=7), 4: timedelta(days=8)}
    for number, end in ends.items():
        await store.add(replace(memory(number), valid_until=MOMENT + end))
    forgotten = MOMENT + timedelta(days=1)
    await store.add(replace(memory(5), valid_until=forgotten, deleted_at=MOMENT))
    await store.add(memory(6))
    week = MOMENT + timedelta(days=7)
    assert await numbers(store, Listing(expires_after=MOMENT, expires_by=week)) == [3, 2]
    assert await numbers(store, Listing(expires_after=week)) == [4]
    assert await numbers(store, Listing(expires_by=MOMENT)) == [1]
    assert await store.table(OWNER, expiring(MOMENT)) == Table((), 2)


async def test_table_sorts_and_reads_from_any_row(store: Store) -> None:
    await fill_store(store)
    assert await numbers(store, Listing(sort_by="importance")) == [2, 3, 1]
    assert await numbers(store, Listing(sort_by="created", order="asc")) == [1, 2, 3]
    table = await store.table(OWNER, Listing(sort_by="updated", offset=1, limit=1))
    assert [found.id.int for found in table.memories] == [2]
    assert table.total == 3
    assert (await store.table(OWNER, Listing(offset=9))).total == 3
    assert (await store.table("someone else", Listing())).total == 0


async def test_history_has_former_versions_newest_first(store: Store) -> None:
    first = memory(1, "one")
    await store.add(first)
    states: list[Memory] = [first]
    for number, text in enumerate(("two", "three"), 2):
        later = replace(
            states[-1],
            content=text,
            version=number,
            updated_at=first.updated_at + timedelta(minutes=number),
        )
        assert await store.replace(later, based_on=number - 1)
        states.append(later)
    former = await store.versions(OWNER, UUID(int=1))
    assert [(past.version, past.content) for past in former] == [(1, "one"), (2, "two")]
    assert await store.versions(OWNER, UUID(int=2)) == []


async def test_the_change_mark_differs_after_every_change(store: Store) -> None:
    marks = [await store.change_mark(OWNER)]

    async def mark() -> None:
        marks.append(await store.change_mark(OWNER))

    first, second = memory(1, "one"), memory(2, "two")
    await store.add(first)
    await mark()
    await store.add(second)
    await mark()
    assert await store.replace(replace(first, content="uno", version=2), based_on=1)
    await mark()
    forgotten = replace(first, content="uno", version=3, deleted_at=MOMENT)
    assert await store.replace(forgotten, based_on=2)
    await mark()
    assert await store.erase(OWNER, first.id)
    await mark()
    assert await store.erase(OWNER, second.id)
    await mark()
    assert all(one != other for one, other in combinations(marks[1:], 2))
    assert marks[0] != marks[1]
    assert await store.change_mark(OWNER) == marks[-1]


async def test_growth_counts_current_memories_by_week(store: Store) -> None:
    now = MOMENT
    for number, days in enumerate((0, 1, 7, 70), 1):
        created = now - timedelta(days=days)
        await store.add(replace(memory(number, f"note {number}"), created_at=created))
    gone = replace(memory(9, "gone"), created_at=now, deleted_at=now)
    await store.add(gone)
    since = week_of(now) - timedelta(weeks=3)
    counted = await store.growth(OWNER, since)
    assert sum(counted.values()) == 3
    assert counted[week_of(now)] >= 1
    assert counted[week_of(now - timedelta(days=7))] >= 1
    assert all(week.weekday() == 0 for week in counted)
