"""A text that was erased, forgotten or replaced is recognized afterwards."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.conformance.samples import OWNER, fill, memory
from tests.strategies import MOMENT

from recollect.core.memory.memory import Memory
from recollect.ports.stores import MemoryStore

pytestmark = pytest.mark.anyio

TEXT = "The ferry leaves at six."
LATER = MOMENT + timedelta(days=1)


async def change(store: MemoryStore, old: Memory, **fields: object) -> Memory:
    new = replace(old, version=old.version + 1, updated_at=LATER, **fields)  # type: ignore[arg-type]
    assert await store.replace(new, based_on=old.version)
    return new


async def test_an_erased_text_is_found_whatever_its_case_and_spaces(store: MemoryStore) -> None:
    await fill(store, memory(1, TEXT), memory(2, "kept"))
    before = datetime.now(UTC) - timedelta(seconds=1)
    assert await store.erase(OWNER, memory(1).id)
    same = (
        TEXT,
        "the Ferry  leaves\nat six",
        "the ferry, leaves at `six`!",
        "the ferry\u200b leaves at ｓix",
    )
    again = [(None, text) for text in (*same, "The ferry leaves at 7")]
    found = await store.find_removed(OWNER, [*again, (None, "kept")])
    assert {*found} == {*again[:-1]}
    assert all(before < at < before + timedelta(minutes=10) for at in found.values())
    assert await store.find_removed("eve", again) == {}
    assert await store.find_removed(OWNER, [("alpha", TEXT)]) == {}
    assert await store.find_removed(OWNER, []) == {}


async def test_a_forgotten_text_is_removed_until_it_is_restored(store: MemoryStore) -> None:
    text = ("alpha", TEXT)
    first = memory(1, TEXT, project="alpha")
    await fill(store, first)
    forgotten = await change(store, first, deleted_at=LATER)
    assert await store.find_removed(OWNER, [text]) == {text: LATER}
    await change(store, forgotten, deleted_at=None)
    assert await store.find_removed(OWNER, [text]) == {}


async def test_a_removal_is_as_late_as_the_last_one(store: MemoryStore) -> None:
    """Erasing what was forgotten before removes nothing that could still be recalled."""
    first, second = memory(1, TEXT), memory(2, TEXT)
    await fill(store, first, second)
    await change(store, first, deleted_at=LATER)
    assert await store.erase(OWNER, first.id)
    assert await store.find_removed(OWNER, [(None, TEXT)]) == {(None, TEXT): LATER}
    await change(store, second, deleted_at=LATER - timedelta(hours=1))
    assert await store.find_removed(OWNER, [(None, TEXT)]) == {(None, TEXT): LATER}


async def test_a_text_that_was_replaced_or_moved_is_removed(store: MemoryStore) -> None:
    first = memory(1, TEXT, project="alpha")
    await fill(store, first)
    texts = [("alpha", TEXT), ("alpha", "It leaves at seven"), ("beta", "It leaves at seven")]
    second = await change(store, first, content=texts[1][1])
    assert [*await store.find_removed(OWNER, texts)] == texts[:1]
    third = await change(store, second, project="beta")
    assert {*await store.find_removed(OWNER, texts)} == {*texts[:2]}
    fourth = await change(store, third, content=TEXT, project="alpha")
    assert {*await store.find_removed(OWNER, texts)} == {*texts[1:]}
    await change(store, fourth, importance=0.9)
    assert {*await store.find_removed(OWNER, texts)} == {*texts[1:]}


async def test_turns_of_a_conversation_leave_no_text(store: MemoryStore) -> None:
    await fill(store, memory(1, "yes", category="episode", session="s"))
    assert await store.erase(OWNER, memory(1).id)
    assert await store.find_removed(OWNER, [(None, "yes")]) == {}
