"""A search or a listing shows what its owner and scope cover, and nothing else."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.conformance.samples import OWNER, fill, ids, listed, memory, search
from tests.strategies import MOMENT

from recollect.core.memory.listing import Cursor
from recollect.core.memory.memory import EVERYWHERE, Scope
from recollect.ports.stores import MemoryStore

pytestmark = pytest.mark.anyio

WORDS = "the harbour"
MEMORIES = (
    memory(1, WORDS),
    memory(2, WORDS, project="alpha"),
    memory(3, WORDS, project="alpha", session="s1", tags=("red", "green")),
    memory(4, WORDS, project="beta", session="s2", tags=("red",), category="lesson"),
    memory(5, WORDS, session="s1", tags=("red green",), category="decision"),
    memory(6, WORDS, session="S1", tags=("Red",), category="decision"),
    memory(7, WORDS, project="alpha", tags=("red", "green"), deleted_at=MOMENT),
    memory(8, WORDS, project="alpha", session="s1", tags=("red", "green"), owner="eve"),
)


def minute(number: int) -> timedelta:
    return timedelta(minutes=number)


SCOPES = {
    "everywhere": (EVERYWHERE, (1, 2, 3, 4, 5, 6)),
    "project": (Scope(project="alpha"), (2, 3)),
    "project is exact": (Scope(project="alph"), ()),
    "project has no wildcard": (Scope(project="a%"), ()),
    "project and global": (Scope(project="alpha", with_global=True), (1, 2, 3, 5, 6)),
    "global alone": (Scope(with_global=True), (1, 5, 6)),
    "project and global in a session": (
        Scope(project="alpha", sessions=("s1",), with_global=True),
        (3, 5),
    ),
    "a session": (Scope(sessions=("s1",)), (3, 5)),
    "any of the sessions": (Scope(sessions=("s1", "s2")), (3, 4, 5)),
    "a category": (Scope(categories=("lesson",)), (4,)),
    "any of the categories": (Scope(categories=("lesson", "decision")), (4, 5, 6)),
    "a tag": (Scope(tags=("red",)), (3, 4)),
    "all of the tags": (Scope(tags=("red", "green")), (3,)),
    "a tag with a space is one tag": (Scope(tags=("red green",)), (5,)),
    "the same tag twice": (Scope(tags=("red", "red")), (3, 4)),
    "a tag nobody has": (Scope(tags=("red", "blue")), ()),
    "since includes its moment": (Scope(since=MOMENT + minute(5)), (5, 6)),
    "until excludes its moment": (Scope(until=MOMENT + minute(3)), (1, 2)),
    "a window": (Scope(since=MOMENT + minute(2), until=MOMENT + minute(4)), (2, 3)),
    "an empty window": (Scope(since=MOMENT + minute(4), until=MOMENT + minute(4)), ()),
    "all at once": (
        Scope(
            project="alpha",
            sessions=("s1", "s9"),
            categories=("fact",),
            tags=("green",),
            since=MOMENT,
            until=MOMENT + minute(60),
        ),
        (3,),
    ),
}


@pytest.mark.parametrize(("scope", "expected"), SCOPES.values(), ids=SCOPES.keys())
async def test_a_scope_covers_exactly(
    store: MemoryStore, scope: Scope, expected: tuple[int, ...]
) -> None:
    await fill(store, *MEMORIES)
    assert sorted(await search(store, "harbour", scope)) == ids(*expected)
    assert await listed(store, scope) == ids(*reversed(expected))


async def test_owners_do_not_see_each_others_memories(store: MemoryStore) -> None:
    await fill(store, *MEMORIES)
    assert await search(store, "harbour", owner="eve") == ids(8)
    assert await listed(store, owner="eve") == ids(8)
    assert await search(store, "harbour", owner="") == []
    assert await search(store, "harbour", owner="EVE") == []
    assert (await store.get_many("eve", ids(1, 8))).keys() == set(ids(8))
    assert not await store.erase("eve", ids(1)[0])
    assert not await store.replace(memory(1, "stolen", owner="eve", version=2), based_on=1)
    assert await store.get(OWNER, ids(1)[0]) == MEMORIES[0]


async def test_excluded_memories_give_their_places_to_others(store: MemoryStore) -> None:
    await fill(store, *MEMORIES)
    excluded = frozenset(ids(1, 3, 99))
    assert sorted(await search(store, "harbour", exclude=excluded)) == ids(2, 4, 5, 6)
    assert await search(store, "harbour", exclude=excluded, depth=2) == ids(2, 4)


async def test_pages_follow_each_other_without_gap_or_repeat(store: MemoryStore) -> None:
    """Also across memories of the same moment, and while younger ones arrive."""
    same = [memory(number, created_at=MOMENT) for number in range(1, 12)]
    await fill(store, *same, memory(12, project="other"), memory(13))
    seen = []
    after = None
    while page := await store.page(OWNER, EVERYWHERE, after, 4):
        assert len(page) <= 4
        seen += [memory.id for memory in page]
        after = Cursor.after(page[-1])
        await store.add(memory(100 + len(seen)))
    assert seen == ids(13, 12, *range(11, 0, -1))


async def test_pages_stay_inside_the_scope(store: MemoryStore) -> None:
    await fill(store, *MEMORIES)
    first = await store.page(OWNER, Scope(project="alpha"), None, 1)
    rest = await store.page(OWNER, Scope(project="alpha"), Cursor.after(first[0]), 10)
    assert [memory.id for memory in (*first, *rest)] == ids(3, 2)


async def test_projects_are_those_of_memories_that_are_not_forgotten(store: MemoryStore) -> None:
    assert await store.projects(OWNER) == []
    await fill(store, *MEMORIES, memory(9, WORDS, project="gone", deleted_at=MOMENT))
    await fill(store, memory(10, WORDS, project="github.com/ada/shop"))
    assert sorted(await store.projects(OWNER)) == ["alpha", "beta", "github.com/ada/shop"]
    assert await store.projects("eve") == ["alpha"]
