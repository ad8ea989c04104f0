"""Helpers for conformance tests: a memory, a search, the ids of an answer."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from tests.strategies import MOMENT

from recollect.core.memory.memory import EVERYWHERE, Memory, Scope
from recollect.core.recall.settings import WordQuery
from recollect.ports.stores import MemoryStore

OWNER = "ada"
# Enough memories about other things to make a word of one or two memories a rare word.
BACKGROUND = (
    "The garden needs water every second evening",
    "Grandmother bakes bread with rye flour",
    "The train to the coast leaves at seven",
    "A violin hangs on the wall of the study",
    "Rain is expected for the whole weekend",
    "The library closes early in August",
    "My bicycle has a flat tyre again",
    "The neighbours adopted a grey kitten",
    "Breakfast is served until ten o'clock",
    "The museum shows maps of old harbours",
    "Two candles stand on the kitchen table",
    "Her brother collects stamps from Peru",
)


def memory(number: int, content: str = "something to know", **fields: Any) -> Memory:
    """Return the memory with id `number`; a larger number is also younger, by a minute each."""
    at = MOMENT + timedelta(minutes=number)
    first = Memory(id=UUID(int=number), owner=OWNER, content=content, created_at=at, updated_at=at)
    return replace(first, **fields)


def ids(*numbers: int) -> list[UUID]:
    return [UUID(int=number) for number in numbers]


async def fill(store: MemoryStore, *memories: Memory) -> None:
    for memory in memories:
        await store.add(memory)


async def fill_background(store: MemoryStore) -> None:
    await fill(store, *(memory(1000 + n, text) for n, text in enumerate(BACKGROUND)))


async def search(
    store: MemoryStore, text: str, scope: Scope = EVERYWHERE, owner: str = OWNER, **query: Any
) -> list[UUID]:
    found = await store.search_words(owner, scope, WordQuery(text, **query))
    return [candidate.id for candidate in found]


async def listed(store: MemoryStore, scope: Scope = EVERYWHERE, owner: str = OWNER) -> list[UUID]:
    return [memory.id for memory in await store.page(owner, scope, None, 100)]
