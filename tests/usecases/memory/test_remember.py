from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from tests.strategies import MOMENT

from recollect.core.errors import Conflict, InvalidInput
from recollect.core.memory.ids import uuid7
from recollect.core.memory.links import Link
from recollect.core.memory.memory import EVERYWHERE, Draft, Memory
from recollect.usecases.context import Context
from recollect.usecases.memory import find
from recollect.usecases.memory.change import forget, update
from recollect.usecases.memory.find import page
from recollect.usecases.memory.remember import remember

pytestmark = pytest.mark.anyio

OWN_ID = UUID("019a8f4e-2b7c-7d11-8a3f-0123456789ab")
FULL = Draft(
    content=" the staging database is read-only on Fridays ",
    category="procedure",
    tags=("ops",),
    expanded_keywords=("freeze", "write lock"),
    importance=0.9,
    is_sensitive=True,
    project="web",
    session="s1",
    id=OWN_ID,
)


async def test_a_draft_becomes_a_memory_with_all_it_says(context: Context) -> None:
    stored = await remember(context, "me", FULL)
    now = MOMENT + timedelta(seconds=1)
    assert stored == Memory(
        id=OWN_ID,
        owner="me",
        content="the staging database is read-only on Fridays",
        created_at=now,
        updated_at=now,
        category="procedure",
        tags=("ops",),
        expanded_keywords=("freeze", "write lock"),
        importance=0.9,
        is_sensitive=True,
        project="web",
        session="s1",
        version=1,
        deleted_at=None,
    )
    assert await context.store.get("me", OWN_ID) == stored


async def test_an_id_is_made_when_the_writer_has_none(context: Context) -> None:
    one = await remember(context, "me", Draft("first"))
    other = await remember(context, "me", Draft("second"))
    assert one.id.version == other.id.version == 7
    assert one.id < other.id


async def test_a_repeated_write_is_one_memory(context: Context) -> None:
    first = await remember(context, "me", FULL)
    assert await remember(context, "me", FULL) == first
    assert await remember(context, "me", replace(FULL, content=FULL.content.strip())) == first
    assert (await page(context, "me", EVERYWHERE, None, 10)).memories == (first,)


@pytest.mark.parametrize(
    "other",
    [
        replace(FULL, content="something else"),
        replace(FULL, importance=0.8),
        replace(FULL, is_sensitive=False),
        replace(FULL, project=None),
    ],
)
async def test_another_draft_under_a_taken_id_is_a_conflict(context: Context, other: Draft) -> None:
    first = await remember(context, "me", FULL)
    with pytest.raises(Conflict, match="belongs to another memory"):
        await remember(context, "me", other)
    assert await context.store.get("me", OWN_ID) == first


async def test_a_repeat_does_not_undo_a_later_change(context: Context) -> None:
    await remember(context, "me", FULL)
    changed = await update(context, "me", str(OWN_ID), {"content": "writable again"})
    with pytest.raises(Conflict, match="changed since, and has version 2") as clash:
        await remember(context, "me", FULL)
    assert clash.value.remedy.startswith("If this repeats the write")
    assert await context.store.get("me", OWN_ID) == changed


async def test_a_repeat_does_not_bring_back_what_was_forgotten(context: Context) -> None:
    await remember(context, "me", FULL)
    await forget(context, "me", str(OWN_ID))
    with pytest.raises(Conflict, match="forgotten since"):
        await remember(context, "me", FULL)
    assert (await page(context, "me", EVERYWHERE, None, 10)).memories == ()


async def test_an_id_of_another_owner_is_free(context: Context) -> None:
    theirs = await remember(context, "you", FULL)
    mine = await remember(context, "me", replace(FULL, content="something else"))
    assert await context.store.get("me", OWN_ID) == mine
    assert await context.store.get("you", OWN_ID) == theirs


async def test_what_breaks_the_rules_is_not_stored(context: Context) -> None:
    for draft in (Draft(" "), Draft("x" * 201), Draft("x", importance=2), Draft("x", "gossip")):
        with pytest.raises(InvalidInput):
            await remember(context, "me", draft)
    assert (await context.store.stats("me")).memories == 0


async def test_a_text_that_is_stored_again_stays_one_memory_and_gains_what_is_new(
    context: Context,
) -> None:
    first = await remember(context, "me", Draft("Tea is in the shed.", tags=("tea",)))
    assert not first.was_known
    again = await remember(context, "me", Draft("Tea is  in the shed.\n"))
    assert again.was_known
    assert again == first  # nothing new was given, nothing changed
    link = Link("see_also", UUID(int=7))
    richer = Draft(
        "Tea is in the shed.",
        category="reference",
        tags=("shed", "tea"),
        expanded_keywords=("hut",),
        importance=0.9,
        is_sensitive=True,
        links=(link,),
    )
    merged = await remember(context, "me", richer)
    assert (merged.id, merged.version, merged.was_known) == (first.id, 2, True)
    assert (merged.tags, merged.expanded_keywords) == (("tea", "shed"), ("hut",))
    assert (merged.category, merged.importance, merged.links) == ("reference", 0.9, (link,))
    assert merged.is_sensitive
    less = await remember(context, "me", Draft("Tea is in the shed.", importance=0.1))
    assert less == merged
    assert await find.get(context, "me", str(first.id)) == merged


async def test_turns_and_ids_of_ones_own_are_always_stored(context: Context) -> None:
    turn = Draft("yes", category="episode", session="s")
    own = Draft("yes", id=uuid7(context.clock.now(), bytes(10)))
    stored = [await remember(context, "me", draft) for draft in (turn, turn, own, Draft("yes"))]
    assert [memory.was_known for memory in stored] == [False, False, False, True]
    assert len({memory.id for memory in stored}) == 3
