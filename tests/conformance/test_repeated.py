"""A text that is stored again stays one memory, even when two writers store it at once."""

from __future__ import annotations

import asyncio

import pytest
from tests.conformance.samples import OWNER, fill, listed, memory
from tests.strategies import MOMENT

from recollect.ports.stores import MemoryStore

pytestmark = pytest.mark.anyio

TEXT = "The ferry leaves at six, from the long pier behind the old harbour master's house"


async def test_the_same_text_in_the_same_project_is_known(store: MemoryStore) -> None:
    first = memory(1, TEXT, project="alpha")
    assert await store.add_unless_known(first) is None
    for again in (TEXT, TEXT.replace(" ", "\n  "), TEXT.replace(" ", "\t")):
        assert await store.add_unless_known(memory(2, again, project="alpha")) == first
    assert await listed(store) == [first.id]


async def test_whatever_differs_is_another_memory(store: MemoryStore) -> None:
    await fill(
        store,
        memory(1, TEXT, project="alpha"),
        memory(2, TEXT, owner="eve"),
        memory(3, TEXT, session="s", category="episode"),
        memory(4, TEXT, deleted_at=MOMENT),
    )
    others = (
        memory(11, TEXT),
        memory(12, TEXT, project="beta"),
        memory(13, TEXT.replace("ferry", "Ferry")),
        memory(14, f"{TEXT} today"),
        memory(15, TEXT.replace("six, from", "six,from")),
    )
    for other in others:
        assert await store.add_unless_known(other) is None, other
    assert len(await listed(store, owner=OWNER)) == 2 + len(others)


async def test_of_several_writers_one_stores_the_text(store: MemoryStore) -> None:
    answers = await asyncio.gather(
        *(store.add_unless_known(memory(number, TEXT)) for number in range(1, 9))
    )
    assert answers.count(None) == 1
    (kept,) = await listed(store)
    assert {known.id for known in answers if known is not None} == {kept}


async def test_repeated_texts_are_found_in_bulk(store: MemoryStore) -> None:
    first, second = memory(1, TEXT, project="alpha"), memory(2, "Soup at noon")
    await fill(store, first, second, memory(3, TEXT, owner="eve"))
    again = memory(11, TEXT.replace(" ", "\n"), project="alpha")
    news = [again, memory(12, TEXT), memory(13, "Soup at noon "), memory(14, "Soup at one")]
    assert await store.find_same(news) == {again.id: first, news[2].id: second}
    assert await store.find_same([]) == {}
