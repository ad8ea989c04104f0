from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

import pytest
from tests.usecases.conftest import build_context

from recollect.core.errors import AmbiguousId, Conflict, InvalidInput, NotFound
from recollect.core.memory.links import Link
from recollect.core.memory.memory import EVERYWHERE, Changes, Draft, Memory
from recollect.core.recall.request import RecallRequest
from recollect.usecases.admin.within_project import ProjectStore
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.change import forget, history, link, restore, update
from recollect.usecases.memory.remember import remember
from recollect.usecases.recall.recall import recall
from recollect_bench.in_memory import InMemoryStore

pytestmark = pytest.mark.anyio


async def test_what_is_forgotten_is_shown_nowhere_but_kept(context: Context) -> None:
    memory = await remember(context, "me", Draft("staging is frozen"))
    assert await forget(context, "me", str(memory.id)[:13]) == memory.id
    assert (await recall(context, "me", RecallRequest("staging"))).hits == ()
    assert (await find.page(context, "me", EVERYWHERE, None, 10)).memories == ()
    with pytest.raises(NotFound):
        await find.get(context, "me", str(memory.id))
    stats = await context.store.stats("me")
    assert (stats.memories, stats.forgotten) == (0, 1)
    kept = await context.store.get("me", memory.id)
    assert kept is not None
    assert kept.version == 2
    assert kept.deleted_at == kept.updated_at
    assert kept.content == "staging is frozen"


async def test_forever_erases_every_trace(context: Context) -> None:
    memory = await remember(context, "me", Draft("staging is frozen"))
    assert await forget(context, "me", str(memory.id), forever=True) == memory.id
    assert await context.store.get("me", memory.id) is None
    assert (await context.store.stats("me")).forgotten == 0


async def test_forever_also_erases_what_was_forgotten_before(context: Context) -> None:
    memory = await remember(context, "me", Draft("staging is frozen"))
    await forget(context, "me", str(memory.id))
    await forget(context, "me", str(memory.id), forever=True)
    assert await context.store.get("me", memory.id) is None


@pytest.mark.parametrize("forever", [False, True])
async def test_one_delete_removes_one_memory(context: Context, forever: bool) -> None:
    one = await remember(context, "me", Draft("one"))
    other = await remember(context, "me", Draft("other"))
    with pytest.raises(AmbiguousId):
        await forget(context, "me", str(one.id)[:4], forever=forever)
    await forget(context, "me", str(one.id), forever=forever)
    assert (await find.page(context, "me", EVERYWHERE, None, 10)).memories == (other,)


@pytest.mark.parametrize("forever", [False, True])
async def test_forget_rejects_other_owners_memories(context: Context, forever: bool) -> None:
    theirs = await remember(context, "you", Draft("theirs"))
    with pytest.raises(NotFound):
        await forget(context, "me", str(theirs.id), forever=forever)
    assert await find.get(context, "you", str(theirs.id)) == theirs


async def test_what_is_gone_cannot_be_forgotten_again(context: Context) -> None:
    memory = await remember(context, "me", Draft("staging is frozen"))
    await forget(context, "me", str(memory.id))
    with pytest.raises(NotFound):
        await forget(context, "me", str(memory.id))
    await forget(context, "me", str(memory.id), forever=True)
    with pytest.raises(NotFound):
        await forget(context, "me", str(memory.id), forever=True)


DRAFT = Draft("staging is frozen", tags=("ops",), project="web", session="s1", importance=0.4)


class MeetingStore(InMemoryStore):
    """Yields to other tasks between reading and writing, like a store behind a network."""

    async def replace(self, memory: Memory, *, based_on: int) -> bool:
        await asyncio.sleep(0)
        return await super().replace(memory, based_on=based_on)


async def test_only_named_fields_change(context: Context) -> None:
    before = await remember(context, "me", DRAFT)
    after = await update(context, "me", str(before.id)[:13], {"importance": 0.9, "session": None})
    assert after == replace(
        before, importance=0.9, session=None, version=2, updated_at=after.updated_at
    )
    assert after.updated_at > before.updated_at
    assert await context.store.get("me", before.id) == after


async def test_every_field_can_be_changed(context: Context) -> None:
    before = await remember(context, "me", DRAFT)
    changes: Changes = {
        "content": "staging is open",
        "category": "episode",
        "tags": ("db",),
        "expanded_keywords": ("thaw",),
        "importance": 1.0,
        "is_sensitive": True,
        "project": None,
        "session": "s2",
        "links": (Link("see_also", UUID(int=7)),),
        "valid_from": datetime(2026, 1, 1, tzinfo=UTC),
        "valid_until": datetime(2027, 1, 1, tzinfo=UTC),
    }
    assert set(changes) == set(Changes.__annotations__)
    after = await update(context, "me", str(before.id), changes)
    assert after == replace(before, **changes, version=2, updated_at=after.updated_at)


async def test_each_change_is_a_new_version(context: Context) -> None:
    memory = await remember(context, "me", DRAFT)
    for version in (2, 3, 4):
        memory = await update(context, "me", str(memory.id), {"importance": 0.5})
        assert memory.version == version


@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        ({}, "changes"),
        ({"content": " "}, "content"),
        ({"importance": 7.0}, "importance"),
        ({"category": "gossip"}, "category"),
        ({"category": "episode", "session": None}, "session"),
    ],
)
async def test_a_change_that_breaks_the_rules_changes_nothing(
    context: Context, changes: Changes, culprit: str
) -> None:
    before = await remember(context, "me", DRAFT)
    with pytest.raises(InvalidInput) as refused:
        await update(context, "me", str(before.id), changes)
    assert refused.value.field == culprit
    assert await context.store.get("me", before.id) == before


