"""What is stored is found, until it is forgotten or erased."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import pytest
from tests.conformance.samples import OWNER, fill, ids, listed, memory, search
from tests.strategies import MOMENT

from recollect.core.admin.stats import Stats
from recollect.core.errors import Conflict
from recollect.core.memory.ids import IdPart
from recollect.core.memory.links import Link
from recollect.core.memory.memory import EVERYWHERE, Memory, Scope
from recollect.core.recall.settings import WordQuery
from recollect.ports.stores import MemoryStore

pytestmark = pytest.mark.anyio

FULL = Memory(
    id=UUID("01900000-0000-7000-8000-000000000001"),
    owner=OWNER,
    content='Zoë said: "100% of it_em"\nsecond line 🦀 שלום \\ \x01',
    created_at=datetime(2026, 11, 15, 9, 30, 0, 123456, tzinfo=UTC),
    updated_at=datetime(2026, 11, 15, 9, 30, 0, 123457, tzinfo=UTC),
    category="decision",
    tags=("two words", 'quo"ted', "comma, [brackets]", "back\\slash", "line\nbreak", "Ünï"),
    expanded_keywords=("release train", "{curly}", "it's"),
    importance=0.1 + 0.2,
    is_sensitive=True,
    project="näme / with %",
    session="s'1",
    version=1,
)


async def test_a_memory_comes_back_field_by_field(store: MemoryStore) -> None:
    await store.add(FULL)
    assert await store.get(OWNER, FULL.id) == FULL
    assert await store.get_many(OWNER, [FULL.id]) == {FULL.id: FULL}
    assert await store.page(OWNER, EVERYWHERE, None, 10) == [FULL]
    (candidate,) = await store.search_words(OWNER, EVERYWHERE, WordQuery("line"))
    assert (candidate.id, candidate.importance, candidate.created_at) == (
        FULL.id,
        FULL.importance,
        FULL.created_at,
    )


async def test_a_memory_with_nothing_but_content(store: MemoryStore) -> None:
    await store.add(memory(1))
    assert await store.get(OWNER, UUID(int=1)) == memory(1)


async def test_times_of_another_zone_are_the_same_moments(store: MemoryStore) -> None:
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=-5, minutes=-30)))
    await store.add(memory(1, created_at=elsewhere))
    found = await store.get(OWNER, UUID(int=1))
    assert found is not None
    assert found.created_at == MOMENT


async def test_an_id_is_taken_once_by_each_owner(store: MemoryStore) -> None:
    await store.add(memory(1, "first"))
    with pytest.raises(Conflict) as refused:
        await store.add(memory(1, "second"))
    assert refused.value.remedy
    assert await store.get(OWNER, UUID(int=1)) == memory(1, "first")


async def test_the_same_id_under_two_owners_is_two_memories(store: MemoryStore) -> None:
    mine = memory(1, "a harbour", links=(Link("supersedes", UUID(int=2)),))
    theirs = memory(1, "a lighthouse", owner="eve")
    await store.add(mine)
    await store.add(theirs)
    assert await store.add_all([memory(2, "a quay", owner="eve")]) == {UUID(int=2)}
    await store.add(memory(2, "a pier"))
    changed = replace(theirs, content="a beacon", version=2, updated_at=MOMENT + timedelta(days=1))
    assert await store.replace(changed, based_on=1)
    assert await store.get(OWNER, UUID(int=1)) == mine
    assert await store.get("eve", UUID(int=1)) == changed
    assert [
        hit.id for hit in await store.search_words("eve", EVERYWHERE, WordQuery("harbour"))
    ] == []
    fetched = await store.fetch("eve", ids(1, 2))
    assert set(fetched.memories) == set(ids(1, 2))
    assert not fetched.superseded  # a memory that supersedes the other owner's is not theirs
    assert await store.erase("eve", UUID(int=1))
    assert await store.get("eve", UUID(int=1)) is None
    assert await store.get(OWNER, UUID(int=1)) == mine
    assert (await store.fetch(OWNER, ids(2))).superseded == set(ids(2))


async def test_missing_memory_is_not_found(store: MemoryStore) -> None:
    assert await store.get(OWNER, UUID(int=1)) is None
    assert await store.get_many(OWNER, []) == {}
    assert await store.get_many(OWNER, ids(1, 2)) == {}
    assert await listed(store) == []
    assert await search(store, "anything") == []
    assert not await store.erase(OWNER, UUID(int=1))
    assert not await store.replace(memory(1), based_on=1)
    assert await store.get(OWNER, UUID(int=1)) is None


async def test_get_many_takes_a_thousand_ids(store: MemoryStore) -> None:
    await fill(store, memory(1), memory(2))
    found = await store.get_many(OWNER, ids(*range(1, 1001)))
    assert found.keys() == set(ids(1, 2))


async def test_replacing_changes_what_is_read_and_found(store: MemoryStore) -> None:
    await store.add(memory(1, "the old harbour", tags=("earlier",)))
    after = memory(1, "a new bridge", version=2, importance=0.9, tags=("later",), session="s")
    assert await store.replace(after, based_on=1)
    assert await store.get(OWNER, UUID(int=1)) == after
    assert await search(store, "bridge") == ids(1)
    assert await search(store, "later") == ids(1)
    assert await search(store, "harbour") == []
    assert await search(store, "earlier") == []


async def test_replacing_a_version_that_is_not_current_changes_nothing(store: MemoryStore) -> None:
    await store.add(memory(1, "current", version=3))
    for based_on in (2, 4):
        assert not await store.replace(memory(1, "late", version=4), based_on=based_on)
    assert await store.get(OWNER, UUID(int=1)) == memory(1, "current", version=3)


async def test_of_two_replaces_at_once_exactly_one_wins(store: MemoryStore) -> None:
    await store.add(memory(1, "start"))
    rivals = [memory(1, f"rival {number}", version=2) for number in range(8)]
    won = await asyncio.gather(*(store.replace(rival, based_on=1) for rival in rivals))
    assert sorted(won) == [False] * 7 + [True]
    assert await store.get(OWNER, UUID(int=1)) == rivals[won.index(True)]


async def test_a_forgotten_memory_is_not_shown(store: MemoryStore) -> None:
    await fill(store, memory(1, "the harbour", project="p"), memory(2, "the harbour wall"))
    gone = memory(1, "the harbour", project="p", version=2, deleted_at=MOMENT)
    assert await store.replace(gone, based_on=1)
    assert await search(store, "harbour") == ids(2)
    assert await listed(store) == ids(2)
    assert (await store.get_many(OWNER, ids(1, 2))).keys() == set(ids(2))
    assert (await store.get_many(OWNER, ids(1, 2), forgotten=True))[UUID(int=1)] == gone
    assert await store.get_many("eve", ids(1, 2), forgotten=True) == {}
    assert await store.get(OWNER, UUID(int=1)) == gone


async def test_a_forgotten_memory_can_come_back(store: MemoryStore) -> None:
    await store.add(memory(1, "the harbour", deleted_at=MOMENT))
    assert await search(store, "harbour") == []
    assert await store.replace(memory(1, "the harbour", version=2), based_on=1)
    assert await search(store, "harbour") == ids(1)


@pytest.mark.parametrize("deleted_at", [None, MOMENT], ids=["current", "forgotten"])
async def test_an_erased_memory_is_gone(store: MemoryStore, deleted_at: datetime | None) -> None:
    await fill(store, memory(1, "the harbour", deleted_at=deleted_at), memory(2, "a harbour"))
    assert not await store.erase("eve", UUID(int=1))
    assert await store.erase(OWNER, UUID(int=1))
    assert not await store.erase(OWNER, UUID(int=1))
    assert await store.get(OWNER, UUID(int=1)) is None
    assert await search(store, "harbour") == ids(2)
    assert (await store.stats(OWNER)).forgotten == 0
    with pytest.raises(Conflict):
        await store.add(memory(1, "stored under an erased id"))
    assert await store.add_all([memory(1, "stored under an erased id"), memory(3, "new")]) == {
        UUID(int=3)
    }
    await store.add(memory(1, "another owner's", owner="eve"))


async def test_ids_by_prefix(store: MemoryStore) -> None:
    alike = [UUID(f"0190abcd-{n:04x}-7000-8000-000000000000") for n in (3, 1, 2)]
    await fill(store, *(memory(1, id=id) for id in alike))
    await store.add(memory(1, id=UUID("0190abce-0000-7000-8000-000000000000")))
    await store.add(memory(1, id=UUID("0190abcd-0009-7000-8000-000000000000"), owner="eve"))
    forgotten = UUID("0190abcd-0004-7000-8000-000000000000")
    await store.add(memory(1, id=forgotten, deleted_at=MOMENT))

    async def find_by_prefix(text: str, limit: int = 10, *, forgotten: bool = False) -> list[UUID]:
        prefix = IdPart.parse(text)
        return await store.ids_with_prefix(OWNER, prefix, limit, forgotten=forgotten)

    assert await find_by_prefix("0190ABCD") == sorted(alike)
    assert await find_by_prefix("0190abcd", limit=2) == sorted(alike)[:2]
    assert await find_by_prefix("0190abcd-0002") == [alike[2]]
    assert await find_by_prefix(str(alike[0])) == [alike[0]]
    assert await find_by_prefix("0190abcd-0004") == []
    assert await find_by_prefix("0190abcd-0004", forgotten=True) == [forgotten]
    assert await find_by_prefix("0190abcd-0009", forgotten=True) == []
    assert await find_by_prefix("ffff") == []


async def test_ids_by_their_ends(store: MemoryStore) -> None:
    def ending(text: str, start: int = 0) -> UUID:
        return UUID(f"0190abc{start}-0000-7000-8000-00000000{text}")

    await fill(store, memory(1, id=ending("beef")), memory(2, id=ending("cafe"), project="shop"))
    await store.add(memory(3, id=ending("beef", 1), deleted_at=MOMENT))
    await store.add(memory(4, id=ending("beef", 2), owner="eve"))

    async def found(*ends: str, **among: Any) -> list[UUID]:
        return await store.ids_with_endings(OWNER, ends, **{"forgotten": False, **among})

    assert await found("beef") == [ending("beef")]
    assert await found("beef", forgotten=True) == [ending("beef"), ending("beef", 1)]
    assert await found("beef", "cafe", "0000") == [ending("beef"), ending("cafe")]
    assert await found("beef", "cafe", project="shop") == [ending("cafe")]
    assert await found() == []


async def test_a_renamed_project_takes_its_memories_and_its_old_name_along(
    store: MemoryStore,
) -> None:
    await fill(
        store,
        memory(1, project="shop"),
        memory(2, project="shop", deleted_at=MOMENT),
        memory(3, project="lab"),
        memory(4),
    )
    await store.add(memory(5, project="shop", owner="eve"))
    moved = await store.rename_project(OWNER, "shop", "store", by="test", at=MOMENT)
    assert moved == 2
    assert await store.projects(OWNER) == ["lab", "store"]
    first, forgotten = await store.get(OWNER, UUID(int=1)), await store.get(OWNER, UUID(int=2))
    assert first is not None
    assert forgotten is not None
    assert (first.project, first.version, first.changed_by) == ("store", 2, "test")
    assert (forgotten.project, forgotten.deleted_at) == ("store", MOMENT)
    assert [former.project for former in await store.versions(OWNER, first.id)] == ["shop"]
    assert await store.former_names(OWNER) == {"shop": "store"}
    # The old names follow, and a name that is in use again is no former one.
    await store.rename_project(OWNER, "store", "lab", by=None, at=MOMENT)
    assert await store.former_names(OWNER) == {"shop": "lab", "store": "lab"}
    assert await store.projects(OWNER) == ["lab"]
    await store.rename_project(OWNER, "lab", "shop", by=None, at=MOMENT)
    assert await store.former_names(OWNER) == {"lab": "shop", "store": "shop"}
    assert await store.former_names("eve") == {}
    assert await store.projects("eve") == ["shop"]


async def test_stats_count_what_an_owner_has(store: MemoryStore) -> None:
    await fill(
        store,
        memory(1, "the tea is in the kitchen", category="fact", project="p"),
        memory(2, "緑茶は台所にある", category="fact", project="q", is_sensitive=True),
        memory(3, "der Tee ist in der Küche", category="lesson"),
        memory(4, category="note", project="p", is_sensitive=True, deleted_at=MOMENT),
        memory(5, category="note", owner="eve"),
    )
    assert await store.stats(OWNER) == Stats(
        memories=3,
        forgotten=1,
        sensitive=1,
        by_category={"fact": 2, "lesson": 1},
        by_project={"p": 1, "q": 1},
        by_language={"de": 1, "en": 1, "ja": 1},
    )
    assert await store.stats("nobody") == Stats(memories=0, forgotten=0, sensitive=0)


async def test_concurrent_writes_are_all_stored(store: MemoryStore) -> None:
    """Reads and writes of one store at the same time: all are served, none is lost."""
    wanted = [memory(number, f"harbour {number}") for number in range(1, 41)]
    await asyncio.gather(
        *(store.add(memory) for memory in wanted), *(search(store, "harbour") for _ in wanted)
    )
    assert await listed(store) == ids(*range(40, 0, -1))
    changed = [replace(memory, content=f"bridge {memory.id}", version=2) for memory in wanted]
    assert all(await asyncio.gather(*(store.replace(memory, based_on=1) for memory in changed)))
    assert await search(store, "harbour") == []


async def test_adding_many_stores_every_field(store: MemoryStore) -> None:
    linked = replace(FULL, id=UUID(int=5), links=(Link("supersedes", FULL.id),))
    assert await store.add_all([FULL, linked]) == {FULL.id, linked.id}
    assert await store.get(OWNER, FULL.id) == FULL
    assert await store.get(OWNER, linked.id) == linked


async def test_adding_many_keeps_those_whose_id_is_free(store: MemoryStore) -> None:
    await store.add(memory(1, "the first"))
    forgotten = memory(3, "the third", version=7, deleted_at=memory(4).created_at)
    many = [memory(1, "another first"), memory(2, "the second"), forgotten, memory(2, "a twin")]
    assert await store.add_all(many) == set(ids(2, 3))
    assert await store.add_all(many) == set()
    assert await store.add_all([]) == set()
    assert await store.get(OWNER, UUID(int=1)) == memory(1, "the first")
    assert await store.get(OWNER, UUID(int=2)) == memory(2, "the second")
    assert await store.get(OWNER, UUID(int=3)) == forgotten
    assert await search(store, "third") == []


async def test_forgotten_memories_are_listed_when_asked_for(store: MemoryStore) -> None:
    await fill(store, memory(1), memory(2, deleted_at=memory(9).created_at), memory(3))
    assert await listed(store) == ids(3, 1)
    assert await listed(store, Scope(forgotten=True)) == ids(3, 2, 1)
    assert await listed(store, Scope(forgotten=True), owner="bob") == []


async def test_ids_and_counts_of_one_project_alone(store: MemoryStore) -> None:
    shop, forgotten = memory(1, project="shop"), memory(2, project="shop", deleted_at=MOMENT)
    await fill(store, shop, forgotten, memory(3, project="web"), memory(4))
    everything = IdPart.parse("0000")
    found = await store.ids_with_prefix(OWNER, everything, 10, forgotten=True, project="shop")
    assert found == ids(1, 2)
    assert await store.stats(OWNER, "shop") == Stats(1, 1, 0, {"fact": 1}, {"shop": 1}, {"en": 1})
    assert (await store.stats(OWNER)).memories == 3
