"""Links on every store: whatever they form, recall answers alike, each hit once, and nothing that
belongs to another owner, is forgotten or erased.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from tests.conformance.conftest import Store
from tests.conformance.samples import OWNER, fill, ids, memory
from tests.strategies import MOMENT

from recollect.core.memory.links import Link, Pointer
from recollect.core.memory.memory import Memory
from recollect.core.recall.request import RecallRequest, Recollection
from recollect.usecases.context import Context
from recollect.usecases.recall.lexical import lexical_leg
from recollect.usecases.recall.recall import recall
from recollect.usecases.recall.why import why
from recollect.wiring.context import SystemClock

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
async def _patient(store: Store) -> None:
    await store.write_settings({"deadline_ms": 60_000}, by=OWNER, at=MOMENT)


def links(**targets: int | tuple[int, ...]) -> tuple[Link, ...]:
    """Make links from `supersedes=1` or `see_also=(1, 2)`."""
    return tuple(
        Link(kind, UUID(int=number))
        for kind, numbers in targets.items()
        for number in (numbers if isinstance(numbers, tuple) else (numbers,))
    )


def context(store: Store) -> Context:
    return Context(store, store, SystemClock(), {"lexical": lexical_leg(store)})


async def run_recall(store: Store, query: str = "harbour", **asked: Any) -> Recollection:
    return await recall(context(store), OWNER, RecallRequest(query, **asked))


async def recall_ids(store: Store, query: str = "harbour", **asked: Any) -> list[UUID]:
    return [hit.memory.id for hit in (await run_recall(store, query, **asked)).hits]


async def chain(store: Store, *numbers: int, **fields: Any) -> None:
    """Add memories, each superseding the one before; only the first is found by its words."""
    await store.add(memory(numbers[0], "the harbour is shallow", **fields))
    for before, number in pairwise(numbers):
        await store.add(memory(number, "dredged since", links=links(supersedes=before)))


async def test_a_memory_comes_back_with_its_links(store: Store) -> None:
    whole = memory(1, links=links(part_of=7, see_also=(8, 9), supersedes=5))
    await store.add(whole)
    assert await store.get(OWNER, whole.id) == whole
    fewer = replace(whole, version=2, links=links(see_also=8))
    assert await store.replace(fewer, based_on=1)
    assert await store.get(OWNER, whole.id) == fewer
    assert (await store.fetch(OWNER, ids(1))).memories == {whole.id: fewer}


async def test_a_successor_is_served_in_the_place_of_what_it_supersedes(store: Store) -> None:
    await chain(store, 1, 2)
    (hit,) = (await run_recall(store)).hits
    assert (hit.memory.id, hit.stands_for, hit.ranked_as) == (*ids(2), tuple(ids(1)), *ids(1))
    assert hit.legs["lexical"].rank == 1


@pytest.mark.parametrize("length", [3, 4, 200])
async def test_a_chain_is_followed_to_its_end(store: Store, length: int) -> None:
    await chain(store, *range(1, length + 1))
    assert await recall_ids(store) == ids(length)


@pytest.mark.parametrize("length", [1, 2, 3, 5])
async def test_memories_in_a_supersede_cycle_stand_for_themselves(
    store: Store, length: int
) -> None:
    for number in range(1, length + 1):
        before = number - 1 or length
        await store.add(memory(number, f"harbour {number}", links=links(supersedes=before)))
    assert sorted(await recall_ids(store)) == ids(*range(1, length + 1))


async def test_memory_leading_into_a_cycle_is_served(store: Store) -> None:
    await store.add(memory(1, "the harbour"))
    await store.add(memory(2, "dredged", links=links(supersedes=(1, 3))))
    await store.add(memory(3, "dredged", links=links(supersedes=2)))
    assert await recall_ids(store) == ids(1)


async def test_newest_of_two_successors_is_served(store: Store) -> None:
    """A diamond: 1 is superseded by 2 and 3, both of them by 4."""
    await fill(
        store,
        memory(1, "the harbour"),
        memory(2, "dredged", links=links(supersedes=1)),
        memory(3, "dredged", links=links(supersedes=1)),
    )
    assert await recall_ids(store) == ids(3)
    await store.add(memory(4, "dredged", links=links(supersedes=(2, 3))))
    assert await recall_ids(store) == ids(4)
    await store.erase(OWNER, UUID(int=4))
    await store.erase(OWNER, UUID(int=3))
    assert await recall_ids(store) == ids(2)


async def test_collapsed_ranks_are_filled_from_below(store: Store) -> None:
    for number in range(1, 9):
        before = links(supersedes=number - 1) if 1 < number < 6 else ()
        await store.add(memory(number, f"harbour {number}", links=before))
    first = await recall_ids(store, limit=3)
    assert len(first) == 3
    assert set(first) <= set(ids(5, 6, 7, 8))
    assert sorted(await recall_ids(store, limit=8)) == ids(5, 6, 7, 8)


async def test_when_the_successor_goes_the_old_one_is_served_again(store: Store) -> None:
    await chain(store, 1, 2, 3)
    last = await store.get(OWNER, UUID(int=3))
    assert last is not None
    gone = replace(last, version=2, deleted_at=last.created_at)
    assert await store.replace(gone, based_on=1)
    assert await recall_ids(store) == ids(2)
    assert await store.replace(replace(last, version=3), based_on=2)
    assert await recall_ids(store) == ids(3)
    assert await store.replace(replace(last, version=4, links=()), based_on=3)
    assert await recall_ids(store) == ids(2)
    await store.erase(OWNER, UUID(int=2))
    assert await recall_ids(store) == ids(1)


async def test_another_owners_links_have_no_effect(store: Store) -> None:
    theirs = memory(2, "their own harbour", owner="bob", links=links(supersedes=1))
    mine = memory(1, "the harbour", links=links(resolved_by=2, see_also=2))
    await fill(store, mine, theirs)
    (hit,) = (await run_recall(store)).hits
    assert (hit.memory, hit.attached) == (mine, ())
    dangling = [Pointer(kind, theirs.id, is_dangling=True) for kind in ("resolved_by", "see_also")]
    assert [*hit.pointers] == dangling


async def test_another_owners_successor_does_not_hide_ones_own(store: Store) -> None:
    await chain(store, 1, 2)
    await store.add(memory(3, "theirs", owner="bob", links=links(supersedes=1)))
    assert await recall_ids(store) == ids(2)


async def test_recall_attaches_the_memory_that_resolves_a_hit(store: Store) -> None:
    await fill(
        store,
        memory(1, "the harbour floods", links=links(resolved_by=2, see_also=(4, 5), part_of=6)),
        memory(2, "a wall was built"),
        memory(3, "a higher wall was built", links=links(supersedes=2)),
        memory(4, "tides"),
        memory(6, "the coast", deleted_at=memory(6).created_at),
    )
    (hit,) = (await run_recall(store)).hits
    assert [memory.id for memory in hit.attached] == ids(3)
    assert hit.pointers == (
        Pointer("part_of", UUID(int=6), is_dangling=True),
        Pointer("see_also", UUID(int=4)),
        Pointer("see_also", UUID(int=5), is_dangling=True),
    )
    excluded = await run_recall(store, exclude=frozenset(ids(3)))
    assert excluded.hits[0].attached == ()


async def test_a_successors_own_links_are_followed(store: Store) -> None:
    await chain(store, 1, 2)
    await store.add(memory(3, "dredged", links=links(supersedes=2, resolved_by=4, see_also=1)))
    await store.add(memory(4, "a wall"))
    (hit,) = (await run_recall(store)).hits
    assert (hit.memory.id, [memory.id for memory in hit.attached]) == (*ids(3), ids(4))
    assert hit.pointers == (Pointer("see_also", UUID(int=1)),)


async def test_why_names_the_successor_of_a_memory(store: Store) -> None:
    await chain(store, 1, 2, 3)
    request = RecallRequest("harbour")
    old = await why(context(store), OWNER, str(UUID(int=1)), request)
    assert (old.recalled, old.superseded_by) == (False, UUID(int=3))
    assert old.kept_out[0].kind == "superseded"
    assert str(UUID(int=3)) in old.kept_out[0].what
    new = await why(context(store), OWNER, str(UUID(int=3)), request)
    assert (new.recalled, new.place, new.stands_for) == (True, 1, tuple(ids(1)))
    assert new.kept_out == ()


async def test_recall_sends_no_extra_query_without_links(store: Store) -> None:
    asked: list[object] = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            if name == "follow":
                asked.append(name)
            return getattr(store, name)

    watched: Any = Watched()
    plain: Memory = memory(1, "the harbour", links=links(supersedes=7))
    await store.add(plain)
    request = RecallRequest("harbour")
    await recall(replace(context(store), store=watched), OWNER, request)
    assert asked == []
    await store.add(memory(2, "dredged", links=links(supersedes=1)))
    await recall(replace(context(store), store=watched), OWNER, request)
    assert asked == ["follow"]