async def test_a_change_based_on_the_current_version_is_applied(context: Context) -> None:
    memory = await remember(context, "me", DRAFT)
    memory = await update(context, "me", str(memory.id), {"importance": 0.5}, based_on=1)
    memory = await update(context, "me", str(memory.id), {"importance": 0.6}, based_on=2)
    assert (memory.importance, memory.version) == (0.6, 3)


@pytest.mark.parametrize("based_on", [1, 3, 0, -1])
async def test_a_change_based_on_another_version_is_a_conflict(
    context: Context, based_on: int
) -> None:
    memory = await remember(context, "me", DRAFT)
    current = await update(context, "me", str(memory.id), {"importance": 0.5})
    with pytest.raises(Conflict) as clash:
        await update(context, "me", str(memory.id), {"importance": 0.6}, based_on=based_on)
    assert "version 2 is current" in str(clash.value)
    assert await context.store.get("me", memory.id) == current


async def test_writers_that_meet_all_keep_their_fields() -> None:
    context = build_context(MeetingStore())
    memory = await remember(context, "me", DRAFT)
    changes: list[Changes] = [
        {"content": "staging is open"},
        {"importance": 0.9},
        {"tags": ("db",)},
        {"project": "app"},
        {"is_sensitive": True},
    ]
    await asyncio.gather(*(update(context, "me", str(memory.id), change) for change in changes))
    after = await context.store.get("me", memory.id)
    assert after is not None
    assert (after.content, after.importance, after.tags) == ("staging is open", 0.9, ("db",))
    assert (after.project, after.is_sensitive) == ("app", True)
    assert after.version == 1 + len(changes)


async def test_of_writers_on_one_version_one_wins_and_the_others_get_a_conflict() -> None:
    context = build_context(MeetingStore())
    memory = await remember(context, "me", DRAFT)
    outcomes = await asyncio.gather(
        *(
            update(context, "me", str(memory.id), {"importance": number / 10}, based_on=1)
            for number in range(4)
        ),
        return_exceptions=True,
    )
    winners = [outcome for outcome in outcomes if isinstance(outcome, Memory)]
    losers = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert (len(winners), len(losers)) == (1, 3)
    assert await context.store.get("me", memory.id) == winners[0]


async def test_a_memory_that_others_never_let_go_of_is_a_conflict() -> None:
    class ContestedStore(InMemoryStore):
        async def replace(self, memory: Memory, *, based_on: int) -> bool:
            return False

    context = build_context(ContestedStore())
    memory = await remember(context, "me", DRAFT)
    with pytest.raises(Conflict, match="keeps being changed"):
        await update(context, "me", str(memory.id), {"importance": 0.9})
    with pytest.raises(Conflict, match="keeps being changed"):
        await forget(context, "me", str(memory.id))


async def test_update_rejects_other_owners_and_forgotten_memories(context: Context) -> None:
    theirs = await remember(context, "you", DRAFT)
    mine = await remember(context, "me", DRAFT)
    await forget(context, "me", str(mine.id))
    for id in (theirs.id, mine.id):
        with pytest.raises(NotFound):
            await update(context, "me", str(id), {"importance": 0.9})
    assert await context.store.get("you", theirs.id) == theirs


async def test_a_memory_forgotten_while_it_is_changed_stays_forgotten() -> None:
    context = build_context(MeetingStore())
    memory = await remember(context, "me", DRAFT)
    outcomes = await asyncio.gather(
        forget(context, "me", str(memory.id)),
        update(context, "me", str(memory.id), {"importance": 0.9}),
        return_exceptions=True,
    )
    assert outcomes[0] == memory.id
    assert isinstance(outcomes[1], NotFound)
    after = await context.store.get("me", memory.id)
    assert after is not None
    assert after.deleted_at is not None


async def test_history_has_every_version_newest_first(context: Context) -> None:
    first = await remember(context, "me", Draft("port 8000"))
    second = await update(context, "me", str(first.id), {"content": "port 9000"})
    assert await history(context, "me", str(first.id)[:18]) == [second, first]


async def test_restore_makes_a_new_version_of_an_old_one(context: Context) -> None:
    other = await remember(context, "me", Draft("another"))
    first = await remember(context, "me", Draft("port 8000", tags=("api",)))
    await update(context, "me", str(first.id), {"content": "port 9000", "tags": ()})
    await link(context, "me", str(first.id), "supersedes", str(other.id))
    restored = await restore(context, "me", str(first.id), 1)
    assert restored == replace(first, version=4, updated_at=restored.updated_at)
    assert [each.version for each in await history(context, "me", str(first.id))] == [4, 3, 2, 1]


async def test_restore_never_makes_a_sensitive_memory_public(context: Context) -> None:
    first = await remember(context, "me", Draft("port 8000"))
    await update(context, "me", str(first.id), {"is_sensitive": True})
    assert (await restore(context, "me", str(first.id), 1)).is_sensitive


async def test_restore_of_an_unknown_version_says_where_to_look(context: Context) -> None:
    first = await remember(context, "me", Draft("port 8000"))
    with pytest.raises(NotFound, match="has no version 2") as raised:
        await restore(context, "me", str(first.id), 2)
    assert "recollect history" in raised.value.remedy


async def test_history_inside_a_project_leaves_out_other_projects(store: InMemoryStore) -> None:
    context = build_context(store)
    first = await remember(context, "me", Draft("port 8000", project="web"))
    await update(context, "me", str(first.id), {"project": "shop"})
    limited = replace(context, store=ProjectStore(store, "shop"))
    assert [each.version for each in await history(limited, "me", str(first.id))] == [2]
    with pytest.raises(NotFound):
        await restore(limited, "me", str(first.id), 1)
